/**
 * Guard modules of this thread, each compiled once: instances of the same module share theirs, and so do the two that
 * bind an instance one after the other, the binder and the engine.
 *
 * @since 0.1.0
 */
import { original } from "./original.ts"

const compiled = new WeakMap<Uint8Array, WebAssembly.Module>()

/**
 * The guard module of these very bytes (the object, not what is in it).
 *
 * @category constructors
 * @since 0.1.0
 */
export const compiledGuard = (bytes: Uint8Array): WebAssembly.Module => {
  let module = compiled.get(bytes)
  if (module === undefined) compiled.set(bytes, module = new original.Module(bytes as BufferSource))
  return module
}
