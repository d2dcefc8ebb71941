/**
 * What a caller may pass as a module, told apart by brand and not by `instanceof`, so that bytes and modules of
 * another realm are what they are.
 *
 * @since 0.1.0
 */
import type { ModuleSource } from "../../services/Extraction.ts"

/**
 * A source with its bytes copied, its module, or the place where it lies.
 *
 * @category models
 * @since 0.1.0
 */
export type ReadSource =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "module"; readonly module: WebAssembly.Module }
  | { readonly kind: "place"; readonly place: URL | string }
  | { readonly kind: "unknown"; readonly found: string }

const brand = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1)

/**
 * Tells a source by its kind.
 *
 * @category decoding
 * @since 0.1.0
 */
export const readSource = (source: ModuleSource): ReadSource => {
  if (typeof source === "string") return { kind: "place", place: source }
  if (ArrayBuffer.isView(source)) {
    const view = new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    return { kind: "bytes", bytes: new Uint8Array(view) }
  }
  switch (brand(source)) {
    case "ArrayBuffer":
    case "SharedArrayBuffer":
      return { kind: "bytes", bytes: new Uint8Array(new Uint8Array(source as ArrayBufferLike)) }
    case "WebAssembly.Module":
      return { kind: "module", module: source as WebAssembly.Module }
    case "URL":
      return { kind: "place", place: source as URL }
    default:
      return { kind: "unknown", found: source === null ? "null" : typeof source }
  }
}

/**
 * What to call a source in messages: the last part of its path, else `module`.
 *
 * @category formatting
 * @since 0.1.0
 */
export const sourceName = (read: ReadSource): string => {
  if (read.kind !== "place") return "module"
  const path = typeof read.place === "string" ? read.place : read.place.pathname
  return path.split(/[/\\]/).findLast((part) => part.length > 0) ?? path
}
