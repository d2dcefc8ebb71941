/**
 * Generated modules beside what becomes of them, on one thread in chosen orders and on real lanes: a campaign that goes
 * on where the last one ended. Every seed ever compared is in the samples, with the version of generator and compiler.
 *
 * A long run that is interrupted goes on from `results/fuzz/progress.json`.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { NodeEngine } from "../layers/node/engine.ts"
import type { Prepared } from "../src/plan/prepare.ts"
import { OnLanes, openLanes } from "../test/support/differential-lanes.ts"
import { addCounts, compareSeed, type Counts, type Mode, noCounts } from "./fuzz/campaign.ts"
import { campaignVersion, collectGarbage, firstSeed, joinedRanges, knownRanges, type SeedRange } from "./fuzz/ranges.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { root } from "./lib/sources.ts"

/**
 * Raw samples of the campaign.
 *
 * @category models
 * @since 0.1.0
 */
export interface FuzzSamples {
  readonly ranges: ReadonlyArray<SeedRange>
}

/** Chunks in a chosen way on one thread, or on real lanes. */
type Way = Mode | "lanes"

const folder = join(root, "results", "fuzz")
const progressFile = join(folder, "progress.json")

/** Seeds of a long and of a quick run; a test compares the first 500 each time. */
const SEEDS: Readonly<Record<"long" | "quick", Readonly<Record<Way, number>>>> = {
  long: { order: 5_000, abort: 1_000, refuse: 500, lanes: 1_000 },
  quick: { order: 400, abort: 100, refuse: 50, lanes: 100 }
}

/** Seeds between two notes of how far the run has come. */
const STRIDE = 100

type Compare = (seed: number) => { readonly counts: Counts; readonly failures: ReadonlyArray<string> }

const compareRange = (
  mode: Way,
  from: number,
  to: number,
  sources: string,
  compare: Compare
): SeedRange => {
  let counts = noCounts
  const failures: Array<string> = []
  for (let seed = from; seed <= to; seed++) {
    const one = compare(seed)
    counts = addCounts(counts, one.counts)
    failures.push(...one.failures)
    for (const failure of one.failures) console.log(failure)
  }
  return { mode, from, to, sources, counts, failures }
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<FuzzSamples> = {
  claim: "generated functions leave the same bytes, globals, results and traps behind, apart and in any order",
  measure: async ({ quick }) => {
    const sources = campaignVersion("bench/fuzz/campaign.ts")
    const lanes = await openLanes()
    let ranges = joinedRanges(
      existsSync(progressFile) ? knownRanges(progressFile) : knownRanges(join(folder, "samples.json"))
    )
    try {
      for (const [name, seeds] of Object.entries(SEEDS[quick ? "quick" : "long"])) {
        const mode = name as Way
        if (mode === "lanes" && typeof lanes === "string") continue
        const compare: Compare = mode !== "lanes" ? (seed) => compareSeed(seed, mode) : (seed) => {
          let twin: OnLanes | undefined
          const provide = (prepared: Prepared): OnLanes => twin = new OnLanes(lanes as NodeEngine, prepared)
          const one = compareSeed(seed, "order", provide)
          twin?.close()
          return one
        }
        const first = firstSeed(ranges, mode)
        for (let from = first; from < first + seeds; from += STRIDE) {
          const to = Math.min(from + STRIDE, first + seeds) - 1
          ranges = joinedRanges([...ranges, compareRange(mode, from, to, sources, compare)])
          if (mode === "lanes") await collectGarbage()
          if (quick) continue
          mkdirSync(folder, { recursive: true })
          writeFileSync(progressFile, JSON.stringify({ ranges }))
        }
      }
    } finally {
      if (typeof lanes !== "string") await lanes.close()
    }
    if (!quick) rmSync(progressFile, { force: true })
    return { ranges }
  },
  summarise: ({ ranges }) => {
    const of = (mode: Way): Counts =>
      ranges.filter((one) => one.mode === mode).reduce((sum, one) => addCounts(sum, one.counts), noCounts)
    const all = ranges.reduce((sum, one) => addCounts(sum, one.counts), noCounts)
    const order = of("order")
    return {
      figure: all.comparisons,
      unit: "comparisons without a difference",
      checks: [
        check("differences", ranges.reduce((sum, one) => sum + one.failures.length, 0), { atMost: 0 }),
        check("share of calls that ran apart", order.apart / Math.max(1, order.calls), { atLeast: 0.5 })
      ],
      rows: {
        functions: all.functions,
        "functions with a planned loop": all.planned,
        "calls in chosen orders": order.calls,
        "of them apart": order.apart,
        "loop executions apart": all.dispatches,
        "loop executions undone": all.aborts,
        "calls on real lanes": of("lanes").calls,
        "of these apart": of("lanes").apart,
        seeds: ranges.map(({ from, mode, sources, to }) => `${mode} ${from}–${to} with ${sources.slice(0, 12)}`),
        differences: ranges.flatMap(({ failures }) => failures)
      }
    }
  }
}
