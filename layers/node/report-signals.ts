/**
 * A report of a program that a signal ends.
 *
 * A process that nobody listens to a signal in is ended by the kernel, without an `exit` event. So while the program has
 * no listener for it, one here writes the report, and then lets the same signal end the process: whoever waits for it
 * sees the signal, a shell exit code 130. A listener of the program's takes the place of this one, and finds listeners
 * as it would without Folio.
 *
 * JavaScript hears of a signal when the thread's turn ends. A program that is busy for longer than its user likes is
 * ended by a second signal, without a report.
 *
 * @since 0.1.0
 */
import { constants } from "node:os"
import { isMainThread } from "node:worker_threads"
import { probeNative } from "./ffi.ts"

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const

type Signal = typeof signals[number]

const watch = (signal: Signal, write: () => void): void => {
  const native = probeNative()
  const ended = (): void => {
    process.off(signal, ended)
    write()
    process.kill(process.pid, signal)
  }
  const begin = (): void => {
    process.on(signal, ended)
    if (typeof native !== "string") native.endOnSecond(constants.signals[signal])
  }
  // In front of Node.js's own listener, which begins to listen to a signal when its first listener is added.
  process.prependListener("newListener", (name, listener) => {
    if (name === signal && listener !== ended) process.off(signal, ended)
  })
  process.on("removeListener", (name, listener) => {
    if (name === signal && listener !== ended && process.listenerCount(signal) === 0) begin()
  })
  if (process.listenerCount(signal) === 0) begin()
}

/**
 * Writes the report where a signal ends the program. Worker threads hear of none.
 *
 * @category writing
 * @since 0.1.0
 */
export const reportOnSignals = (write: () => void): void => {
  if (isMainThread) { for (const signal of signals) watch(signal, write) }
}
