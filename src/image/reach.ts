/**
 * The parts of an instance by their index, through the exports that the module has itself or that `instrument` added.
 *
 * @since 0.1.0
 */
import type { ExternalKind, WasmModule } from "../binary/module.ts"
import { droppable, hiddenName } from "./instrument.ts"
import { Mismatch } from "./mismatch.ts"
import type { DroppedSegments } from "./model.ts"

type StateKind = Exclude<ExternalKind, "tag">

const find = (m: WasmModule, exports: WebAssembly.Exports, kind: StateKind, index: number): unknown => {
  const hidden = exports[hiddenName(kind, index)]
  if (hidden !== undefined) return hidden
  const entry = m.exports.find((one) => one.kind === kind && one.index === index)
  return entry === undefined ? undefined : exports[entry.name]
}

const required = <A>(m: WasmModule, exports: WebAssembly.Exports, kind: StateKind, index: number): A => {
  const found = find(m, exports, kind, index)
  if (found !== undefined) return found as A
  throw new Mismatch(
    "hidden",
    `${kind} ${index}`,
    "the instance does not export it",
    "Instantiate the module that `instrument` returns."
  )
}

/** A memory by its index. @category access @since 0.1.0 */
export const memoryOf = (m: WasmModule, exports: WebAssembly.Exports, index: number): WebAssembly.Memory =>
  required(m, exports, "memory", index)

/** A table by its index. @category access @since 0.1.0 */
export const tableOf = (m: WasmModule, exports: WebAssembly.Exports, index: number): WebAssembly.Table =>
  required(m, exports, "table", index)

/** A global by its index. @category access @since 0.1.0 */
export const globalOf = (m: WasmModule, exports: WebAssembly.Exports, index: number): WebAssembly.Global =>
  required(m, exports, "global", index)

/** Whether the instance gives access to the part. @category access @since 0.1.0 */
export const reaches = (m: WasmModule, exports: WebAssembly.Exports, kind: StateKind, index: number): boolean =>
  find(m, exports, kind, index) !== undefined

/** A function by its index; undefined where the instance does not export it. @category access @since 0.1.0 */
export const functionOf = (m: WasmModule, exports: WebAssembly.Exports, index: number): unknown =>
  find(m, exports, "function", index)

/** The index of every function that the instance gives access to. @category access @since 0.1.0 */
export const functionIndices = (m: WasmModule, exports: WebAssembly.Exports): ReadonlyMap<unknown, number> => {
  const found = new Map<unknown, number>()
  for (let index = 0; index < m.functions.length; index++) {
    const one = exports[hiddenName("function", index)]
    if (one !== undefined && !found.has(one)) found.set(one, index)
  }
  for (const { index, kind, name } of m.exports) {
    if (kind === "function" && !found.has(exports[name])) found.set(exports[name], index)
  }
  return found
}

/**
 * The passive segments that were dropped.
 *
 * @category access
 * @since 0.1.0
 */
export const readDropped = (m: WasmModule, exports: WebAssembly.Exports): DroppedSegments => {
  const { data, elements } = droppable(m)
  const dropped = (part: "data" | "element", index: number): boolean => {
    const probe = exports[hiddenName(part, index)] as (() => void) | undefined
    if (probe === undefined) {
      throw new Mismatch(
        "segment",
        `${part} segment ${index}`,
        "whether it was dropped cannot be seen from outside",
        "Instantiate the module that `instrument` returns."
      )
    }
    try {
      probe()
      return false
    } catch {
      return true
    }
  }
  return {
    data: m.dataCount === undefined ? [] : data.filter((index) => dropped("data", index)),
    elements: elements.filter((index) => dropped("element", index))
  }
}

const dropOf = (exports: WebAssembly.Exports, part: "data" | "element", index: number): () => void => {
  const drop = exports[hiddenName(`drop-${part}`, index)] as (() => void) | undefined
  if (drop !== undefined) return drop
  throw new Mismatch(
    "segment",
    `${part} segment ${index}`,
    "the image has it dropped, and the instance gives no way to do that",
    "Instantiate the module that `instrument` returns, or bake the image into the module."
  )
}

const dropsOf = (exports: WebAssembly.Exports, dropped: DroppedSegments): ReadonlyArray<() => void> => [
  ...dropped.data.map((index) => dropOf(exports, "data", index)),
  ...dropped.elements.map((index) => dropOf(exports, "element", index))
]

/** Throws a `Mismatch` where a segment cannot be dropped. @category access @since 0.1.0 */
export const checkDrops = (exports: WebAssembly.Exports, dropped: DroppedSegments): void => {
  dropsOf(exports, dropped)
}

/** Drops segments. @category access @since 0.1.0 */
export const dropSegments = (exports: WebAssembly.Exports, dropped: DroppedSegments): void => {
  for (const drop of dropsOf(exports, dropped)) drop()
}
