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
 * Nothing else changes: exports and a few functions are appended, and the guest's code runs as it did. A segment that
 * was dropped has no byte 1 to begin at, so copying none of its bytes from there traps; otherwise nothing happens.
 * Tables hold functions, and a function is known by its identity as an export of the same instance.
 *
 * @since 0.1.0
 */
import { emitModule } from "../binary/emit.ts"
import type { ExternalKind, WasmModule } from "../binary/module.ts"
import { ByteWriter } from "../binary/writer.ts"
import { referableFunctions } from "./baseline.ts"
import { Mismatch } from "./mismatch.ts"

/** What can be reached. */
type Part = "global" | "memory" | "table" | "function" | "data" | "element" | "drop-data" | "drop-element"

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

/**
 * The module with its state exported. Throws a `Mismatch` where that has been done before.
 *
 * @category encoding
 * @since 0.1.0
 */
export const instrument = (m: WasmModule): Uint8Array<ArrayBuffer> => {
  if (m.exports.some(({ name }) => name.startsWith(prefix))) {
    throw new Mismatch("module", "the module", "its state is exported already", "Pass the original module.")
  }
  const exports: Array<{ name: string; kind: ExternalKind; index: number }> = []
  const add = (part: Part, kind: ExternalKind, index: number, name = index) => {
    exports.push({ name: hiddenName(part, name), kind, index })
  }
  for (const [index, { import: from, mutable }] of m.globals.entries()) {
    if (mutable || from !== undefined) add("global", "global", index)
  }
  for (const index of m.memories.keys()) add("memory", "memory", index)
  for (const index of m.tables.keys()) add("table", "table", index)
  if (m.tables.length > 0) { for (const index of referableFunctions(m)) add("function", "function", index) }

  const functions: Array<{ typeIndex: number; body: Uint8Array }> = []
  const append = (part: Part, segment: number, body: Uint8Array) => {
    add(part, "function", m.functions.length + functions.length, segment)
    functions.push({ typeIndex: m.types.length, body })
  }
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
  return emitModule(m, { types: functions.length === 0 ? [] : [{ params: [], results: [] }], functions, exports })
}
