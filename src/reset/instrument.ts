/**
 * New bodies of functions: stores that leave a mark in a map of pages, and drops of segments that are counted.
 *
 * ```wat
 * before   (i32.store offset=8 (local.get $p) (local.get $x))
 * after    (local.set $value (local.get $x))
 *          (i32.store offset=8 (local.tee $address (local.get $p)) (local.get $value))
 *          (i32.store8 $map (i32.shr_u (i32.add (local.get $address) (i32.const 8)) (i32.const 12)) (i32.const 1))
 *
 * before   (memory.fill (local.get $p) (i32.const 0) (local.get $n))
 * after    the same through three locals, then (call $mark (local.get $p) (local.get $n))
 *
 * before   (data.drop 3)
 * after    (global.set $drops (i32.add (global.get $drops) (i32.const 1))) (data.drop 3)
 * ```
 *
 * The mark follows the store, so it is reached only when the store did not trap, and its address is then in bounds. The
 * page marked is that of the first byte: a reset also restores the few bytes that a store can reach behind the page.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import { localTypes, type WasmModule } from "../binary/module.ts"
import type { NumberType } from "../binary/opcodes.ts"
import { ByteReader } from "../binary/reader.ts"
import { ByteWriter } from "../binary/writer.ts"
import { RESET_PAGE } from "./layout.ts"
import { dropsSegment, writeOperands, writesRange } from "./writes.ts"

const typeByte: Readonly<Record<NumberType, number>> = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b }

const LOCAL_GET = 0x20
const LOCAL_SET = 0x21
const LOCAL_TEE = 0x22
const GLOBAL_GET = 0x23
const GLOBAL_SET = 0x24
const I32_STORE8 = 0x3a
const I32_CONST = 0x41
const I32_ADD = 0x6a
const I32_SHR_U = 0x76
const CALL = 0x10
const pageShift = Math.log2(RESET_PAGE)

/**
 * Where the marks go.
 *
 * @category models
 * @since 0.1.0
 */
export interface Marks {
  /** Index of the counter of drops; `undefined` leaves drops alone. */
  readonly drops: number | undefined
  /** Of each memory: index of its store map and of the function that marks a range. Empty leaves stores alone. */
  readonly maps: ReadonlyArray<{ readonly memory: number; readonly mark: number }>
}

/** Locals added to one function, by type, as many of each as one instruction needs at once. */
class Temporaries {
  readonly added: Array<NumberType> = []
  readonly #first: number
  readonly #byType = new Map<NumberType, Array<number>>()

  constructor(first: number) {
    this.#first = first
  }

  /** The local that holds the `nth` value of the type. */
  of(type: NumberType, nth: number): number {
    const known = this.#byType.get(type) ?? []
    this.#byType.set(type, known)
    while (known.length <= nth) {
      known.push(this.#first + this.added.length)
      this.added.push(type)
    }
    return known[nth]
  }
}

const writeStore = (
  code: ByteWriter,
  reader: InstructionReader,
  operands: ReadonlyArray<NumberType>,
  map: number,
  locals: Temporaries
): void => {
  const address = locals.of("i32", 0)
  // Temporary 0 of i32 is the address, so values of that type begin at 1.
  const values = operands.map((type, i) => locals.of(type, type === "i32" ? i + 1 : i))
  for (const value of values.toReversed()) code.u8(LOCAL_SET).u32(value)
  code.u8(LOCAL_TEE).u32(address)
  for (const value of values) code.u8(LOCAL_GET).u32(value)
  code.bytes(reader.bytes, reader.start, reader.position)
  code.u8(LOCAL_GET).u32(address)
  if (reader.offset !== 0) code.u8(I32_CONST).s32(reader.offset).u8(I32_ADD)
  code.u8(I32_CONST).s32(pageShift).u8(I32_SHR_U)
  code.u8(I32_CONST).s32(1).u8(I32_STORE8).memarg(0, 0, map)
}

const writeRange = (code: ByteWriter, reader: InstructionReader, mark: number, locals: Temporaries): void => {
  const [address, second, length] = [locals.of("i32", 0), locals.of("i32", 1), locals.of("i32", 2)]
  code.u8(LOCAL_SET).u32(length).u8(LOCAL_SET).u32(second).u8(LOCAL_TEE).u32(address)
  code.u8(LOCAL_GET).u32(second).u8(LOCAL_GET).u32(length)
  code.bytes(reader.bytes, reader.start, reader.position)
  code.u8(LOCAL_GET).u32(address).u8(LOCAL_GET).u32(length).u8(CALL).u32(mark)
}

/** The declarations of locals with more behind them. */
const writeLocals = (
  out: ByteWriter,
  bytes: Uint8Array,
  start: number,
  codeStart: number,
  added: ReadonlyArray<NumberType>
): void => {
  const reader = new ByteReader(bytes, start, codeStart)
  const groups = reader.count()
  out.u32(groups + added.length).bytes(bytes, reader.position, codeStart)
  for (const type of added) out.u32(1).u8(typeByte[type])
}

/**
 * The body of a defined function with its marks, or `undefined` where it needs none.
 *
 * @category transforms
 * @since 0.1.0
 */
export const instrumentBody = (m: WasmModule, functionIndex: number, marks: Marks): Uint8Array | undefined => {
  const body = m.functions[functionIndex].body
  if (body === undefined) return undefined
  const { codeStart, types } = localTypes(m, functionIndex)
  const reader = new InstructionReader(m.bytes, codeStart, body.end)
  const locals = new Temporaries(types.length)
  const code = new ByteWriter(body.end - codeStart + 64)
  let copied = codeStart
  while (reader.next()) {
    const operands = marks.maps.length === 0 ? undefined : writeOperands(reader.opcode)
    const range = marks.maps.length > 0 && writesRange(reader.opcode)
    const drop = marks.drops !== undefined && dropsSegment(reader.opcode)
    if (operands === undefined && !range && !drop) continue
    code.bytes(m.bytes, copied, reader.start)
    copied = reader.position
    if (operands !== undefined) writeStore(code, reader, operands, marks.maps[reader.memory].memory, locals)
    else if (range) writeRange(code, reader, marks.maps[reader.memory].mark, locals)
    else {
      code.u8(GLOBAL_GET).u32(marks.drops!).u8(I32_CONST).s32(1).u8(I32_ADD).u8(GLOBAL_SET).u32(marks.drops!)
      code.bytes(m.bytes, reader.start, reader.position)
    }
  }
  if (copied === codeStart) return undefined
  const out = new ByteWriter(code.length + 64)
  writeLocals(out, m.bytes, body.start, codeStart, locals.added)
  return out.append(code).bytes(m.bytes, copied, body.end).finish()
}

/**
 * Body of the function that marks a range in a store map: `(address: i32, length: i32) -> ()`.
 *
 * @category transforms
 * @since 0.1.0
 */
export const markRangeBody = (map: number): Uint8Array => {
  const out = new ByteWriter(64)
  const page = (): ByteWriter => out.u8(I32_CONST).s32(pageShift).u8(I32_SHR_U)
  out.u8(0) // no locals
  // if length != 0: memory.fill $map (address >> 12) 1 (((address + length - 1) >> 12) - (address >> 12) + 1)
  out.u8(LOCAL_GET).u32(1).u8(0x04).u8(0x40)
  out.u8(LOCAL_GET).u32(0)
  page()
  out.u8(I32_CONST).s32(1)
  out.u8(LOCAL_GET).u32(0).u8(LOCAL_GET).u32(1).u8(I32_ADD).u8(I32_CONST).s32(-1).u8(I32_ADD)
  page()
  out.u8(LOCAL_GET).u32(0)
  page()
  out.u8(0x6b).u8(I32_CONST).s32(1).u8(I32_ADD)
  out.opcode(0xfc00b).u32(map)
  return out.u8(0x0b).u8(0x0b).finish()
}
