/**
 * What it costs to hand a chunk that does nothing to a lane and to wait for it: with a lane that polls, and with one
 * that sleeps and must be woken by the system.
 */
import { NodeLanes } from "../layers/node/lanes.ts"
import { compileOptimised } from "../layers/node/optimised.ts"
import { sharedMapping } from "../layers/node/shared.ts"
import { distribution, median, percentile } from "../programs/measure/statistics.ts"
import { FRAME_BYTE } from "../src/lane/control.ts"
import { empty } from "./fixtures/lanes/chunks.ts"
import { check, type Instrument } from "./lib/instrument.ts"

/**
 * Raw samples: microseconds of a round trip.
 *
 * @category models
 * @since 0.1.0
 */
export interface LatencySamples {
  /** Means of batches of {@link LatencySamples.batch} round trips. */
  readonly hotUs: ReadonlyArray<number>
  readonly batch: number
  /** Single round trips. */
  readonly sleepingUs: ReadonlyArray<number>
  readonly placed: boolean
}

const pause = new Int32Array(new SharedArrayBuffer(4))

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<LatencySamples> = {
  claim: "handing a chunk to a lane that polls, and joining it, takes at most 1 µs",
  measure: async ({ quick }) => {
    const group = new NodeLanes({ lanes: 1 })
    try {
      group.start()
      if (group.waitUntilReady(10_000) === 0) throw new Error(group.report().reasons.join("; "))
      const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
      const kernel = { slot: 0, module: compileOptimised(empty({ pages: 1 })) }
      const mapping = sharedMapping(memory, "shared-fixed")
      if (!mapping.ensure() || !group.load(kernel, mapping)) throw new Error(group.report().reasons.join("; "))
      const roundTrip = (): void => {
        group.fork(0, kernel.slot, 0, 0, FRAME_BYTE)
        if (group.join(0) !== "done") throw new Error("the lane did not finish")
      }
      const batch = 1_000
      const timed = (trips: number): number => {
        const start = performance.now()
        for (let trip = 0; trip < trips; trip++) roundTrip()
        return (performance.now() - start) * 1000 / trips
      }
      for (let warmup = 0; warmup < 20; warmup++) timed(batch)
      const hotUs = Array.from({ length: quick ? 100 : 1_000 }, () => timed(batch))
      const sleepingUs = Array.from({ length: quick ? 100 : 500 }, () => {
        while (group.hot() > 0) Atomics.wait(pause, 0, 0, 1)
        return timed(1)
      })
      return { hotUs, batch, sleepingUs, placed: group.report().placed }
    } finally {
      await group.close()
    }
  },
  summarise: ({ batch, hotUs, placed, sleepingUs }) => ({
    figure: median(hotUs),
    unit: "µs a round trip",
    checks: [check("round trip with a lane that polls, µs", median(hotUs), { atMost: 1 })],
    rows: {
      [`polling lane, µs (means of ${batch})`]: { ...distribution(hotUs), p95: percentile(hotUs, 95) },
      "sleeping lane, µs": { ...distribution(sleepingUs), p95: percentile(sleepingUs, 95) },
      placed
    }
  })
}
