/**
 * An instance as a task sees it, without a pool around.
 */
import type { Guest } from "../../src/tasks/context.ts"

/** @category fixtures @since 0.1.0 */
export const plainGuest = (module: WebAssembly.Module, imports: WebAssembly.Imports): Guest => {
  const { exports } = new WebAssembly.Instance(module, imports)
  const isMemory = (value: unknown): value is WebAssembly.Memory => value instanceof WebAssembly.Memory
  const memory = Object.values(exports).find(isMemory) ?? Object.values(imports["env"]).find(isMemory)!
  return {
    exports,
    memory,
    write: (at, bytes) => new Uint8Array(memory.buffer).set(bytes, at),
    read: (at, bytes) => new Uint8Array(memory.buffer).slice(at, at + bytes)
  }
}
