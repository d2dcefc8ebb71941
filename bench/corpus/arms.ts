/**
 * The three arms of a comparison.
 */

/**
 * Two of the same native program, which say what this machine's noise is, and the one that is judged.
 *
 * @category models
 * @since 0.1.0
 */
export const armNames = ["nativeA", "nativeB", "folio"] as const

/**
 * One of {@link armNames}.
 *
 * @category models
 * @since 0.1.0
 */
export type ArmName = typeof armNames[number]

/**
 * Does something for one arm after the other, in this order.
 *
 * @category running
 * @since 0.1.0
 */
export const eachArm = async <A>(
  order: ReadonlyArray<ArmName>,
  run: (name: ArmName) => Promise<A>
): Promise<Record<ArmName, A>> => {
  const results: Partial<Record<ArmName, A>> = {}
  for (const name of order) results[name] = await run(name)
  return results as Record<ArmName, A>
}
