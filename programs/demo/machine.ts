/**
 * What this machine has, measured now: threads, and what two of them give together.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { setTimeout } from "node:timers/promises"
import { NodeLanes } from "../../layers/node/lanes.ts"
import { measureCeiling } from "../commands/ceiling.ts"

/**
 * Throughput of two threads over that of one, or why there is no second thread.
 *
 * @category models
 * @since 0.1.0
 */
export type Ceiling = { readonly _tag: "measured"; readonly ratio: number } | {
  readonly _tag: "none"
  readonly reason: string
}

/** Milliseconds for a lane to come up. */
const patience = 5000

/**
 * Starts one lane, lets it and this thread do the same arithmetic, and ends it.
 *
 * @category measurement
 * @since 0.1.0
 */
export const ceiling = async (): Promise<Ceiling> => {
  const lanes = new NodeLanes({ lanes: 1 })
  try {
    lanes.start()
    for (let waited = 0; lanes.ready() === 0 && lanes.count > 0 && waited < patience; waited += 5) await setTimeout(5)
    const ratio = await Effect.runPromise(measureCeiling(lanes))
    const { reasons } = lanes.report()
    return ratio === undefined
      ? { _tag: "none", reason: reasons.at(-1) ?? "no second thread came up" }
      : { _tag: "measured", ratio }
  } finally {
    await lanes.close()
  }
}
