/**
 * Which instructions write to a memory, and what they take from the stack.
 *
 * @since 0.1.0
 */
import { knownOpcodes, laneShape, mnemonic, type NumberType, storeShape } from "../binary/opcodes.ts"

/**
 * Instructions that write a range, or change what is there to be written from or called through.
 *
 * @category constants
 * @since 0.1.0
 */
export const Bulk = {
  memoryInit: 0xfc008,
  dataDrop: 0xfc009,
  memoryCopy: 0xfc00a,
  memoryFill: 0xfc00b,
  tableInit: 0xfc00c,
  elemDrop: 0xfc00d,
  tableCopy: 0xfc00e,
  tableGrow: 0xfc00f,
  tableFill: 0xfc011,
  tableSet: 0x26
} as const

const operandsOf = (opcode: number): ReadonlyArray<NumberType> | undefined => {
  const store = storeShape(opcode)
  if (store !== undefined) return [store.type]
  if (laneShape(opcode)?.store === true) return ["v128"]
  const atomic = /^(i32|i64)\.atomic\.(?:store|rmw)/.exec(mnemonic(opcode))
  if (atomic === null) return undefined
  const type = atomic[1] as NumberType
  return mnemonic(opcode).includes("cmpxchg") ? [type, type] : [type]
}

const writes: ReadonlyMap<number, ReadonlyArray<NumberType>> = /* @__PURE__ */ new Map(
  knownOpcodes().flatMap((opcode) => {
    const operands = operandsOf(opcode)
    return operands === undefined ? [] : [[opcode, operands] as const]
  })
)

/**
 * Types of the operands above the address, of an instruction that writes at most 16 bytes at an address: plain and
 * atomic stores, lane stores, read-modify-write, compare-exchange. `undefined` for every other instruction.
 *
 * @category metadata
 * @since 0.1.0
 */
export const writeOperands = (opcode: number): ReadonlyArray<NumberType> | undefined => writes.get(opcode)

/**
 * Most bytes that such an instruction writes, its first one counted.
 *
 * @category constants
 * @since 0.1.0
 */
export const WRITE_BYTES = 16

/**
 * Whether such an instruction leaves what was there on the stack: read-modify-write and compare-exchange.
 *
 * @category metadata
 * @since 0.1.0
 */
export const leavesValue = (opcode: number): boolean => opcode >= 0xfe01e && opcode <= 0xfe04e

/**
 * Whether an instruction writes a range: address, second operand and length on the stack, all of them `i32`.
 *
 * @category metadata
 * @since 0.1.0
 */
export const writesRange = (opcode: number): boolean =>
  opcode === Bulk.memoryInit || opcode === Bulk.memoryCopy || opcode === Bulk.memoryFill

/**
 * Whether an instruction changes slots of a table, or its length.
 *
 * @category metadata
 * @since 0.1.0
 */
export const writesTable = (opcode: number): boolean =>
  opcode === Bulk.tableSet || opcode === Bulk.tableInit || opcode === Bulk.tableCopy || opcode === Bulk.tableGrow
  || opcode === Bulk.tableFill

/**
 * Whether an instruction drops a segment, which nothing can undo.
 *
 * @category metadata
 * @since 0.1.0
 */
export const dropsSegment = (opcode: number): boolean => opcode === Bulk.dataDrop || opcode === Bulk.elemDrop
