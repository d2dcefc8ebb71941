/**
 * Instructions of which the value graph only knows that they happen: what they pop and push, and which effect they have.
 *
 * @since 0.1.0
 */
import type { ValueType } from "../binary/module.ts"
import type { EffectCode } from "./graph.ts"

/**
 * An instruction with an effect.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpaqueStep {
  readonly code: EffectCode
  /** Operands that it takes. */
  readonly pops: number
  readonly result: ValueType | undefined
}

const step = (code: EffectCode, pops: number, result?: ValueType): OpaqueStep => ({ code, pops, result })

const STEPS: ReadonlyMap<number, OpaqueStep> = new Map([
  [0x25, step("table", 1, "ref")],
  [0x26, step("table", 2)],
  [0x40, step("memory-grow", 1, "i32")],
  [0xd0, step("reference", 0, "ref")],
  [0xd1, step("reference", 1, "i32")],
  [0xd2, step("reference", 0, "ref")],
  [0xfc008, step("bulk-memory", 3)],
  [0xfc009, step("bulk-memory", 0)],
  [0xfc00c, step("table", 3)],
  [0xfc00d, step("table", 0)],
  [0xfc00e, step("table", 3)],
  [0xfc00f, step("table", 2, "i32")],
  [0xfc010, step("table", 0, "i32")],
  [0xfc011, step("table", 3)]
])

/**
 * What an instruction with an effect takes and gives; `undefined` for all others, and for calls, writes of globals,
 * `memory.copy` and `memory.fill`, which have one or not.
 *
 * @category queries
 * @since 0.1.0
 */
export const opaqueStep = (opcode: number): OpaqueStep | undefined =>
  opcode >= 0xfe000 && opcode < 0xff000 ? atomicStep(opcode & 0xfff) : STEPS.get(opcode)

/** Operand counts of the threads proposal: notify, wait, loads, stores, read-modify-write, compare-exchange. */
const atomicStep = (sub: number): OpaqueStep => {
  const type = (wide: boolean): ValueType => (wide ? "i64" : "i32")
  if (sub === 3) return step("atomic", 0)
  if (sub === 0) return step("atomic", 2, "i32")
  if (sub === 1 || sub === 2) return step("atomic", 3, "i32")
  if (sub >= 0x10 && sub <= 0x16) return step("atomic", 1, type(sub === 0x11 || sub >= 0x14))
  if (sub >= 0x17 && sub <= 0x1d) return step("atomic", 2)
  const kind = (sub - 0x1e) % 7
  return step("atomic", sub >= 0x48 ? 3 : 2, type(kind === 1 || kind >= 4))
}
