/**
 * How a patched module is known again, by its instances and by its clones in other threads.
 *
 * A patched module has two things more than what its plan needs, both under names that begin with
 * {@link hiddenPrefix}:
 *
 * - an exported immutable `i64` global, {@link IDENTITY_EXPORT}: every instance carries the number of its module, so
 *   that it can be bound when its `exports` are first read. No promise has to be waited for, and promises keep their
 *   shape.
 * - a custom section, {@link CLONE_SECTION}: what an instance is bound with. A module that was posted to another thread
 *   brings it along.
 *
 * A program sees neither, nor the exports of the plan, wherever Folio is loaded. In a thread that was started without
 * it (a worker with an `execArgv` of its own) and in a `vm` context the module behaves as the original one, but these
 * exports show: their names begin with a NUL, and they stand behind all others.
 *
 * @since 0.1.0
 */
import { hiddenPrefix } from "../../src/plan/hidden.ts"

/**
 * Export that tells which module an instance is of: an immutable `i64` global.
 *
 * @category constants
 * @since 0.1.0
 */
export const IDENTITY_EXPORT = `${hiddenPrefix}identity`

/**
 * Custom section with what an instance is bound with.
 *
 * @category constants
 * @since 0.1.0
 */
export const CLONE_SECTION = `${hiddenPrefix}clone`

/**
 * Whether a name is one of Folio's.
 *
 * @category names
 * @since 0.1.0
 */
export const isHidden = (name: string): boolean => name.startsWith(hiddenPrefix)

/**
 * The number in an instance's exports, or `undefined` where the module is not a patched one.
 *
 * @category reading
 * @since 0.1.0
 */
export const identityOf = (exports: WebAssembly.Exports): bigint | undefined => {
  const global = exports[IDENTITY_EXPORT]
  if (!(global instanceof WebAssembly.Global)) return undefined
  const value: unknown = global.value
  return typeof value === "bigint" ? value : undefined
}

/**
 * The exports that the original module has: same order, same values, frozen and without a prototype as the engine's.
 *
 * @category reading
 * @since 0.1.0
 */
export const visibleExports = (exports: WebAssembly.Exports): WebAssembly.Exports => {
  const visible = Object.create(null) as WebAssembly.Exports
  for (const name of Object.keys(exports)) if (!isHidden(name)) visible[name] = exports[name]
  return Object.freeze(visible)
}
