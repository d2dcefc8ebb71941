/**
 * What a task costs on this machine: round trips of single tasks, and how many small ones end in a second.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as NodeTasks from "../../layers/node/NodeTasks.ts"
import { moduleUrl } from "../../layers/node/require.ts"
import { Tasks } from "../../services/Tasks.ts"
import { median } from "./statistics.ts"

/**
 * One number a round.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskSamples {
  /** Microseconds of a task that is submitted and joined alone: the median of a round. */
  readonly roundTripUs: ReadonlyArray<number>
  /** Tasks that end in a second when many are submitted at once. */
  readonly perSecond: ReadonlyArray<number>
}

const TRIPS = 200
const AT_ONCE = 4_000
const WARMUP = 3

/**
 * Measures tasks that add one, on so many lanes. A wrong result is a defect. `told` hears of every round.
 *
 * @category measuring
 * @since 0.1.0
 */
export const measureTasks = (lanes: number, rounds: number, told: (round: number) => void = () => {}) =>
  Effect.gen(function*() {
    const { join, map, submit } = yield* Tasks
    const inputs = Array.from({ length: AT_ONCE }, (_, index) => index)
    const samples = { roundTripUs: new Array<number>(), perSecond: new Array<number>() }
    for (let round = -WARMUP; round < rounds; round++) {
      told(round + WARMUP)
      const trips: Array<number> = []
      for (let trip = 0; trip < TRIPS; trip++) {
        const begin = performance.now()
        const output = yield* Effect.flatMap(submit("next", trip), join)
        trips.push((performance.now() - begin) * 1_000)
        if (output !== trip + 1) return yield* Effect.dieMessage("a task gave a wrong result")
      }
      const begin = performance.now()
      const outputs = yield* map("next", inputs)
      const ms = performance.now() - begin
      if (outputs.some((output, index) => output !== index + 1)) return yield* Effect.dieMessage("a wrong result")
      if (round < 0) continue
      samples.roundTripUs.push(median(trips))
      samples.perSecond.push(AT_ONCE / ms * 1_000)
    }
    return samples
  }).pipe(Effect.provide(NodeTasks.layer({ program: moduleUrl("../../programs/measure/next-task"), lanes })))
