/**
 * Threads that Folio starts for itself.
 *
 * @since 0.1.0
 */
import { isMainThread, workerData } from "node:worker_threads"

/**
 * First characters of the key under which such a thread has its data.
 *
 * @category constants
 * @since 0.1.0
 */
export const THREAD_MARKER = "folio-wasm/"

/**
 * Key of the data of the thread that prepares modules.
 *
 * @category constants
 * @since 0.1.0
 */
export const PREPARATION_MARKER = "folio-wasm/preparation"

/**
 * Whether this thread is one of them. What is preloaded into all threads asks this first and then does nothing.
 *
 * @category probes
 * @since 0.1.0
 */
export const isOwnThread = (): boolean =>
  !isMainThread && typeof workerData === "object" && workerData !== null
  && Object.keys(workerData).some((key) => key.startsWith(THREAD_MARKER))
