/**
 * The program of a task that costs next to nothing.
 *
 * @since 0.1.0
 */

/** @category tasks @since 0.1.0 */
export const tasks = { next: (input: number): number => input + 1 }
