/**
 * Orders in which the pieces of one loop are run on one thread.
 *
 * @since 0.1.0
 */

/**
 * `forward`: as the original loop would. `reverse`: the last iterations first. A number: shuffled, each time anew, by a
 * generator with that seed.
 *
 * @category models
 * @since 0.1.0
 */
export type Order = "forward" | "reverse" | number

/** A generator of 32-bit numbers (mulberry32, Tommy Ettinger, public domain). */
const mulberry32 = (seed: number): () => number => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}

/**
 * Which pieces the next lane takes, and in which order.
 *
 * @category models
 * @since 0.1.0
 */
export class Permutation {
  readonly #order: Order
  readonly #random: () => number

  constructor(order: Order) {
    this.#order = order
    this.#random = mulberry32(typeof order === "number" ? order : 0)
  }

  /**
   * Takes `share` pieces from one end of the pieces `from` … `to - 1` that are left, so that what stays is contiguous:
   * the owner runs it afterwards, in ascending order.
   */
  take(from: number, to: number, share: number): ReadonlyArray<number> {
    const low = this.#order === "forward" || (this.#order !== "reverse" && (this.#random() & 1) === 0)
    const first = low ? from : to - share
    const pieces = Array.from({ length: share }, (_, position) => first + position)
    if (this.#order === "forward") return pieces
    if (this.#order === "reverse") return pieces.toReversed()
    for (let last = pieces.length - 1; last > 0; last--) {
      const other = this.#random() % (last + 1)
      const piece = pieces[last]
      pieces[last] = pieces[other]
      pieces[other] = piece
    }
    return pieces
  }
}
