/**
 * New bodies of functions: stores that leave a mark in a map of pages, and drops of segments that are counted.
 *
 * ```wat
 * before   (i32.store offset=8 (local.get $p) (local.get $x))
 * page     (i32.store offset=8 (local.get $p) (local.get $x))
 *          (i32.store8 $map (i32.shr_u (i32.add (local.get $p) (i32.const 8)) (i32.const 12)) (i32.const 1))
 *
 * before   (loop $l … (f32.store (local.get $p) (local.get $x)) …)
 * window   (local.set $window (i32.const -4096)) …
 *          (loop $l … (f32.store (local.get $p) (local.get $x))
 *            (if (i32.ge_u (i32.sub (local.get $p) (local.get $window)) (i32.const 4096))
 *              (then (i32.store8 $map (i32.shr_u (local.get $p) (i32.const 12)) (i32.const 1))
 *                    (local.set $window (i32.and (local.get $p) (i32.const -4096)))))
 *            …)
 *
 * before   (memory.fill (local.get $p) (i32.const 0) (local.get $n))
 * after    the same through three locals, then (call $mark (local.get $p) (local.get $n))
 *
 * before   (data.drop 3)
 * after    (global.set $drops (i32.add (global.get $drops) (i32.const 1))) (data.drop 3)
 * ```
 *
 * A mark follows its store, so it is reached only when the store did not trap, and its address is then in bounds. The
 * page marked is that of the first byte, and a reset also puts back what lies around it (`MARK_REACH`). Which store
 * needs which mark, or none, is decided in `stores.ts`. A window begins where no memory that is tracked has bytes.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import { localTypes, type WasmModule } from "../binary/module.ts"
import type { NumberType } from "../binary/opcodes.ts"
import { ByteReader } from "../binary/reader.ts"
import { ByteWriter } from "../binary/writer.ts"
import { RESET_PAGE } from "./layout.ts"
import { functionMarks, type StoreMark } from "./stores.ts"
import { dropsSegment, writeOperands, writesRange } from "./writes.ts"

const typeByte: Readonly<Record<NumberType, number>> = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b }

const LOCAL_GET = 0x20
const LOCAL_SET = 0x21
const LOCAL_TEE = 0x22
const GLOBAL_GET = 0x23
const GLOBAL_SET = 0x24
const IF = 0x04
const EMPTY = 0x40
const END = 0x0b
const I32_STORE8 = 0x3a
const I32_CONST = 0x41
const I32_GE_U = 0x4f
const I32_ADD = 0x6a
const I32_SUB = 0x6b
const I32_AND = 0x71
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

  /** A new local. */
  add(type: NumberType): number {
    return this.#first + this.added.push(type) - 1
  }

  /** The local that holds the `nth` value of the type. */
  of(type: NumberType, nth: number): number {
    const known = this.#byType.get(type) ?? []
    this.#byType.set(type, known)
    while (known.length <= nth) known.push(this.add(type))
    return known[nth]
  }
}

/** The address of the first byte that a store has written. */
interface Address {
  readonly local: number
  readonly offset: number
}

const writeAddress = (code: ByteWriter, { local, offset }: Address): ByteWriter => {
  code.u8(LOCAL_GET).u32(local)
  return offset === 0 ? code : code.u8(I32_CONST).s32(offset | 0).u8(I32_ADD)
}

const writeMark = (code: ByteWriter, address: Address, map: number): void => {
  writeAddress(code, address).u8(I32_CONST).s32(pageShift).u8(I32_SHR_U)
  code.u8(I32_CONST).s32(1).u8(I32_STORE8).memarg(0, 0, map)
}

/** The store with its operands kept in locals. Returns its address. */
const writeKept = (
  code: ByteWriter,
  reader: InstructionReader,
  operands: ReadonlyArray<NumberType>,
  locals: Temporaries
): Address => {
  const address = locals.of("i32", 0)
  // Temporary 0 of i32 is the address, so values of that type begin at 1.
  const values = operands.map((type, i) => locals.of(type, type === "i32" ? i + 1 : i))
  for (const value of values.toReversed()) code.u8(LOCAL_SET).u32(value)
  code.u8(LOCAL_TEE).u32(address)
  for (const value of values) code.u8(LOCAL_GET).u32(value)
  code.bytes(reader.bytes, reader.start, reader.position)
  return { local: address, offset: reader.offset }
}

/** Bytes of a window, and how far one around an address begins before it. */
const WINDOW_BYTES = RESET_PAGE
const WINDOW_BEFORE = WINDOW_BYTES / 2

/** Nothing where the window holds the address; else the mark and another window. Returns where its branch is. */
const writeWindow = (code: ByteWriter, address: Address, map: number, window: number, around: boolean): number => {
  writeAddress(code, address).u8(LOCAL_GET).u32(window).u8(I32_SUB).u8(I32_CONST).s32(WINDOW_BYTES).u8(I32_GE_U)
  const branch = code.length
  code.u8(IF).u8(EMPTY)
  if (around) {
    const first = { ...address, offset: address.offset - WINDOW_BEFORE }
    writeMark(code, first, map)
    writeMark(code, { ...address, offset: first.offset + WINDOW_BYTES - 1 }, map)
    writeAddress(code, first)
  } else {
    writeMark(code, address, map)
    writeAddress(code, address).u8(I32_CONST).s32(-WINDOW_BYTES).u8(I32_AND)
  }
  code.u8(LOCAL_SET).u32(window).u8(END)
  return branch
}

/** A store and its mark. Returns where a branch is that is hardly ever taken. */
const writeStore = (
  code: ByteWriter,
  reader: InstructionReader,
  operands: ReadonlyArray<NumberType>,
  mark: Exclude<StoreMark, { readonly kind: "covered" }>,
  map: number,
  windows: ReadonlyArray<number>,
  locals: Temporaries
): number | undefined => {
  if (mark.base === "zero") {
    code.bytes(reader.bytes, reader.start, reader.position)
    code.u8(I32_CONST).s32(mark.offset >>> pageShift).u8(I32_CONST).s32(1).u8(I32_STORE8).memarg(0, 0, map)
    return undefined
  }
  const known = mark.base === undefined ? undefined : { local: mark.base, offset: mark.offset }
  if (known !== undefined) code.bytes(reader.bytes, reader.start, reader.position)
  const address = known ?? writeKept(code, reader, operands, locals)
  if (mark.kind === "window") return writeWindow(code, address, map, windows[mark.window], mark.around)
  writeMark(code, address, map)
  return undefined
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
 * A new body.
 *
 * @category models
 * @since 0.1.0
 */
export interface InstrumentedBody {
  readonly bytes: Uint8Array
  /** Offsets in it of branches that are hardly ever taken, rising. */
  readonly unlikely: ReadonlyArray<number>
}

/**
 * The body of a defined function with its marks, or `undefined` where it needs none.
 *
 * @category transforms
 * @since 0.1.0
 */
export const instrumentBody = (m: WasmModule, functionIndex: number, marks: Marks): InstrumentedBody | undefined => {
  const body = m.functions[functionIndex].body
  if (body === undefined) return undefined
  const { codeStart, types } = localTypes(m, functionIndex)
  const reader = new InstructionReader(m.bytes, codeStart, body.end)
  const locals = new Temporaries(types.length)
  const planned = marks.maps.length === 0 ? undefined : functionMarks(m, functionIndex)
  const windows = Array.from({ length: planned?.windows ?? 0 }, () => locals.add("i32"))
  const code = new ByteWriter(body.end - codeStart + 64)
  const branches: Array<number> = []
  let copied = codeStart
  for (const window of windows) code.u8(I32_CONST).s32(-WINDOW_BYTES).u8(LOCAL_SET).u32(window)
  while (reader.next()) {
    const mark = planned?.stores.get(reader.start)
    const range = marks.maps.length > 0 && writesRange(reader.opcode)
    const drop = marks.drops !== undefined && dropsSegment(reader.opcode)
    if ((mark === undefined || mark.kind === "covered") && !range && !drop) continue
    code.bytes(m.bytes, copied, reader.start)
    copied = reader.position
    if (mark !== undefined && mark.kind !== "covered") {
      const map = marks.maps[reader.memory].memory
      const branch = writeStore(code, reader, writeOperands(reader.opcode)!, mark, map, windows, locals)
      if (branch !== undefined) branches.push(branch)
    } else if (range) writeRange(code, reader, marks.maps[reader.memory].mark, locals)
    else {
      code.u8(GLOBAL_GET).u32(marks.drops!).u8(I32_CONST).s32(1).u8(I32_ADD).u8(GLOBAL_SET).u32(marks.drops!)
      code.bytes(m.bytes, reader.start, reader.position)
    }
  }
  if (copied === codeStart) return undefined
  const out = new ByteWriter(code.length + 64)
  writeLocals(out, m.bytes, body.start, codeStart, locals.added)
  const unlikely = branches.map((branch) => out.length + branch)
  return { bytes: out.append(code).bytes(m.bytes, copied, body.end).finish(), unlikely }
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
