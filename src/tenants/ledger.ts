/**
 * A budget of bytes, and what is given up first where it does not suffice: whatever was used least recently.
 *
 * @since 0.1.0
 */

/**
 * Something that is held for its bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Holding {
  /** Changed by {@link Ledger.resize} alone. */
  bytes: number
  /** Uses that are under way: it is not given up before they have ended. */
  pins: number
  /** Gives it up. The ledger has forgotten it before. */
  readonly drop: () => void
}

/**
 * Counts what is held against a limit.
 *
 * @category models
 * @since 0.1.0
 */
export class Ledger {
  readonly limit: number
  /** Least recently used first: a set keeps the order in which its members were added. */
  readonly #holdings = new Set<Holding>()
  #held = 0

  constructor(limit: number) {
    this.limit = limit
  }

  /** Bytes held now. */
  get held(): number {
    return this.#held
  }

  /** Bytes that could be had: what is free, and what nobody is using. */
  get available(): number {
    let bytes = this.limit - this.#held
    for (const holding of this.#holdings) if (holding.pins === 0) bytes += holding.bytes
    return bytes
  }

  /**
   * Gives up what was used least recently until `bytes` are free. Gives up nothing where all of it would not be enough.
   * False where there is no room all the same: something that was given up has left something behind.
   */
  makeRoom(bytes: number): boolean {
    if (bytes > this.available) return false
    this.#giveUp(bytes)
    return bytes <= this.limit - this.#held
  }

  /** Gives up as much as it takes, and can be, to keep to the limit. */
  trim(): void {
    this.#giveUp(0)
  }

  #giveUp(bytes: number): void {
    for (const holding of this.#holdings) {
      if (bytes <= this.limit - this.#held) return
      if (holding.pins > 0) continue
      this.remove(holding)
      holding.drop()
    }
  }

  /** Holds something from now on, as the newest. May exceed the limit: who adds has made room. */
  add(holding: Holding): void {
    this.#holdings.add(holding)
    this.#held += holding.bytes
  }

  /** It is used now. */
  touch(holding: Holding): void {
    if (this.#holdings.delete(holding)) this.#holdings.add(holding)
  }

  /** It has another size now. May exceed the limit. */
  resize(holding: Holding, bytes: number): void {
    if (this.#holdings.has(holding)) this.#held += bytes - holding.bytes
    holding.bytes = bytes
  }

  /** It is held no longer. */
  remove(holding: Holding): void {
    if (this.#holdings.delete(holding)) this.#held -= holding.bytes
  }
}
