/**
 * Compiling by the optimising compiler at once: a chunk runs for a while without being called again, so code of the
 * baseline tier would stay in use, and a lane would start in it again.
 *
 * Two flags of V8 are set for the length of one call. Flags belong to the process, and threads that compile other
 * modules in the background read them in the middle of their work, so it matters which:
 *
 * - `--no-liftoff` must not be used. A background compilation that began with type feedback and sees it change ends
 *   the process (`Check failed: function_feedback != feedback.feedback_for_function.end()`, V8 14.6; every second run
 *   of `test/faults/lanes-optimised.test.ts`).
 * - `--wasm-tier-mask-for-testing`, the set of function indices below 32 to be optimised at once, is read only when it
 *   is decided how a function is first compiled. Another thread that compiles a function at that moment gets it
 *   optimised too. Chunk modules have a few functions.
 * - `--no-wasm-lazy-compilation` makes the constructor compile, and not the first call.
 *
 * @since 0.1.0
 */
import * as V8 from "node:v8"
import { original } from "./original.ts"

/**
 * Functions of a module, its imports not counted, that are compiled at once; those behind them as V8 likes.
 *
 * @category constants
 * @since 0.1.0
 */
export const OPTIMISED_FUNCTIONS = 32

/**
 * Compiles a module so that its first {@link OPTIMISED_FUNCTIONS} functions are optimised before they first run, in
 * every thread that the module is posted to.
 *
 * @category compiling
 * @since 0.1.0
 */
export const compileOptimised = (bytes: Uint8Array): WebAssembly.Module => {
  V8.setFlagsFromString("--wasm-tier-mask-for-testing=-1")
  V8.setFlagsFromString("--no-wasm-lazy-compilation")
  try {
    return new original.Module(bytes as BufferSource)
  } finally {
    V8.setFlagsFromString("--wasm-lazy-compilation")
    V8.setFlagsFromString("--wasm-tier-mask-for-testing=0")
  }
}
