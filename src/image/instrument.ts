/**
 * A module whose whole state can be reached from outside.
 *
 * ```wat
 * before  (global $sp (mut i32) (i32.const 65536))  (memory 2)  (data $p "…")
 * after   the same, and
 *         (export "\00image:global:0" (global $sp))
 *         (export "\00image:memory:0" (memory 0))
 *         (func (export "\00image:data:0") (memory.init $p (i32.const 0) (i32.const 1) (i32.const 0)))
 *         (func (export "\00image:drop-data:0") (data.drop $p))
 * ```
 *
 * A global that is a float or a vector has a function that tells its bits, and one that sets them: no value of
 * JavaScript carries those of every NaN, and none a vector.
 *
 * Nothing else changes: exports and a few functions are appended, and the guest's code runs as it did. A segment that
 * was dropped has no byte 1 to begin at, so copying none of its bytes from there traps; otherwise nothing happens.
 * Tables hold functions, and a function is known by its identity as an export of the same instance.
 *
 * @since 0.1.0
 */
import { emitModule } from "../binary/emit.ts"
import type { ExternalKind, FunctionType, ValueType, WasmModule } from "../binary/module.ts"
import { ByteReader } from "../binary/reader.ts"
import { SectionId } from "../binary/sections.ts"
import { ByteWriter } from "../binary/writer.ts"
import { formatSignature } from "../wire/values.ts"
import { referableFunctions } from "./baseline.ts"
import { Mismatch } from "./mismatch.ts"

/** What can be reached. */
type Part =
  | "global"
  | "bits"
  | "set-bits"
  | "memory"
  | "table"
  | "function"
  | "data"
  | "element"
  | "drop-data"
  | "drop-element"

const prefix = "\u0000image:"

/** The hidden export's name. @category constants @since 0.1.0 */
export const hiddenName = (part: Part, index: number): string => `${prefix}${part}:${index}`

/**
 * Passive segments that are not empty: those of which it matters whether they were dropped.
 *
 * @category inspecting
 * @since 0.1.0
 */
export const droppable = (
  m: WasmModule
): { readonly data: ReadonlyArray<number>; readonly elements: ReadonlyArray<number> } => ({
  data: [...m.dataSegments.entries()].flatMap(([index, { end, mode, start }]) =>
    mode === "passive" && end > start ? [index] : []
  ),
  elements: [...m.elementSegments.entries()].flatMap(([index, { count, mode }]) =>
    mode === "passive" && count > 0 ? [index] : []
  )
})

const I32_CONST = 0x41
const I64_CONST = 0x42

/** Copies none of a segment's bytes, from its second on: traps where the segment is gone. */
const probe = (instruction: number, segment: number, target: number, is64: boolean): Uint8Array =>
  new ByteWriter().u32(0).u8(is64 ? I64_CONST : I32_CONST).s32(0).u8(I32_CONST).s32(1).u8(I32_CONST).s32(0)
    .opcode(instruction).u32(segment).u32(target).u8(0x0b).finish()

const drop = (instruction: number, segment: number): Uint8Array =>
  new ByteWriter().u32(0).opcode(instruction).u32(segment).u8(0x0b).finish()

/** What functions take and give for the bits of a global; undefined where its value is as good. */
const bitsOf = (type: ValueType): ReadonlyArray<"i32" | "i64"> | undefined => {
  switch (type) {
    case "f32":
      return ["i32"]
    case "f64":
      return ["i64"]
    case "v128":
      return ["i64", "i64"]
    default:
      return undefined
  }
}

const GLOBAL_GET = 0x23
const GLOBAL_SET = 0x24
const LOCAL_GET = 0x20
const END = 0x0b

const getBits = (type: ValueType, global: number): Uint8Array => {
  const body = new ByteWriter().u32(0).u8(GLOBAL_GET).u32(global)
  if (type !== "v128") return body.u8(type === "f32" ? 0xbc : 0xbd).u8(END).finish()
  return body.opcode(0xfd01d).u8(0).u8(GLOBAL_GET).u32(global).opcode(0xfd01d).u8(1).u8(END).finish()
}

const setBits = (type: ValueType, global: number): Uint8Array => {
  const body = new ByteWriter().u32(0).u8(LOCAL_GET).u32(0)
  if (type !== "v128") body.u8(type === "f32" ? 0xbe : 0xbf)
  else body.opcode(0xfd012).u8(LOCAL_GET).u32(1).opcode(0xfd01e).u8(1)
  return body.u8(GLOBAL_SET).u32(global).u8(END).finish()
}

/** Custom section that names the module whose state is exported. @category constants @since 0.1.0 */
export const STATE_SECTION = "folio.state"

/**
 * SHA-256 of the original in a module that `instrument` made for others to load; undefined where it is not said.
 *
 * @category inspecting
 * @since 0.1.0
 */
export const instrumentedFrom = (m: WasmModule): string | undefined => {
  const section = m.sections.find(({ id, name }) => id === SectionId.custom && name === STATE_SECTION)
  return section === undefined ? undefined : new ByteReader(m.bytes, section.start, section.end).name()
}

/**
 * The module with its state exported. Throws a `Mismatch` where that has been done before.
 *
 * @param digest SHA-256 of the original in hex, to be named in the result, so that an image can be told from that of
 *   another module where the original is not at hand
 * @category encoding
 * @since 0.1.0
 */
export const instrument = (m: WasmModule, digest?: string): Uint8Array<ArrayBuffer> => {
  if (m.exports.some(({ name }) => name.startsWith(prefix))) {
    throw new Mismatch("module", "the module", "its state is exported already", "Pass the original module.")
  }
  const exports: Array<{ name: string; kind: ExternalKind; index: number }> = []
  const add = (part: Part, kind: ExternalKind, index: number, name = index) => {
    exports.push({ name: hiddenName(part, name), kind, index })
  }
  const types: Array<FunctionType> = []
  const functions: Array<{ typeIndex: number; body: Uint8Array }> = []
  const append = (part: Part, name: number, body: Uint8Array, type: FunctionType = { params: [], results: [] }) => {
    const text = formatSignature(type)
    let at = types.findIndex((one) => formatSignature(one) === text)
    if (at < 0) at = types.push(type) - 1
    add(part, "function", m.functions.length + functions.length, name)
    functions.push({ typeIndex: m.types.length + at, body })
  }
  for (const [index, { import: from, mutable, valueType }] of m.globals.entries()) {
    if (!mutable && from === undefined) continue
    add("global", "global", index)
    const bits = bitsOf(valueType)
    if (bits === undefined) continue
    append("bits", index, getBits(valueType, index), { params: [], results: bits })
    if (mutable) append("set-bits", index, setBits(valueType, index), { params: bits, results: [] })
  }
  for (const index of m.memories.keys()) add("memory", "memory", index)
  for (const index of m.tables.keys()) add("table", "table", index)
  if (m.tables.length > 0) { for (const index of referableFunctions(m)) add("function", "function", index) }
  const { data, elements } = droppable(m)
  // Without a data count section no instruction can name a data segment, so none can be dropped.
  for (const segment of m.dataCount === undefined || m.memories.length === 0 ? [] : data) {
    append("data", segment, probe(0xfc008, segment, 0, m.memories[0].is64))
    append("drop-data", segment, drop(0xfc009, segment))
  }
  for (const segment of elements) {
    const table = m.tables.findIndex(({ elementType }) => elementType === -16)
    if (table < 0) continue
    append("element", segment, probe(0xfc00c, segment, table, m.tables[table].is64))
    append("drop-element", segment, drop(0xfc00d, segment))
  }
  const customs = digest === undefined
    ? []
    : [{ name: STATE_SECTION, data: new ByteWriter().name(digest).finish() }]
  return emitModule(m, { types, functions, exports, customs })
}
