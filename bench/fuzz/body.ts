/**
 * Code of a generated function: structured control with labels that know their own depth, and the locals that every
 * generated function has.
 */
import type { ValueType } from "../../src/binary/module.ts"
import { Assembler } from "../../src/transform/assembler.ts"

/**
 * Parameters of every generated function, by name.
 *
 * @category models
 * @since 0.1.0
 */
export const PARAMETERS = ["a", "b", "c", "d", "n", "m", "s", "v", "k", "r"] as const

/**
 * Type of each parameter.
 *
 * @category models
 * @since 0.1.0
 */
export const PARAMETER_TYPES: ReadonlyArray<ValueType> = PARAMETERS.map((name) => name === "k" ? "i64" : "i32")

const LOCALS = {
  i: "i32",
  j: "i32",
  q: "i32",
  p: "i32",
  x: "i32",
  y: "i32",
  z: "i32",
  carried: "i32",
  sum: "i32",
  other: "i32",
  fuel: "i32",
  end: "i32",
  wide: "i64",
  u: "i64",
  total: "i64",
  f: "f32",
  e: "f64",
  w: "v128"
} as const satisfies Record<string, ValueType>

/**
 * A local of a generated function. `i`, `j`, `wide` count, `q` and `p` are pointers, `x`, `y`, `z`, `u`, `f`, `e`, `w`
 * hold what an iteration computes, `sum`, `other`, `total` what all of them do.
 *
 * @category models
 * @since 0.1.0
 */
export type LocalName = keyof typeof LOCALS | typeof PARAMETERS[number]

const NAMES: ReadonlyArray<string> = [...PARAMETERS, ...Object.keys(LOCALS)]

/**
 * Types of the locals behind the parameters.
 *
 * @category models
 * @since 0.1.0
 */
export const LOCAL_TYPES: ReadonlyArray<ValueType> = Object.values(LOCALS)

/**
 * Block types of generated code: a value's byte, or the index of a function type that every module has.
 *
 * @category constants
 * @since 0.1.0
 */
export const BLOCK = { i32: 0x7f, nothing: 2, through: 3 } as const

/** A place that a branch goes to. */
export type Label = number & { readonly Label: unique symbol }

/**
 * Code with labels.
 *
 * @category models
 * @since 0.1.0
 */
export class Body {
  readonly code = new Assembler()
  #depth = 0

  get(name: LocalName): this {
    this.code.get(NAMES.indexOf(name))
    return this
  }

  set(name: LocalName): this {
    this.code.set(NAMES.indexOf(name))
    return this
  }

  tee(name: LocalName): this {
    this.code.tee(NAMES.indexOf(name))
    return this
  }

  op(...opcodes: ReadonlyArray<number>): this {
    for (const opcode of opcodes) this.code.op(opcode)
    return this
  }

  i32(value: number): this {
    this.code.i32(value | 0)
    return this
  }

  i64(value: number | bigint): this {
    this.code.i64(BigInt.asIntN(64, BigInt(value)))
    return this
  }

  f32(bits: number): this {
    this.code.out.u8(0x43).fixed32(bits)
    return this
  }

  f64(bits: bigint): this {
    this.code.out.u8(0x44).fixed64(bits)
    return this
  }

  v128(low: bigint, high: bigint): this {
    this.code.out.opcode(0xfd00c).fixed64(low).fixed64(high)
    return this
  }

  /** A load or store of memory 0. */
  access(opcode: number, offset: number): this {
    this.code.access(opcode, 0, offset)
    return this
  }

  /** A lane access or lane operation: its lane follows the opcode. */
  lane(opcode: number, lane: number): this {
    this.code.op(opcode)
    this.code.out.u8(lane)
    return this
  }

  memorySize(): this {
    this.code.op(0x3f).out.u8(0)
    return this
  }

  globalGet(index: number): this {
    this.code.getGlobal(index)
    return this
  }

  globalSet(index: number): this {
    this.code.setGlobal(index)
    return this
  }

  call(index: number): this {
    this.code.call(index)
    return this
  }

  /** Opens a construct: block 0x02, loop 0x03, if 0x04. */
  open(opcode: 0x02 | 0x03 | 0x04): Label {
    this.code.out.u8(opcode).u8(0x40)
    return ++this.#depth as Label
  }

  /** Opens a construct with a block type: a value type's byte, or the index of a function type. */
  openTyped(opcode: 0x02 | 0x03 | 0x04, type: number): Label {
    this.code.out.u8(opcode).u8(type)
    return ++this.#depth as Label
  }

  else(): this {
    this.code.op(0x05)
    return this
  }

  end(): this {
    this.#depth--
    this.code.end()
    return this
  }

  br(label: Label): this {
    this.code.br(this.#depth - label)
    return this
  }

  brIf(label: Label): this {
    this.code.brIf(this.#depth - label)
    return this
  }

  brTable(targets: ReadonlyArray<Label>): this {
    this.code.out.u8(0x0e).u32(targets.length - 1)
    for (const target of targets) this.code.out.u32(this.#depth - target)
    return this
  }
}
