/**
 * What a region under construction is made of: its caps, functions on the way, open labels, and states at branches.
 *
 * @since 0.1.0
 */
import type { InstructionReader } from "../binary/instruction.ts"
import type { FunctionType, ValueType } from "../binary/module.ts"
import type { CodeIndex } from "./code-index.ts"
import type { Summaries } from "./summary.ts"

/**
 * Why a region could not be turned into a graph.
 *
 * @category errors
 * @since 0.1.0
 */
export class RegionTooLarge extends Error {
  readonly _tag = "RegionTooLarge"
}

/**
 * Caps on the symbolic state of one region.
 *
 * @category models
 * @since 0.1.0
 */
export interface RegionLimits {
  /** Most nodes of a graph. */
  readonly nodes: number
  /** Which callees are followed; `undefined`: none. */
  readonly summaries: Summaries | undefined
  /** Loops of the module's functions. */
  readonly index: CodeIndex
}

/**
 * What belongs to one function on the way through the code: the region's own, or a callee that is followed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Context {
  readonly functionIndex: number
  readonly types: ReadonlyArray<ValueType>
  readonly functionType: FunctionType
  /** Locals that have a slot: those that the region writes, and all of a callee's. */
  readonly assigned: ReadonlyArray<number>
  /** Slot of a local, -1 when it has none; `undefined`: each has its own number. */
  readonly slotOf: Int32Array | undefined
  readonly reader: InstructionReader
  /** Frames below this one belong to callers. */
  readonly base: number
}

/**
 * The state at a branch, for the block that it reaches.
 *
 * @category models
 * @since 0.1.0
 */
export interface Snapshot {
  readonly block: number
  readonly locals: ReadonlyArray<number>
  readonly globals: ReadonlyMap<number, number>
  readonly values: ReadonlyArray<number>
  readonly kind: "jump" | "true" | "false" | "case"
}

/**
 * An open label.
 *
 * @category models
 * @since 0.1.0
 */
export interface Frame {
  readonly kind: "block" | "loop" | "if"
  readonly height: number
  readonly params: ReadonlyArray<ValueType>
  readonly results: ReadonlyArray<ValueType>
  readonly branches: Array<Snapshot>
  readonly loop: number
  elseState: Snapshot | undefined
}
