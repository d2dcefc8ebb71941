/**
 * A line on stderr that says how far long work is. There is one where stderr is a terminal, and nowhere else.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/** Takes the line away: back to its beginning, and nothing behind it. */
const CLEAR = "\r\u001b[K"

/**
 * Milliseconds between two states of a line.
 *
 * @category constants
 * @since 0.1.0
 */
export const PROGRESS_MS = 100

/**
 * Whether anybody would see a line.
 *
 * @category queries
 * @since 0.1.0
 */
export const showsProgress = (): boolean => process.stderr.isTTY === true

/**
 * Shows a state in place of the last one.
 *
 * @category printing
 * @since 0.1.0
 */
export const showProgress = (state: string): void => {
  if (!showsProgress()) return
  // A terminal that does not know its width says 0.
  process.stderr.write(CLEAR + `folio: ${state}`.slice(0, (process.stderr.columns || 80) - 1))
}

/**
 * Takes the line away again.
 *
 * @category printing
 * @since 0.1.0
 */
export const endProgress = (): void => {
  if (showsProgress()) process.stderr.write(CLEAR)
}

/**
 * Work that says what it does for as long as it does it.
 *
 * @category printing
 * @since 0.1.0
 */
export const during = <A, E, R>(state: string, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.ensuring(Effect.zipRight(Effect.sync(() => showProgress(state)), work), Effect.sync(endProgress))
