/**
 * Short names for the instructions that the transforms emit.
 *
 * @since 0.1.0
 */
import type { ValueType } from "../binary/module.ts"
import { ByteWriter } from "../binary/writer.ts"
import { CONTROL_MAXIMUM_PAGES } from "../lane/control.ts"

const LOAD: Readonly<Record<ValueType, number>> = { i32: 0x28, i64: 0x29, f32: 0x2a, f64: 0x2b, v128: 0xfd000, ref: -1 }
const STORE: Readonly<Record<ValueType, number>> = {
  i32: 0x36,
  i64: 0x37,
  f32: 0x38,
  f64: 0x39,
  v128: 0xfd00b,
  ref: -1
}
/** Value types as bytes. @category encoding @since 0.1.0 */
export const TYPE_BYTE: Readonly<Record<ValueType, number>> = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
  ref: 0x70
}

/** Control memory is memory 1 of guard and chunk modules. @category constants @since 0.1.0 */
export const CONTROL = 1

/**
 * A writer of code.
 *
 * @category encoding
 * @since 0.1.0
 */
export class Assembler {
  readonly out = new ByteWriter(1024)

  op(opcode: number): this {
    this.out.opcode(opcode)
    return this
  }

  get(local: number): this {
    this.out.u8(0x20).u32(local)
    return this
  }

  set(local: number): this {
    this.out.u8(0x21).u32(local)
    return this
  }

  tee(local: number): this {
    this.out.u8(0x22).u32(local)
    return this
  }

  i32(value: number): this {
    this.out.u8(0x41).s32(value)
    return this
  }

  i64(value: bigint | number): this {
    this.out.u8(0x42).s64(BigInt(value))
    return this
  }

  block(): this {
    this.out.u8(0x02).u8(0x40)
    return this
  }

  loop(): this {
    this.out.u8(0x03).u8(0x40)
    return this
  }

  if(): this {
    this.out.u8(0x04).u8(0x40)
    return this
  }

  end(): this {
    this.out.u8(0x0b)
    return this
  }

  br(depth: number): this {
    this.out.u8(0x0c).u32(depth)
    return this
  }

  brIf(depth: number): this {
    this.out.u8(0x0d).u32(depth)
    return this
  }

  /** A constant of a type: all bits zero. */
  zero(type: ValueType): this {
    switch (type) {
      case "i32":
        return this.i32(0)
      case "i64":
        return this.i64(0)
      case "f32":
        this.out.u8(0x43).fixed32(0)
        return this
      case "f64":
        this.out.u8(0x44).fixed64(0n)
        return this
      case "v128":
        this.out.opcode(0xfd00c).fixed64(0n).fixed64(0n)
        return this
      default:
        return this.op(0x00)
    }
  }

  getGlobal(index: number): this {
    this.out.u8(0x23).u32(index)
    return this
  }

  setGlobal(index: number): this {
    this.out.u8(0x24).u32(index)
    return this
  }

  call(index: number): this {
    this.out.u8(0x10).u32(index)
    return this
  }

  /** Loads a value of control memory at a constant byte. */
  loadControl(type: ValueType, byte: number): this {
    return this.i32(byte).access(LOAD[type], CONTROL)
  }

  /** Stores to control memory; the address is below the value on the stack. */
  storeControl(type: ValueType): this {
    return this.access(STORE[type], CONTROL)
  }

  /** A memory access without a static offset and with the least alignment. */
  access(opcode: number, memory: number, offset = 0): this {
    this.out.opcode(opcode).memarg(0, offset, memory)
    return this
  }

  /** An atomic access of 4 bytes. */
  atomic(sub: number, memory: number, offset = 0): this {
    this.out.opcode(0xfe000 | sub).memarg(2, offset, memory)
    return this
  }
}

/** A body: declarations of locals behind the parameters, code, `end`. @category encoding @since 0.1.0 */
export const functionBody = (locals: ReadonlyArray<ValueType>, code: Assembler): Uint8Array => {
  const out = new ByteWriter(code.out.length + 64)
  const runs: Array<{ type: ValueType; count: number }> = []
  for (const type of locals) {
    const last = runs[runs.length - 1]
    if (last?.type === type) last.count++
    else runs.push({ type, count: 1 })
  }
  out.u32(runs.length)
  for (const run of runs) out.u32(run.count).u8(TYPE_BYTE[run.type])
  return out.append(code.out).u8(0x0b).finish()
}

/**
 * A module made of functions that import the guest's memory (0), control memory (1) and other functions.
 *
 * @category encoding
 * @since 0.1.0
 */
export interface SmallModule {
  readonly types: ReadonlyArray<
    { readonly params: ReadonlyArray<ValueType>; readonly results: ReadonlyArray<ValueType> }
  >
  readonly imports: ReadonlyArray<{ readonly name: string; readonly typeIndex: number }>
  /** Functions with a name are exported by it. */
  readonly functions: ReadonlyArray<
    { readonly name: string | undefined; readonly typeIndex: number; readonly body: Uint8Array }
  >
  /** Mutable globals of these types, zero at first. */
  readonly globals?: ReadonlyArray<ValueType>
  /** Limits under which the guest's memory is imported when it is shared; unshared memories match any. */
  readonly sharedMaximum: number | undefined
}

/** Bytes of a {@link SmallModule}. @category encoding @since 0.1.0 */
export const assembleModule = (module: SmallModule): Uint8Array => {
  const out = new ByteWriter(4096)
  out.bytes(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]))
  const types = new ByteWriter().u32(module.types.length)
  for (const type of module.types) {
    types.u8(0x60).u32(type.params.length)
    for (const t of type.params) types.u8(TYPE_BYTE[t])
    types.u32(type.results.length)
    for (const t of type.results) types.u8(TYPE_BYTE[t])
  }
  out.section(1, types)
  const imports = new ByteWriter().u32(2 + module.imports.length)
  imports.name("folio").name("memory").u8(2)
  if (module.sharedMaximum === undefined) imports.u8(0).u32(0)
  else imports.u8(3).u32(0).u32(module.sharedMaximum)
  imports.name("folio").name("control").u8(2).u8(3).u32(1).u32(CONTROL_MAXIMUM_PAGES)
  for (const one of module.imports) imports.name("folio").name(one.name).u8(0).u32(one.typeIndex)
  out.section(2, imports)
  const functions = new ByteWriter().u32(module.functions.length)
  for (const one of module.functions) functions.u32(one.typeIndex)
  out.section(3, functions)
  if (module.globals !== undefined && module.globals.length > 0) {
    const globals = new ByteWriter().u32(module.globals.length)
    for (const type of module.globals) {
      const zero = new Assembler()
      zero.zero(type)
      globals.u8(TYPE_BYTE[type]).u8(1).append(zero.out).u8(0x0b)
    }
    out.section(6, globals)
  }
  const exports = new ByteWriter().u32(module.functions.filter((one) => one.name !== undefined).length)
  module.functions.forEach((one, index) => {
    if (one.name !== undefined) exports.name(one.name).u8(0).u32(module.imports.length + index)
  })
  out.section(7, exports)
  const code = new ByteWriter().u32(module.functions.length)
  for (const one of module.functions) code.u32(one.body.length).bytes(one.body)
  out.section(10, code)
  return out.finish()
}
