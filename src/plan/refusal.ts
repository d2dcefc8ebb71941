/**
 * Why a guard refused an execution: a number that it leaves in control memory, and what it means.
 *
 * @since 0.1.0
 */

/**
 * Tests of a guard.
 *
 * @category models
 * @since 0.1.0
 */
export const Refusal = {
  /** The number of iterations is not exact, or above 2³⁰; `a` = loop. */
  TRIP: 1,
  /** Fewer than two iterations could run apart. */
  SHORT: 2,
  /** A divisor is 0 or -1. */
  DIVISOR: 3,
  /** An invariant load reaches beyond the memory. */
  LOAD: 4,
  /** Group `a` spans more than any memory. */
  SPAN: 5,
  /** Addresses of group `a` wrap. */
  WRAP: 6,
  /** Group `a` reaches beyond the memory. */
  BOUNDS: 7,
  /** Groups `a` and `b` meet. */
  OVERLAP: 8,
  /** Store group `b` comes near the private pages of group `a`. */
  PAGES: 9
} as const

/** One of {@link Refusal}. @category models @since 0.1.0 */
export type RefusalCode = (typeof Refusal)[keyof typeof Refusal]

/** The word that a guard leaves. @category encoding @since 0.1.0 */
export const packRefusal = (code: RefusalCode, a = 0, b = 0): number => code | (a << 8) | (b << 16)

/** The word as a sentence part. @category formatting @since 0.1.0 */
export const describeRefusal = (word: number): string | undefined => {
  const a = (word >> 8) & 0xff
  const b = (word >> 16) & 0xff
  switch (word & 0xff) {
    case Refusal.TRIP:
      return a === 0
        ? "the number of iterations is not exact"
        : `the number of iterations of inner loop ${a} is not exact`
    case Refusal.SHORT:
      return "too few iterations"
    case Refusal.DIVISOR:
      return "a divisor is 0 or -1"
    case Refusal.LOAD:
      return "a load at the loop's entry reaches beyond the memory"
    case Refusal.SPAN:
      return `access group ${a} spans more than the memory`
    case Refusal.WRAP:
      return `addresses of access group ${a} wrap around`
    case Refusal.BOUNDS:
      return `access group ${a} reaches beyond the memory`
    case Refusal.OVERLAP:
      return a === b
        ? `iterations of access group ${a} store to the same bytes`
        : `access groups ${a} and ${b} meet in different iterations`
    case Refusal.PAGES:
      return `stores of access group ${b} come near the private bytes of group ${a}`
    default:
      return undefined
  }
}
