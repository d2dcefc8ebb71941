/**
 * Arithmetic: 4096 words, each mixed 32,768 times in a register, on two threads.
 */
import { distribution, median, ratios } from "../programs/measure/statistics.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { type KernelSamples, measureKernel } from "./lib/kernel-claim.ts"

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<KernelSamples> = {
  claim: "a compute-bound loop on two threads reaches 0.98 of what a split by hand reaches, for 1.02 of the work",
  measure: ({ quick }) =>
    measureKernel(
      {
        module: "compute.wasm",
        sharedModule: "compute-shared.wasm",
        entry: "compute",
        words: 4096,
        rest: [32_768]
      },
      { rounds: quick ? 7 : 21, warmups: 3 }
    ),
  summarise: ({ comparedBytes, dispatches, firstCallMs, planned, reason, rounds, rung, unequalRounds }) => {
    const { folio, native, split } = rounds
    const share = median(ratios(split.wallMs, folio.wallMs))
    return {
      figure: share,
      unit: "of the two-thread ceiling",
      checks: [
        check("share of the ceiling", share, { atLeast: 0.98 }),
        check("processor time, Folio/native", median(ratios(folio.cpuMs, native.cpuMs)), { atMost: 1.02 }),
        check("rounds with another byte", unequalRounds, { atMost: 0 }),
        check("dispatches", dispatches, { atLeast: folio.wallMs.length })
      ],
      rows: {
        "native ms": distribution(native.wallMs),
        "Folio ms": distribution(folio.wallMs),
        "split by hand ms": distribution(split.wallMs),
        "speed-up": distribution(ratios(native.wallMs, folio.wallMs)),
        ceiling: distribution(ratios(native.wallMs, split.wallMs)),
        "processor time, split by hand/native": median(ratios(split.cpuMs, native.cpuMs)),
        "first call ms": firstCallMs,
        "compared bytes": comparedBytes,
        plan: { planned, dispatches, rung, reason }
      }
    }
  }
}
