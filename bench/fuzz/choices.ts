/**
 * Seeded choices. Each part of a generated program draws from a generator of its own, made of the program's seed and
 * the part's name, so that leaving one part out changes none of the others.
 */

/**
 * A generator of choices (mulberry32, Tommy Ettinger, public domain).
 *
 * @category models
 * @since 0.1.0
 */
export class Choices {
  readonly #seed: number
  #state: number

  constructor(seed: number) {
    this.#seed = seed >>> 0
    this.#state = this.#seed
  }

  /** 32 random bits. */
  bits(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }

  /** An integer in [0, count). */
  below(count: number): number {
    return this.bits() % count
  }

  /** True with a probability. */
  chance(probability: number): boolean {
    return this.bits() < probability * 2 ** 32
  }

  pick<A>(from: ReadonlyArray<A>): A {
    return from[this.below(from.length)]
  }

  /** One of the values, each as often as its weight says. */
  weighted<A>(from: ReadonlyArray<readonly [weight: number, value: A]>): A {
    let left = this.below(from.reduce((sum, [weight]) => sum + weight, 0))
    for (const [weight, value] of from) {
      if (left < weight) return value
      left -= weight
    }
    throw new Error("no choice has any weight")
  }

  /** A generator that depends on this one's seed and the name only. */
  of(name: string): Choices {
    let hash = 0x811c9dc5 ^ this.#seed
    for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193)
    return new Choices(Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d))
  }
}
