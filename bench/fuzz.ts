/**
 * Generated modules beside what becomes of them, on one thread in chosen orders and on real lanes: a campaign that goes
 * on where the last one ended. Every seed ever compared is in the samples, with the version of generator and compiler.
 *
 * A long run that is interrupted goes on from `results/fuzz/progress.json`.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import type { NodeEngine } from "../layers/node/engine.ts"
import type { Prepared } from "../src/plan/prepare.ts"
import { OnLanes, openLanes } from "../test/support/differential-lanes.ts"
import { addCounts, compareSeed, type Counts, type Mode, noCounts } from "./fuzz/campaign.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { root, sourceHashes } from "./lib/sources.ts"

/**
 * Seeds that were compared in one way with one version of the compiler.
 *
 * @category models
 * @since 0.1.0
 */
export interface SeedRange {
  readonly mode: Mode | "lanes"
  readonly from: number
  /** The last one, included. */
  readonly to: number
  /** sha256 over the sources of generator, analysis, plan, transforms and lanes: another one makes other modules. */
  readonly sources: string
  readonly counts: Counts
  readonly failures: ReadonlyArray<string>
}

/**
 * Raw samples of the campaign.
 *
 * @category models
 * @since 0.1.0
 */
export interface FuzzSamples {
  readonly ranges: ReadonlyArray<SeedRange>
}

const folder = join(root, "results", "fuzz")
const progressFile = join(folder, "progress.json")

/** One hash over the generator and everything that preparing and dispatching reach. */
const sourcesVersion = (): string => {
  const entries = ["src/plan/prepare.ts", "src/lane/attachment.ts", "src/lane/runner.ts", "bench/fuzz/campaign.ts"]
  const hashes = Object.assign({}, ...entries.map((file) => sourceHashes(join(root, file)))) as Record<string, string>
  return createHash("sha256").update(JSON.stringify(Object.entries(hashes).sort())).digest("hex")
}

/** Seeds of a long and of a quick run; a test compares the first 500 each time. */
const SEEDS: Readonly<Record<"long" | "quick", Readonly<Record<SeedRange["mode"], number>>>> = {
  long: { order: 5_000, abort: 1_000, refuse: 500, lanes: 1_000 },
  quick: { order: 400, abort: 100, refuse: 50, lanes: 100 }
}

/** Seeds between two notes of how far the run has come. */
const STRIDE = 100

const known = (file: string): ReadonlyArray<SeedRange> => {
  if (!existsSync(file)) return []
  const content = JSON.parse(readFileSync(file, "utf8")) as { readonly samples?: FuzzSamples } & Partial<FuzzSamples>
  // What differed has been mended since, or is compared again.
  return ((content.samples ?? content).ranges ?? []).filter(({ failures }) => failures.length === 0)
}

/** The first seed that was not compared in a way. */
const firstSeed = (ranges: ReadonlyArray<SeedRange>, mode: SeedRange["mode"]): number => {
  let seed = 1
  for (let moved = true; moved;) {
    moved = false
    for (const { from, mode: own, to } of ranges) {
      if (own !== mode || from > seed || to < seed) continue
      seed = to + 1
      moved = true
    }
  }
  return seed
}

/** Ranges one behind the other with the same compiler as one. */
const joined = (ranges: ReadonlyArray<SeedRange>): ReadonlyArray<SeedRange> => {
  const result: Array<SeedRange> = []
  for (const range of ranges) {
    const at = result.findIndex((one) =>
      one.mode === range.mode && one.sources === range.sources && one.to + 1 === range.from
    )
    if (at < 0) result.push(range)
    else {
      const one = result[at]
      result[at] = {
        ...one,
        to: range.to,
        counts: addCounts(one.counts, range.counts),
        failures: [...one.failures, ...range.failures]
      }
    }
  }
  return result
}

/** Collects garbage: a process can map a limited number of memories, and those of compared instances go with them. */
const collect = async (): Promise<void> => {
  setFlagsFromString("--expose-gc")
  const gc = runInNewContext("gc") as () => void
  gc()
  await new Promise((resolve) => setImmediate(resolve))
  gc()
  await new Promise((resolve) => setImmediate(resolve))
}

type Compare = (seed: number) => { readonly counts: Counts; readonly failures: ReadonlyArray<string> }

const compareRange = (
  mode: SeedRange["mode"],
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
    const sources = sourcesVersion()
    const lanes = await openLanes()
    let ranges = joined(existsSync(progressFile) ? known(progressFile) : known(join(folder, "samples.json")))
    try {
      for (const [name, seeds] of Object.entries(SEEDS[quick ? "quick" : "long"])) {
        const mode = name as SeedRange["mode"]
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
          ranges = joined([...ranges, compareRange(mode, from, to, sources, compare)])
          if (mode === "lanes") await collect()
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
    const of = (mode: SeedRange["mode"]): Counts =>
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
