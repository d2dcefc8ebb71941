/**
 * What a module's memories, globals and tables hold when it is instantiated and nothing has run yet, computed from its
 * bytes: zeros and active segments. No instance is made, so nothing of the host is called.
 *
 * @since 0.1.0
 */
import { type ConstantExpression, ConstantReader } from "../binary/constant.ts"
import { readTableType } from "../binary/declarations.ts"
import { InstructionReader } from "../binary/instruction.ts"
import type { WasmModule } from "../binary/module.ts"
import { ByteReader } from "../binary/reader.ts"
import { SectionId } from "../binary/sections.ts"
import { bitWidth, hasBits } from "../wire/values.ts"
import { Mismatch } from "./mismatch.ts"
import { type GlobalImage, PAGE_BYTES } from "./model.ts"

/**
 * A value of a constant expression: a number by its bits, a function by its index, or null. Undefined where the
 * expression makes something else (a structure, a string).
 *
 * @category models
 * @since 0.1.0
 */
export type Constant =
  | { readonly kind: "number"; readonly bits: bigint }
  | { readonly kind: "function"; readonly index: number }
  | { readonly kind: "null" }
  | undefined

/** Values of imported globals by index, as far as they are known. @category models @since 0.1.0 */
export type ImportedGlobals = ReadonlyMap<number, bigint>

/** The imported globals that an image (or a capture under way) knows. @category constructors @since 0.1.0 */
export const importedGlobals = (m: WasmModule, globals: ReadonlyArray<GlobalImage>): ImportedGlobals =>
  new Map(globals.filter(({ index }) => m.globals[index]?.import !== undefined).map(({ bits, index }) => [index, bits]))

const globalConstant = (m: WasmModule, index: number, imported: ImportedGlobals): Constant => {
  const bits = imported.get(index)
  if (bits !== undefined) return { kind: "number", bits }
  const init = m.globals[index]?.init
  return init === undefined ? undefined : evaluateConstant(m, init, imported)
}

const vectorBits = (bytes: Uint8Array, at: number): bigint => {
  let bits = 0n
  for (let byte = 15; byte >= 0; byte--) bits = bits << 8n | BigInt(bytes[at + byte])
  return bits
}

const arithmetic = (opcode: number, a: bigint, b: bigint): bigint | undefined => {
  switch (opcode) {
    case 0x6a:
      return BigInt.asUintN(32, a + b)
    case 0x6b:
      return BigInt.asUintN(32, a - b)
    case 0x6c:
      return BigInt.asUintN(32, a * b)
    case 0x7c:
      return BigInt.asUintN(64, a + b)
    case 0x7d:
      return BigInt.asUintN(64, a - b)
    case 0x7e:
      return BigInt.asUintN(64, a * b)
    default:
      return undefined
  }
}

/**
 * Evaluates a constant expression, extended ones (additions, subtractions, products) included.
 *
 * @category evaluating
 * @since 0.1.0
 */
export const evaluateConstant = (m: WasmModule, expression: ConstantExpression, imported: ImportedGlobals): Constant =>
  evaluateRange(m, expression.start, expression.end, imported)

const evaluateRange = (m: WasmModule, start: number, end: number, imported: ImportedGlobals): Constant => {
  const code = new InstructionReader(m.bytes, start, end)
  const stack: Array<Constant> = []
  while (code.next() && code.opcode !== 0x0b) {
    switch (code.opcode) {
      case 0x41:
      case 0x43:
        stack.push({ kind: "number", bits: BigInt.asUintN(32, BigInt(code.i32)) })
        break
      case 0x42:
      case 0x44:
        stack.push({ kind: "number", bits: BigInt.asUintN(64, code.i64) })
        break
      case 0xfd00c:
        stack.push({ kind: "number", bits: vectorBits(m.bytes, code.position - 16) })
        break
      case 0x23:
        stack.push(globalConstant(m, code.index, imported))
        break
      case 0xd2:
        stack.push({ kind: "function", index: code.index })
        break
      case 0xd0:
        stack.push({ kind: "null" })
        break
      default: {
        const [b, a] = [stack.pop(), stack.pop()]
        if (a?.kind !== "number" || b?.kind !== "number") return undefined
        const bits = arithmetic(code.opcode, a.bits, b.bits)
        if (bits === undefined) return undefined
        stack.push({ kind: "number", bits })
      }
    }
  }
  return stack.length === 1 ? stack[0] : undefined
}

/**
 * The pages of each memory that active segments write, by page number. A page that is not there holds zeros.
 *
 * @category evaluating
 * @since 0.1.0
 */
export const memoryBaselines = (m: WasmModule, imported: ImportedGlobals): ReadonlyArray<Map<number, Uint8Array>> => {
  const memories = m.memories.map(() => new Map<number, Uint8Array>())
  for (const [index, segment] of m.dataSegments.entries()) {
    if (segment.mode !== "active") continue
    const offset = evaluateConstant(m, segment.offset!, imported)
    if (offset?.kind !== "number") {
      throw new Mismatch(
        "segment",
        `data segment ${index}`,
        "its offset depends on a value that is not known",
        "Export the imported global that it uses, or instantiate the module that `instrument` returns."
      )
    }
    const pages = memories[segment.memoryIndex!]
    let at = Number(offset.bits)
    for (let from = segment.start; from < segment.end;) {
      const page = Math.floor(at / PAGE_BYTES)
      const count = Math.min(segment.end - from, (page + 1) * PAGE_BYTES - at)
      let bytes = pages.get(page)
      if (bytes === undefined) pages.set(page, bytes = new Uint8Array(PAGE_BYTES))
      bytes.set(m.bytes.subarray(from, from + count), at - page * PAGE_BYTES)
      at += count
      from += count
    }
  }
  return memories
}

/**
 * The bits that a defined global starts with; undefined where they are not numbers or not known.
 *
 * @category evaluating
 * @since 0.1.0
 */
export const initialGlobal = (m: WasmModule, index: number, imported: ImportedGlobals): bigint | undefined => {
  const { init, valueType } = m.globals[index]
  if (init === undefined || !hasBits(valueType)) return undefined
  const value = evaluateConstant(m, init, imported)
  return value?.kind === "number" ? BigInt.asUintN(bitWidth(valueType), value.bits) : undefined
}

const elementsOf = (
  m: WasmModule,
  segment: WasmModule["elementSegments"][number],
  imported: ImportedGlobals
): ReadonlyArray<number> | undefined => {
  const code = new InstructionReader(m.bytes, segment.start, segment.end)
  const slots: Array<number> = []
  if (segment.expressions) {
    let start = segment.start
    while (code.next()) {
      if (code.opcode !== 0x0b) continue
      const value = evaluateRange(m, start, code.position, imported)
      if (value === undefined || value.kind === "number") return undefined
      slots.push(value.kind === "null" ? -1 : value.index)
      start = code.position
    }
    return slots
  }
  let at = segment.start
  for (let element = 0; element < segment.count; element++) {
    let [value, shift] = [0, 0]
    let byte
    do {
      byte = m.bytes[at++]
      value |= (byte & 0x7f) << shift
      shift += 7
    } while (byte >= 0x80)
    slots.push(value >>> 0)
  }
  return slots
}

/** The initial value of each defined table that has one, by table index. */
const tableInitialisers = (m: WasmModule): ReadonlyMap<number, ConstantExpression> => {
  const found = new Map<number, ConstantExpression>()
  const section = m.sections.find(({ id }) => id === SectionId.table)
  if (section === undefined) return found
  const reader = new ByteReader(m.bytes, section.start, section.end)
  const constants = new ConstantReader(reader)
  const count = reader.count()
  const first = m.tables.length - count
  for (let table = 0; table < count; table++) {
    const initialised = reader.peek() === 0x40
    if (initialised) reader.skip(2)
    readTableType(reader)
    if (initialised) found.set(first + table, constants.read())
  }
  return found
}

/**
 * The functions that can be in a table: those that element segments, initial values or exports name. The rule of the
 * format that a function referred to in code must be declared outside of it makes this all of them.
 *
 * @category evaluating
 * @since 0.1.0
 */
export const referableFunctions = (m: WasmModule): ReadonlyArray<number> => {
  const found = new Set<number>(m.exports.filter(({ kind }) => kind === "function").map(({ index }) => index))
  for (const segment of m.elementSegments) {
    for (const index of elementsOf(m, segment, new Map()) ?? []) if (index >= 0) found.add(index)
  }
  for (const init of [...m.globals.map(({ init }) => init), ...tableInitialisers(m).values()]) {
    if (init?.funcIndex !== undefined) found.add(init.funcIndex)
  }
  return [...found].sort((a, b) => a - b)
}

/**
 * The slots that a table starts with, -1 for null; undefined where they are not known.
 *
 * @category evaluating
 * @since 0.1.0
 */
export const initialTable = (
  m: WasmModule,
  table: number,
  imported: ImportedGlobals
): ReadonlyArray<number> | undefined => {
  const entry = m.tables[table]
  if (entry.import !== undefined || tableInitialisers(m).has(table)) return undefined
  const slots = new Array<number>(entry.min).fill(-1)
  for (const segment of m.elementSegments) {
    if (segment.mode !== "active" || segment.tableIndex !== table) continue
    const offset = evaluateConstant(m, segment.offset!, imported)
    const elements = elementsOf(m, segment, imported)
    if (offset?.kind !== "number" || elements === undefined) return undefined
    for (const [at, index] of elements.entries()) slots[Number(offset.bits) + at] = index
  }
  return slots
}
