/**
 * Names of what a patched guest exports for the runtime, and of the section that marks it.
 *
 * @since 0.1.0
 */

/** Every hidden export begins so; a module that already uses such a name is left native. @category constants @since 0.1.0 */
export const hiddenPrefix = "\u0000folio:"

/** The dispatch table: slot k holds plan k's guard. @category constants @since 0.1.0 */
export const tableName = `${hiddenPrefix}table`

/** The guest's memory 0. @category constants @since 0.1.0 */
export const memoryName = `${hiddenPrefix}memory`

/** The threshold of plan `index`. @category constants @since 0.1.0 */
export const thresholdName = (index: number): string => `${hiddenPrefix}threshold:${index}`

/** Custom section that marks a patched module. @category constants @since 0.1.0 */
export const sectionName = "folio"

/** A threshold that no distance exceeds: the loop is never handed out. @category constants @since 0.1.0 */
export const NEVER = 0x7fffffff
