/**
 * What an opcode does, looked up by its number: operand and result types of the purely numeric instructions, widths
 * of memory accesses, mnemonics. The data is in `opcode-table.ts`.
 *
 * Opcodes are numbered as {@link InstructionReader} reports them: a byte, or `(prefix << 12) | sub`.
 *
 * @since 0.1.0
 */
import type { ValueType } from "./module.ts"
import { atomicOperations, laneRows, loadRows, otherRows, scalarRows, storeRows, vectorRows } from "./opcode-table.ts"

/**
 * A number type: every value type but references.
 *
 * @category types
 * @since 0.1.0
 */
export type NumberType = Exclude<ValueType, "ref">

/**
 * An instruction that pops operands, pushes one result and reads or writes nothing else.
 *
 * @category types
 * @since 0.1.0
 */
export interface NumericShape {
  /** How many operands it takes; 0 for constants. */
  readonly pops: 0 | 1 | 2 | 3
  /** Type of its result. */
  readonly type: NumberType
  /** Types of its operands, the deepest first. */
  readonly operands: ReadonlyArray<NumberType>
  /** Whether it can trap: integer division and remainder, float to integer conversion without saturation. */
  readonly traps: boolean
}

/**
 * A load of a whole value.
 *
 * @category types
 * @since 0.1.0
 */
export interface LoadShape {
  /** Accessed bytes. */
  readonly bytes: 1 | 2 | 4 | 8 | 16
  /** Type of the result. */
  readonly type: NumberType
}

/**
 * A store of a whole value.
 *
 * @category types
 * @since 0.1.0
 */
export interface StoreShape {
  /** Accessed bytes. */
  readonly bytes: 1 | 2 | 4 | 8 | 16
  /** Type of the stored operand. */
  readonly type: NumberType
}

/**
 * A load into, or store of, one lane of a vector. A load pops address and vector and pushes the vector.
 *
 * @category types
 * @since 0.1.0
 */
export interface LaneShape {
  /** Accessed bytes. */
  readonly bytes: 1 | 2 | 4 | 8
  readonly store: boolean
}

const letters: Readonly<Record<string, NumberType>> = { i: "i32", l: "i64", f: "f32", d: "f64", v: "v128" }

/* A slot for each opcode: bytes first, then 512 for each of the four prefixes. */
const slotOf = (opcode: number): number =>
  opcode < 0x100
    ? opcode
    : opcode >= 0xfb000 && opcode < 0xff000 && (opcode & 0xfff) < 512
    ? 256 + ((opcode >> 12) - 0xfb) * 512 + (opcode & 0xfff)
    : -1
const slots = 256 + 4 * 512

const canTrap = (name: string): boolean => /\.(div|rem)_[su]$|^i(32|64)\.trunc_f/.test(name)

const names: ReadonlyArray<string | undefined> = /* @__PURE__ */ (() => {
  const table: Array<string | undefined> = new Array(slots).fill(undefined)
  const add = (first: number, list: string): void => {
    for (const [i, name] of list.split(" ").entries()) table[slotOf(first + i)] = name
  }
  for (const [first, list] of otherRows) add(first, list)
  for (const [first, , list] of [...scalarRows, ...vectorRows]) add(first, list)
  for (const [opcode, , , name] of [...loadRows, ...storeRows, ...laneRows]) add(opcode, name)
  for (const [i, operation] of atomicOperations.split(" ").entries()) {
    const wide = [`i32.atomic.rmw.${operation}`, `i64.atomic.rmw.${operation}`]
    const narrow = ["i32.atomic.rmw8", "i32.atomic.rmw16", "i64.atomic.rmw8", "i64.atomic.rmw16", "i64.atomic.rmw32"]
    add(0xfe01e + 7 * i, [...wide, ...narrow.map((width) => `${width}.${operation}_u`)].join(" "))
  }
  return table
})()

const numeric: ReadonlyArray<NumericShape | undefined> = /* @__PURE__ */ (() => {
  const table: Array<NumericShape | undefined> = new Array(slots).fill(undefined)
  for (const [first, signature, list] of [...scalarRows, ...vectorRows]) {
    const [from, to] = signature.split(":") as [string, string]
    const operands = Array.from(from, (letter) => letters[letter])
    const pops = operands.length as NumericShape["pops"]
    for (const [i, name] of list.split(" ").entries()) {
      table[slotOf(first + i)] = { pops, type: letters[to], operands, traps: canTrap(name) }
    }
  }
  return table
})()

const accesses = <A>(
  rows: typeof loadRows,
  shape: (row: (typeof loadRows)[number]) => A
): ReadonlyArray<A | undefined> => {
  const table: Array<A | undefined> = new Array(slots).fill(undefined)
  for (const row of rows) table[slotOf(row[0])] = shape(row)
  return table
}

const wholeAccess = (row: (typeof loadRows)[number]): LoadShape => ({
  bytes: row[1] as LoadShape["bytes"],
  type: letters[row[2]]
})

const loads = /* @__PURE__ */ accesses<LoadShape>(loadRows, wholeAccess)
const stores = /* @__PURE__ */ accesses<StoreShape>(storeRows, wholeAccess)
const lanes = /* @__PURE__ */ accesses<LaneShape>(laneRows, (row) => ({
  bytes: row[1] as LaneShape["bytes"],
  store: row[3].includes("store")
}))

/**
 * The shape of a purely numeric instruction, constants included; undefined for every other instruction, and for wide
 * arithmetic, which gives two results.
 *
 * @category metadata
 * @since 0.1.0
 */
export const numericShape = (opcode: number): NumericShape | undefined => numeric[slotOf(opcode)]

/**
 * Width and type of a load; undefined for other instructions, atomic loads and lane loads among them.
 *
 * @category metadata
 * @since 0.1.0
 */
export const loadShape = (opcode: number): LoadShape | undefined => loads[slotOf(opcode)]

/**
 * Width and type of a store; undefined for other instructions, atomic stores and lane stores among them.
 *
 * @category metadata
 * @since 0.1.0
 */
export const storeShape = (opcode: number): StoreShape | undefined => stores[slotOf(opcode)]

/**
 * Width and direction of `v128.load<n>_lane` and `v128.store<n>_lane`.
 *
 * @category metadata
 * @since 0.1.0
 */
export const laneShape = (opcode: number): LaneShape | undefined => lanes[slotOf(opcode)]

/**
 * The text format's name of an opcode, or `0x…` when there is none.
 *
 * @category metadata
 * @since 0.1.0
 */
export const mnemonic = (opcode: number): string => names[slotOf(opcode)] ?? `0x${opcode.toString(16)}`

/**
 * Every opcode that has a name, in rising order.
 *
 * @category metadata
 * @since 0.1.0
 */
export const knownOpcodes = (): ReadonlyArray<number> => {
  const known: number[] = []
  for (let opcode = 0; opcode < 0x100; opcode++) if (names[opcode] !== undefined) known.push(opcode)
  for (let prefix = 0xfb; prefix <= 0xfe; prefix++) {
    for (let sub = 0; sub < 512; sub++) {
      const opcode = (prefix << 12) | sub
      if (names[slotOf(opcode)] !== undefined) known.push(opcode)
    }
  }
  return known
}
