/**
 * Calls between JavaScript and WebAssembly that carry numbers by their bits.
 *
 * The JavaScript interface may canonicalise a NaN and has no value for a vector. A small module between the caller
 * and an export takes the arguments from its own memory and leaves the results there, so that no number ever is a
 * JavaScript value:
 *
 * ```wat
 * (module
 *   (import "folio" "target" (func $target (param i32 f64) (result f32)))
 *   (memory (export "memory") 1)
 *   (func (export "call") (local f32)
 *     (call $target (i32.load offset=0 (i32.const 0)) (f64.load offset=16 (i32.const 0)))
 *     (local.set 0)
 *     (f32.store offset=0 (i32.const 0) (local.get 0))))
 * ```
 *
 * @since 0.1.0
 */
import type { FunctionType } from "../binary/module.ts"
import { ByteWriter } from "../binary/writer.ts"
import { type BitsType, bitWidth, hasBits } from "./values.ts"

/** Each value has a slot of sixteen bytes. */
const SLOT = 16

const TYPE_BYTE: Record<BitsType, number> = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b }
const LOAD: Record<BitsType, number> = { i32: 0x28, i64: 0x29, f32: 0x2a, f64: 0x2b, v128: 0xfd000 }
const STORE: Record<BitsType, number> = { i32: 0x36, i64: 0x37, f32: 0x38, f64: 0x39, v128: 0xfd00b }

const SECTION = { type: 1, import: 2, function: 3, memory: 5, export: 7, code: 10 } as const

const start = (): ByteWriter => new ByteWriter().fixed32(0x6d736100).fixed32(1)

const writeTypes = (into: ByteWriter, types: ReadonlyArray<BitsType>): void => {
  into.u32(types.length)
  for (const type of types) into.u8(TYPE_BYTE[type])
}

/** One page of memory and one function without parameters, exported as `memory` and `call`. */
const finish = (
  module: ByteWriter,
  typeIndex: number,
  functionIndex: number,
  body: ByteWriter
): Uint8Array<ArrayBuffer> =>
  module
    .section(SECTION.function, new ByteWriter().u32(1).u32(typeIndex))
    .section(SECTION.memory, new ByteWriter().u32(1).u8(0).u32(1))
    .section(SECTION.export, new ByteWriter().u32(2).name("memory").u8(2).u32(0).name("call").u8(0).u32(functionIndex))
    .section(SECTION.code, new ByteWriter().u32(1).u32(body.length).bytes(body.finish()))
    .finish()

const callerModule = (params: ReadonlyArray<BitsType>, results: ReadonlyArray<BitsType>): Uint8Array<ArrayBuffer> => {
  const types = new ByteWriter().u32(2).u8(0x60)
  writeTypes(types, params)
  writeTypes(types, results)
  types.u8(0x60).u32(0).u32(0)
  const body = new ByteWriter().u32(results.length)
  for (const type of results) body.u32(1).u8(TYPE_BYTE[type])
  for (const [index, type] of params.entries()) body.u8(0x41).s32(0).opcode(LOAD[type]).memarg(0, index * SLOT)
  body.u8(0x10).u32(0)
  for (let index = results.length - 1; index >= 0; index--) body.u8(0x21).u32(index)
  for (const [index, type] of results.entries()) {
    body.u8(0x41).s32(0).u8(0x20).u32(index).opcode(STORE[type]).memarg(0, index * SLOT)
  }
  body.u8(0x0b)
  const module = start()
    .section(SECTION.type, types)
    .section(SECTION.import, new ByteWriter().u32(1).name("folio").name("target").u8(0).u32(0))
  return finish(module, 1, 1, body)
}

const readSlot = (view: DataView, index: number, type: BitsType): bigint => {
  const at = index * SLOT
  const low = view.getBigUint64(at, true)
  return type === "v128" ? low | (view.getBigUint64(at + 8, true) << 64n) : BigInt.asUintN(bitWidth(type), low)
}

const writeSlot = (view: DataView, index: number, bits: bigint): void => {
  view.setBigUint64(index * SLOT, BigInt.asUintN(64, bits), true)
  view.setBigUint64(index * SLOT + 8, BigInt.asUintN(64, bits >> 64n), true)
}

/**
 * Makes a function that calls a WebAssembly export with arguments and results as bits. Traps and exceptions pass
 * through as they are.
 *
 * @returns undefined when the signature has a reference in it, or more values than one page has slots
 * @category calls
 * @since 0.1.0
 */
export const bitsCaller = (
  target: Function,
  type: FunctionType
): ((args: ReadonlyArray<bigint>) => ReadonlyArray<bigint>) | undefined => {
  const { params, results } = type
  if (!params.every(hasBits) || !results.every(hasBits)) return undefined
  if (Math.max(params.length, results.length) * SLOT > 65536) return undefined
  const module = new WebAssembly.Module(callerModule(params, results))
  const instance = new WebAssembly.Instance(module, { folio: { target: target as WebAssembly.ExportValue } })
  const view = new DataView((instance.exports["memory"] as WebAssembly.Memory).buffer)
  const call = instance.exports["call"] as () => void
  return (args) => {
    for (const [index, bits] of args.entries()) writeSlot(view, index, bits)
    call()
    return results.map((result, index) => readSlot(view, index, result))
  }
}

/**
 * A global and its type, as its module declares it.
 *
 * @category models
 * @since 0.1.0
 */
export interface TypedGlobal {
  readonly global: WebAssembly.Global
  readonly type: BitsType
  readonly mutable: boolean
}

/**
 * Reads the bits of globals.
 *
 * @category calls
 * @since 0.1.0
 */
export const globalBits = (globals: ReadonlyArray<TypedGlobal>): ReadonlyArray<bigint> =>
  globals.map(({ global, mutable, type }) => {
    const imports = new ByteWriter().u32(1).name("folio").name("global").u8(3).u8(TYPE_BYTE[type]).u8(mutable ? 1 : 0)
    const body = new ByteWriter().u32(0).u8(0x41).s32(0).u8(0x23).u32(0).opcode(STORE[type]).memarg(0, 0).u8(0x0b)
    const module = start()
      .section(SECTION.type, new ByteWriter().u32(1).u8(0x60).u32(0).u32(0))
      .section(SECTION.import, imports)
    const instance = new WebAssembly.Instance(new WebAssembly.Module(finish(module, 0, 0, body)), { folio: { global } })
    ;(instance.exports["call"] as () => void)()
    return readSlot(new DataView((instance.exports["memory"] as WebAssembly.Memory).buffer), 0, type)
  })
