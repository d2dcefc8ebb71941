/**
 * Signals while WebAssembly, or the compiler, keeps this thread busy.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

const SIGNALS = ["SIGINT", "SIGTERM"] as const

/**
 * Runs work during which a signal ends the process at once, as it does where nobody listens: a listener would wait for
 * the next turn of the thread, which may never come. The kernel takes back threads, mappings and descriptors; to a shell
 * the exit code is 130 (`SIGINT`) or 143 (`SIGTERM`).
 *
 * @category resources
 * @since 0.1.0
 */
export const endedBySignals = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() =>
      SIGNALS.map((signal) => {
        const listeners = process.listeners(signal)
        process.removeAllListeners(signal)
        return { signal, listeners }
      })
    ),
    () => work,
    (removed) =>
      Effect.sync(() => {
        for (const { listeners, signal } of removed) for (const listener of listeners) process.on(signal, listener)
      })
  )
