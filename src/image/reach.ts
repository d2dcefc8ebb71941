/**
 * The parts of an instance by their index, through the exports that the module has itself or that `instrument` added.
 *
 * @since 0.1.0
 */
import type { ExternalKind, WasmModule } from "../binary/module.ts"
import { ByteWriter } from "../binary/writer.ts"
import { globalBits } from "../wire/bits.ts"
import { type BitsType, hasBits } from "../wire/values.ts"
import { droppable, hiddenName } from "./instrument.ts"
import { Mismatch } from "./mismatch.ts"
import type { DroppedSegments, GlobalImage } from "./model.ts"

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
 * The bits of every global that an image holds. A mutable global of references must be null, as it was born.
 *
 * @category access
 * @since 0.1.0
 */
export const readGlobals = (m: WasmModule, exports: WebAssembly.Exports): ReadonlyArray<GlobalImage> => {
  const wanted: Array<{ index: number; type: BitsType; mutable: boolean; global: WebAssembly.Global }> = []
  for (const [index, { import: from, init, mutable, valueType }] of m.globals.entries()) {
    if (!mutable && from === undefined) continue
    if (hasBits(valueType)) {
      // An immutable import that cannot be reached cannot be compared either; it is no part of the state.
      if (!mutable && !reaches(m, exports, "global", index)) continue
      wanted.push({ index, type: valueType, mutable, global: globalOf(m, exports, index) })
      continue
    }
    if (!mutable) continue
    const bornNull = from === undefined && init?.opcode === 0xd0
    if (!bornNull || !isNull(globalOf(m, exports, index))) {
      throw new Mismatch(
        "reference",
        `global ${index}`,
        "it holds a reference, which has no form outside of its instance",
        "Keep the reference in a table, or set the global to null before the capture."
      )
    }
  }
  const bits = globalBits(wanted)
  return wanted.map(({ index, mutable, type }, at) => ({ index, type, mutable, bits: bits[at] }))
}

const isNull = (global: WebAssembly.Global): boolean => {
  try {
    return global.value === null
  } catch {
    // A type that JavaScript has no value for.
    return false
  }
}

const TYPE_BYTE: Record<BitsType, number> = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b }

/**
 * Writes a constant of the given bits, without its `end`. No number passes through a JavaScript value.
 *
 * @category encoding
 * @since 0.1.0
 */
export const writeConstant = (out: ByteWriter, type: BitsType, bits: bigint): ByteWriter => {
  switch (type) {
    case "i32":
      return out.u8(0x41).s32(Number(BigInt.asIntN(32, bits)))
    case "i64":
      return out.u8(0x42).s64(bits)
    case "f32":
      return out.u8(0x43).fixed32(Number(bits))
    case "f64":
      return out.u8(0x44).fixed64(bits)
    case "v128":
      return out.opcode(0xfd00c).fixed64(bits).fixed64(bits >> 64n)
  }
}

/** A global and what it is to hold. @category models @since 0.1.0 */
export interface GlobalValue {
  readonly global: WebAssembly.Global
  readonly type: BitsType
  readonly bits: bigint
}

/** A number as JavaScript carries it without loss; undefined for a NaN, whose bits it may change, and for a vector. */
const plainValue = (type: BitsType, bits: bigint): number | bigint | undefined => {
  if (type === "i32") return Number(BigInt.asIntN(32, bits))
  if (type === "i64") return BigInt.asIntN(64, bits)
  if (type === "v128") return undefined
  const view = new DataView(new ArrayBuffer(8))
  if (type === "f32") view.setUint32(0, Number(bits))
  else view.setBigUint64(0, bits)
  const value = type === "f32" ? view.getFloat32(0) : view.getFloat64(0)
  return Number.isNaN(value) ? undefined : value
}

/**
 * Sets globals to the given bits: by their value where JavaScript carries it without loss, the others through a module.
 *
 * @category access
 * @since 0.1.0
 */
export const writeGlobals = (globals: ReadonlyArray<GlobalValue>): void => {
  const others: Array<GlobalValue> = []
  for (const entry of globals) {
    const value = plainValue(entry.type, entry.bits)
    if (value === undefined) others.push(entry)
    else entry.global.value = value
  }
  writeBits(others)
}

/** Sets globals through a module that imports them and whose start function sets each to a constant. */
const writeBits = (globals: ReadonlyArray<GlobalValue>): void => {
  if (globals.length === 0) return
  const imports = new ByteWriter().u32(globals.length)
  const body = new ByteWriter().u32(0)
  for (const [index, { bits, type }] of globals.entries()) {
    imports.name("folio").name(String(index)).u8(3).u8(TYPE_BYTE[type]).u8(1)
    writeConstant(body, type, bits).u8(0x24).u32(index)
  }
  body.u8(0x0b)
  const bytes = new ByteWriter().fixed32(0x6d736100).fixed32(1)
    .section(1, new ByteWriter().u32(1).u8(0x60).u32(0).u32(0))
    .section(2, imports)
    .section(3, new ByteWriter().u32(1).u32(0))
    .section(8, new ByteWriter().u32(0))
    .section(10, new ByteWriter().u32(1).u32(body.length).append(body))
    .finish()
  const folio = Object.fromEntries(globals.map(({ global }, index) => [String(index), global]))
  void new WebAssembly.Instance(new WebAssembly.Module(bytes), { folio })
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
