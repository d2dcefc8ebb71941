/**
 * Orders in which the chunks of one loop are run on one thread.
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
 * Decides for each chunk whether it runs before or after the owner's own, and which one is next.
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

  /** Whether a chunk runs as soon as it is handed over, before the owner's own. */
  early(): boolean {
    return this.#order === "forward" || (this.#order !== "reverse" && (this.#random() & 1) === 0)
  }

  /** Position of the next chunk to run among `count` that wait, which stand in the loop's order. */
  pick(count: number): number {
    if (this.#order === "forward") return 0
    return this.#order === "reverse" ? count - 1 : this.#random() % count
  }
}
