/**
 * Globals and table slots of an instance, kept and put back by modules of Folio's own: the bits of a NaN and a vector
 * do not survive a way through JavaScript, and a table of thousands of functions is copied by one instruction.
 *
 * ```wat
 * (module (import "g" "0" (global $0 (mut f64))) … (memory 1)
 *   (func (export "save") (f64.store offset=0 (i32.const 0) (global.get $0)) …)
 *   (func (export "load") (global.set $0 (f64.load offset=0 (i32.const 0))) …))
 *
 * (module (import "t" "0" (table $guest 0 funcref)) (table $saved 40 40 funcref)
 *   (func (export "save") (table.copy $saved $guest (i32.const 0) (i32.const 0) (i32.const 40)))
 *   (func (export "load") (table.copy $guest $saved (i32.const 0) (i32.const 0) (i32.const 40))))
 * ```
 *
 * @since 0.1.0
 */
import type { NumberType } from "../binary/opcodes.ts"
import { ByteWriter } from "../binary/writer.ts"
import type { GlobalSlot, TableSlot } from "./layout.ts"

/**
 * Something that was kept and can be put back.
 *
 * @category models
 * @since 0.1.0
 */
export interface Kept {
  readonly load: () => void
}

const typeByte: Readonly<Record<NumberType, number>> = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b }
const loadOf: Readonly<Record<NumberType, number>> = { i32: 0x28, i64: 0x29, f32: 0x2a, f64: 0x2b, v128: 0xfd000 }
const storeOf: Readonly<Record<NumberType, number>> = { i32: 0x36, i64: 0x37, f32: 0x38, f64: 0x39, v128: 0xfd00b }
const END = 0x0b
const TABLE_COPY = 0xfc00e

/** A module of two functions, `save` and `load`, without parameters and results. */
const pairModule = (
  imports: ByteWriter,
  own: readonly [section: number, body: ByteWriter],
  save: ByteWriter,
  load: ByteWriter
): WebAssembly.Module => {
  const out = new ByteWriter(save.length + load.length + imports.length + 128).fixed32(0x6d736100).fixed32(1)
  out.section(1, new ByteWriter().u32(1).u8(0x60).u32(0).u32(0))
  out.section(2, imports)
  out.section(3, new ByteWriter().u32(2).u32(0).u32(0))
  out.section(own[0], own[1])
  out.section(7, new ByteWriter().u32(2).name("save").u8(0).u32(0).name("load").u8(0).u32(1))
  const code = new ByteWriter(save.length + load.length + 32).u32(2)
  for (const body of [save, load]) code.u32(body.length + 2).u8(0).append(body).u8(END)
  return new WebAssembly.Module(out.section(10, code).finish())
}

interface Pair extends Kept {
  readonly save: () => void
}

const kept = (instance: WebAssembly.Instance): Kept => {
  const { load, save } = instance.exports as unknown as Pair
  save()
  return { load }
}

/** Bytes kept for each global, as wide as the widest one. */
const SLOT = 16
const PAGE = 65536

const numbers = (exports: WebAssembly.Exports, slots: ReadonlyArray<GlobalSlot>): Kept => {
  const imports = new ByteWriter(64 * slots.length).u32(slots.length)
  const save = new ByteWriter(16 * slots.length)
  const load = new ByteWriter(16 * slots.length)
  const given: Record<string, WebAssembly.ExportValue> = {}
  for (const [index, { name, valueType }] of slots.entries()) {
    const type = valueType as NumberType
    given[index] = exports[name]
    imports.name("g").name(String(index)).u8(3).u8(typeByte[type]).u8(1)
    save.u8(0x41).s32(0).u8(0x23).u32(index).opcode(storeOf[type]).memarg(0, index * SLOT)
    load.u8(0x41).s32(0).opcode(loadOf[type]).memarg(0, index * SLOT).u8(0x24).u32(index)
  }
  const pages = Math.ceil(slots.length * SLOT / PAGE)
  const memory = new ByteWriter().u32(1).u8(1).u32(pages).u32(pages)
  return kept(new WebAssembly.Instance(pairModule(imports, [5, memory], save, load), { g: given }))
}

const references = (globals: ReadonlyArray<WebAssembly.Global>): Kept => {
  const values = globals.map(({ value }) => value as unknown)
  return {
    load: () => {
      for (const [index, global] of globals.entries()) global.value = values[index]
    }
  }
}

/**
 * Keeps mutable globals, numbers by their bits. Throws a `TypeError` for a reference that JavaScript cannot hold.
 *
 * @category constructors
 * @since 0.1.0
 */
export const keepGlobals = (exports: WebAssembly.Exports, slots: ReadonlyArray<GlobalSlot>): ReadonlyArray<Kept> => {
  const plain = slots.filter(({ valueType }) => valueType !== "ref")
  const others = slots.filter(({ valueType }) => valueType === "ref")
  return [
    ...(plain.length === 0 ? [] : [numbers(exports, plain)]),
    ...(others.length === 0 ? [] : [references(others.map(({ name }) => exports[name] as WebAssembly.Global))])
  ]
}

const copied = (table: WebAssembly.Table, elementType: number): Kept => {
  const { length } = table
  const imports = new ByteWriter().u32(1).name("t").name("0").u8(1).u8(elementType).u8(0).u32(0)
  const own = new ByteWriter().u32(1).u8(elementType).u8(1).u32(length).u32(length)
  const copy = (to: number, from: number): ByteWriter =>
    new ByteWriter().u8(0x41).s32(0).u8(0x41).s32(0).u8(0x41).s32(length).opcode(TABLE_COPY).u32(to).u32(from)
  return kept(new WebAssembly.Instance(pairModule(imports, [4, own], copy(1, 0), copy(0, 1)), { t: { 0: table } }))
}

const read = (table: WebAssembly.Table): Kept => {
  const slots = Array.from({ length: table.length }, (_, index) => table.get(index) as unknown)
  return {
    load: () => {
      for (const [index, value] of slots.entries()) table.set(index, value)
    }
  }
}

/**
 * Keeps the slots of a table. Its length does not change from here on: the caller retires an instance that grows one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const keepTable = (table: WebAssembly.Table, { type }: TableSlot): Kept =>
  type === "other" ? read(table) : copied(table, type === "funcref" ? 0x70 : 0x6f)
