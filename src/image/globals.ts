/**
 * Globals by their bits: read from an instance and written into one. The module that `instrument` makes has functions
 * for those whose bits no value of JavaScript carries; an instance of another module is helped by a small module of its
 * own, where the host lets code be compiled.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../binary/module.ts"
import { ByteWriter } from "../binary/writer.ts"
import { globalBits } from "../wire/bits.ts"
import { type BitsType, hasBits } from "../wire/values.ts"
import { hiddenName } from "./instrument.ts"
import { Mismatch } from "./mismatch.ts"
import type { GlobalImage } from "./model.ts"
import { globalOf, reaches } from "./reach.ts"

const scratch = new DataView(new ArrayBuffer(8))

/** A number as JavaScript carries it without loss; undefined for a NaN, whose bits it may change, and for a vector. */
const plainValue = (type: BitsType, bits: bigint): number | bigint | undefined => {
  if (type === "i32") return Number(BigInt.asIntN(32, bits))
  if (type === "i64") return BigInt.asIntN(64, bits)
  if (type === "v128") return undefined
  if (type === "f32") scratch.setUint32(0, Number(bits))
  else scratch.setBigUint64(0, bits)
  const value = type === "f32" ? scratch.getFloat32(0) : scratch.getFloat64(0)
  return Number.isNaN(value) ? undefined : value
}

/** The bits of a global, as far as its instance tells them; undefined where it does not. */
const bitsIn = (
  exports: WebAssembly.Exports,
  index: number,
  global: WebAssembly.Global,
  type: BitsType
): bigint | undefined => {
  if (type === "i32") return BigInt.asUintN(32, BigInt(global.value as number))
  if (type === "i64") return BigInt.asUintN(64, global.value as bigint)
  const tell = exports[hiddenName("bits", index)] as (() => unknown) | undefined
  if (tell !== undefined) {
    const told = tell()
    if (type === "f32") return BigInt.asUintN(32, BigInt(told as number))
    const [low, high] = (type === "f64" ? [told, 0n] : told) as readonly [bigint, bigint]
    return BigInt.asUintN(64, low) | BigInt.asUintN(64, high) << 64n
  }
  if (type === "v128" || Number.isNaN(global.value)) return undefined
  if (type === "f32") {
    scratch.setFloat32(0, global.value as number)
    return BigInt(scratch.getUint32(0))
  }
  scratch.setFloat64(0, global.value as number)
  return scratch.getBigUint64(0)
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
  return wanted.map(({ global, index, mutable, type }) => ({
    index,
    type,
    mutable,
    bits: bitsIn(exports, index, global, type) ?? globalBits([{ global, type, mutable }])[0]
  }))
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
  readonly index: number
  readonly global: WebAssembly.Global
  readonly type: BitsType
  readonly bits: bigint
}

/**
 * Sets globals to the given bits: by the instance's own functions, by their value where JavaScript carries it without
 * loss, the others through a module.
 *
 * @category access
 * @since 0.1.0
 */
export const writeGlobals = (exports: WebAssembly.Exports, globals: ReadonlyArray<GlobalValue>): void => {
  const others: Array<GlobalValue> = []
  for (const entry of globals) {
    const { bits, global, index, type } = entry
    const set = exports[hiddenName("set-bits", index)] as
      | ((...halves: ReadonlyArray<number | bigint>) => void)
      | undefined
    const value = plainValue(type, bits)
    if (set === undefined && value === undefined) others.push(entry)
    else if (set === undefined) global.value = value
    else if (type === "f32") set(Number(BigInt.asIntN(32, bits)))
    else if (type === "f64") set(BigInt.asIntN(64, bits))
    else set(BigInt.asIntN(64, bits), BigInt.asIntN(64, bits >> 64n))
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
