/**
 * The exports of a patched instance as the original module has them.
 *
 * @since 0.1.0
 */
import { hiddenPrefix, memoryName } from "../../src/plan/hidden.ts"
import { isMemory } from "../../src/wire/realm.ts"

/**
 * The exports without Folio's own: same order, same values, frozen and without a prototype as the engine's.
 *
 * @category reading
 * @since 0.1.0
 */
export const originalExports = (exports: WebAssembly.Exports): WebAssembly.Exports => {
  const visible = Object.create(null) as WebAssembly.Exports
  for (const name of Object.keys(exports)) if (!name.startsWith(hiddenPrefix)) visible[name] = exports[name]
  return Object.freeze(visible)
}

/**
 * Memory 0 of a patched instance, whether the original exports it or not.
 *
 * @category reading
 * @since 0.1.0
 */
export const hiddenMemory = (exports: WebAssembly.Exports): WebAssembly.Memory | undefined => {
  const memory = exports[memoryName]
  return isMemory(memory) ? memory : undefined
}
