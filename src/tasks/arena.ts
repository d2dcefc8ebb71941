/**
 * Room for payloads in a mailbox: handed out by moving a mark, given back in the same order. As soon as nothing is in
 * use the mark goes back to the start, so a lane that keeps up uses the same few lines of cache again and again.
 *
 *     start        tail ░░░░ in use ░░░░ head        end          or        head … tail, once around
 *
 * One side hands out and gives back; the other one only reads what it is told of.
 *
 * @since 0.1.0
 */

/** Payloads begin at multiples of it, so that typed arrays in them can. */
const ALIGNMENT = 8

/**
 * A region and the pieces of it that are in use.
 *
 * @category models
 * @since 0.1.0
 */
export class BumpArena {
  readonly #start: number
  readonly #end: number
  /** Where each piece in use ends, oldest first, in a ring. */
  readonly #ends: Int32Array
  #first = 0
  #count = 0
  #head: number
  #tail: number
  /** Whether the newest pieces lie in front of the oldest. */
  #around = false

  /** @param pieces most pieces in use at a time */
  constructor(start: number, bytes: number, pieces: number) {
    this.#start = start
    this.#end = start + bytes
    this.#ends = new Int32Array(pieces)
    this.#head = start
    this.#tail = start
  }

  /** Pieces in use. */
  get count(): number {
    return this.#count
  }

  /** Where a piece of so many bytes can begin; -1 where there is no room. Nothing is taken yet. */
  reserve(bytes: number): number {
    if (this.#around) return this.#tail - this.#head > bytes ? this.#head : -1
    if (this.#end - this.#head >= bytes) return this.#head
    return this.#tail - this.#start > bytes ? this.#start : -1
  }

  /**
   * Takes a piece that begins where {@link BumpArena.reserve} said and ends before `end`; an empty one where it said -1.
   * Throws a `RangeError` where there are as many as there can be.
   */
  take(at: number, end: number): void {
    if (this.#count === this.#ends.length) throw new RangeError("all pieces of the arena are in use")
    if (at >= 0) {
      if (at < this.#head) this.#around = true
      this.#head = Math.ceil(end / ALIGNMENT) * ALIGNMENT
    }
    this.#ends[(this.#first + this.#count++) % this.#ends.length] = this.#head
  }

  /** Gives the oldest piece back. Throws a `RangeError` where there is none: both sides no longer count alike. */
  release(): void {
    if (this.#count === 0) throw new RangeError("no piece of the arena is in use")
    const end = this.#ends[this.#first]
    this.#first = (this.#first + 1) % this.#ends.length
    if (end < this.#tail) this.#around = false
    this.#tail = end
    if (--this.#count > 0) return
    this.#head = this.#start
    this.#tail = this.#start
    this.#around = false
  }
}
