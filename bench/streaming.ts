/**
 * Memory traffic: one mix for every word of 256 MiB, on two threads.
 */
import { distribution, median, ratios } from "../programs/measure/statistics.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { type KernelSamples, measureKernel } from "./lib/kernel-claim.ts"

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<KernelSamples> = {
  claim: "a memory-bound loop over 256 MiB reaches 0.93 of what a split by hand reaches",
  measure: ({ quick }) =>
    measureKernel(
      {
        module: "streaming.wasm",
        sharedModule: "streaming-shared.wasm",
        entry: "stream",
        words: 64 * 2 ** 20,
        rest: []
      },
      { rounds: quick ? 11 : 31, warmups: 3 }
    ),
  summarise: ({ comparedBytes, dispatches, firstCallMs, planned, reason, rounds, rung, unequalRounds }) => {
    const { folio, native, split } = rounds
    const share = median(ratios(split.wallMs, folio.wallMs))
    return {
      figure: share,
      unit: "of the two-thread ceiling",
      checks: [
        check("share of the ceiling", share, { atLeast: 0.93 }),
        check("rounds with another byte", unequalRounds, { atMost: 0 }),
        check("dispatches", dispatches, { atLeast: folio.wallMs.length })
      ],
      rows: {
        "native ms": distribution(native.wallMs),
        "Folio ms": distribution(folio.wallMs),
        "split by hand ms": distribution(split.wallMs),
        "speed-up": distribution(ratios(native.wallMs, folio.wallMs)),
        ceiling: distribution(ratios(native.wallMs, split.wallMs)),
        "GiB/s read and written": {
          native: 0.5 / (median(native.wallMs) / 1000),
          folio: 0.5 / (median(folio.wallMs) / 1000),
          split: 0.5 / (median(split.wallMs) / 1000)
        },
        "processor time, Folio/native": median(ratios(folio.cpuMs, native.cpuMs)),
        "first call ms": firstCallMs,
        "compared bytes": comparedBytes,
        plan: { planned, dispatches, rung, reason }
      }
    }
  }
}
