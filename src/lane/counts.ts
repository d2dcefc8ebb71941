/**
 * Counts of one instance: plain data that outlives it, so that a report needs not keep the instance alive.
 *
 * @since 0.1.0
 */
import { describeRefusal } from "../plan/refusal.ts"
import type { PlannedLoop } from "../plan/types.ts"
import type { Rung } from "./lanes.ts"

/**
 * Counts of one planned loop.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoopReport {
  readonly plan: number
  readonly functionIndex: number
  readonly functionName: string | undefined
  readonly offset: number
  readonly dispatches: number
  readonly iterations: number
  readonly aborts: number
  /** Executions that stayed native, by reason. */
  readonly declined: Readonly<Record<string, number>>
  /** Why its guard last refused an execution. */
  readonly refused: string | undefined
  /** Nanoseconds of a unit of work on one thread, as measured. */
  readonly nsPerUnit: number | undefined
  /** Milliseconds that the loop took less than one thread alone would have, by its own timings; below 0: more. */
  readonly gainedMs: number
}

/**
 * Counts of one instance.
 *
 * @category models
 * @since 0.1.0
 */
export interface AttachmentReport {
  readonly dispatches: number
  readonly iterations: number
  readonly aborts: number
  /** Most participants of one dispatch, the owner included; 0 before the first. */
  readonly lanesUsed: number
  readonly rung: Rung | undefined
  /** Why lanes cannot see the memory. */
  readonly unmapped: string | undefined
  /** The newest reason why an execution stayed native. */
  readonly reason: string | undefined
  readonly loops: ReadonlyArray<LoopReport>
  /** Whether lanes pay for the program, as far as it was judged. */
  readonly pays: boolean | undefined
}

type LoopCounts = { -readonly [Key in Exclude<keyof LoopReport, "declined">]: LoopReport[Key] } & {
  readonly declined: Record<string, number>
}

/**
 * Counts that grow.
 *
 * @category models
 * @since 0.1.0
 */
export class InstanceCounts {
  readonly loops: ReadonlyArray<LoopCounts>
  lanesUsed = 0
  rung: Rung | undefined
  unmapped: string | undefined
  reason: string | undefined
  pays: boolean | undefined
  readonly #refusals: (plan: number) => number

  /** `refusals` reads the word that a plan's guard has left, 0 where it is not known. */
  constructor(loops: ReadonlyArray<PlannedLoop>, refusals: (plan: number) => number) {
    this.#refusals = refusals
    this.loops = loops.map(({ functionIndex, functionName, index, offset }) => ({
      plan: index,
      functionIndex,
      functionName,
      offset,
      dispatches: 0,
      iterations: 0,
      aborts: 0,
      declined: {},
      refused: undefined,
      nsPerUnit: undefined,
      gainedMs: 0
    }))
  }

  /** Counts so far. */
  report(): AttachmentReport {
    const { lanesUsed, loops, pays, reason, rung, unmapped } = this
    const sum = (pick: (loop: LoopReport) => number): number => loops.reduce((n, loop) => n + pick(loop), 0)
    return {
      dispatches: sum((loop) => loop.dispatches),
      iterations: sum((loop) => loop.iterations),
      aborts: sum((loop) => loop.aborts),
      lanesUsed,
      rung,
      unmapped,
      reason,
      pays,
      loops: loops.map((loop) => ({
        ...loop,
        declined: { ...loop.declined },
        refused: describeRefusal(this.#refusals(loop.plan))
      }))
    }
  }
}
