/**
 * What the compiler can do beyond the plain counted loop: each part has a name and can be left out, to see what it adds.
 *
 * @since 0.1.0
 */

/**
 * Names of all mechanisms, in the order in which an ablation adds them.
 *
 * - `reductions`: integers that iterations only combine;
 * - `private-windows`: fixed addresses that every iteration writes before it reads get pages of their own in each lane;
 * - `calls`: small callees are followed;
 * - `early-exits`: loops that may trap or leave early run apart and are undone when they do;
 * - `checked-loads`: loads of unknown address are compared with the stores when they are executed;
 * - `indirect-calls`: so are calls through tables of known contents;
 * - `forwarding`: a load from a fixed address has the value that the same iteration has stored there;
 * - `kept-pieces`: what stands before an early end is kept, so that searches run apart, too;
 * - `last-iterations`: the last iterations run apart, too, and what they leave in locals is handed over;
 * - `polled-loops`: inner loops of unknown length behind an early exit look whether the dispatch was given up.
 *
 * @category constants
 * @since 0.1.0
 */
export const MECHANISMS = [
  "reductions",
  "private-windows",
  "calls",
  "indirect-calls",
  "forwarding",
  "early-exits",
  "checked-loads",
  "kept-pieces",
  "last-iterations",
  "polled-loops"
] as const

/** One of {@link MECHANISMS}. @category models @since 0.1.0 */
export type Mechanism = (typeof MECHANISMS)[number]

/** All of them, which is the default. @category constants @since 0.1.0 */
export const allMechanisms: ReadonlySet<Mechanism> = new Set(MECHANISMS)
