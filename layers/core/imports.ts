/**
 * The imports of a module, read as an instantiation reads them: each property once, in the module's order, with its
 * own object as the receiver.
 *
 * @since 0.1.0
 */
import { groupBy } from "./group.ts"

/**
 * One import and what was found for it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReadImport {
  readonly module: string
  readonly name: string
  readonly kind: string
  readonly value: unknown
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  (typeof value === "object" && value !== null) || typeof value === "function"

/**
 * Reads what a module imports. May throw what a getter throws.
 *
 * @category decoding
 * @since 0.1.0
 */
export const readImports = (
  module: WebAssembly.Module,
  imports: WebAssembly.Imports
): ReadonlyArray<ReadImport> =>
  WebAssembly.Module.imports(module).map((entry) => {
    const namespace: unknown = imports[entry.module]
    return { ...entry, value: isObject(namespace) ? namespace[entry.name] : undefined }
  })

/**
 * A plain import object of values that were read before. A name that is imported twice answers its values in turn,
 * since its getter may have had two.
 *
 * @category constructors
 * @since 0.1.0
 */
export const importObject = (read: ReadonlyArray<ReadImport>): WebAssembly.Imports => {
  const object: Record<string, Record<string, WebAssembly.ImportValue>> = Object.create(null)
  for (const [module, entries] of groupBy(read, (entry) => entry.module)) {
    const namespace = object[module] = Object.create(null) as Record<string, WebAssembly.ImportValue>
    for (const [name, same] of groupBy(entries, (entry) => entry.name)) {
      let next = 0
      Object.defineProperty(namespace, name, {
        enumerable: true,
        get: () => same.length === 1 ? same[0].value : same[next++ % same.length].value
      })
    }
  }
  return object
}
