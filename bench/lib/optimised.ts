/**
 * Compiles a module at V8's highest tier at once, so that a control is not measured while it warms up.
 */
import { setFlagsFromString } from "node:v8"

/**
 * A module whose functions are optimised before they first run, in every thread that it is posted to.
 *
 * @category compiling
 * @since 0.1.0
 */
export const compileOptimised = (bytes: BufferSource): WebAssembly.Module => {
  setFlagsFromString("--no-liftoff")
  setFlagsFromString("--no-wasm-lazy-compilation")
  try {
    return new WebAssembly.Module(bytes)
  } finally {
    setFlagsFromString("--liftoff")
    setFlagsFromString("--wasm-lazy-compilation")
  }
}
