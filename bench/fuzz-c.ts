/**
 * Generated C functions, compiled four ways, beside what becomes of them: on one thread in chosen orders and on real
 * lanes. Needs clang and wasm-ld. The campaign goes on where the last one ended, and an interrupted run from
 * `results/fuzz-c/progress.json`; a test compares a hundred functions that are committed as compiled.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { NodeEngine } from "../layers/node/engine.ts"
import type { Prepared } from "../src/plan/prepare.ts"
import { OnLanes, openLanes } from "../test/support/differential-lanes.ts"
import { C_FUNCTIONS, compareCModule } from "./fuzz/c-campaign.ts"
import { compilerVersions, compileSource, type Level, LEVELS } from "./fuzz/c-compile.ts"
import { generateSource } from "./fuzz/c-functions.ts"
import { addCounts, type Counts, noCounts } from "./fuzz/campaign.ts"
import { Choices } from "./fuzz/choices.ts"
import { campaignVersion, collectGarbage, firstSeed, joinedRanges, knownRanges, type SeedRange } from "./fuzz/ranges.ts"
import { check, type Instrument, Unavailable } from "./lib/instrument.ts"
import { root } from "./lib/sources.ts"

/**
 * Raw samples of the campaign. The `mode` of a range is a level, with `, lanes` behind it where real lanes ran.
 *
 * @category models
 * @since 0.1.0
 */
export interface FuzzCSamples {
  readonly compiler: string
  readonly ranges: ReadonlyArray<SeedRange>
}

const folder = join(root, "results", "fuzz-c")
const progressFile = join(folder, "progress.json")
const levels = Object.keys(LEVELS) as ReadonlyArray<Level>

/** Seeds of a long and of a quick run, each of them at every level; the first so many of them on lanes, too. */
const SEEDS = { long: { order: 1_000, lanes: 200 }, quick: { order: 24, lanes: 8 } } as const

/** Seeds between two notes of how far the run has come. */
const STRIDE = 20

type Compiled = Readonly<Record<Level, Uint8Array<ArrayBuffer>>>

const compileSeed = async (seed: number): Promise<Compiled> => {
  const { text } = generateSource(new Choices(seed), C_FUNCTIONS)
  const modules = await Promise.all(levels.map(async (level) => [level, await compileSource(text, level)] as const))
  return Object.fromEntries(modules) as Compiled
}

/** Compares one seed at every level; a range of one seed each. */
const compareSeed = (
  seed: number,
  compiled: Compiled,
  sources: string,
  lanes?: NodeEngine
): ReadonlyArray<SeedRange> => {
  const { functions } = generateSource(new Choices(seed), C_FUNCTIONS)
  return levels.map((level): SeedRange => {
    let twin: OnLanes | undefined
    const provide = lanes === undefined ? [] : [(prepared: Prepared) => twin = new OnLanes(lanes, prepared)]
    const mode = lanes === undefined ? level : `${level}, lanes`
    const result = compareCModule(`seed ${seed}, ${mode}`, compiled[level], functions, seed, ...provide)
    twin?.close()
    for (const failure of result.failures) console.log(failure)
    return { mode, from: seed, to: seed, sources, ...result }
  })
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<FuzzCSamples> = {
  claim: "compiled C functions leave the same bytes, globals, results and traps behind, apart and in any order",
  measure: async ({ quick }) => {
    const versions = compilerVersions()
    if (typeof versions === "string") throw new Unavailable(versions)
    const sources = campaignVersion("bench/fuzz/c-campaign.ts")
    const lanes = await openLanes()
    let ranges = joinedRanges(knownRanges(existsSync(progressFile) ? progressFile : join(folder, "samples.json")))
    const seeds = SEEDS[quick ? "quick" : "long"]
    const first = firstSeed(ranges, levels[0])
    const last = first + seeds.order - 1
    try {
      let next = compileSeed(first)
      for (let seed = first; seed <= last; seed++) {
        const compiled = await next
        // The compiler works on the next seed while this one is compared.
        if (seed < last) next = compileSeed(seed + 1)
        const onLanes = typeof lanes !== "string" && seed < first + seeds.lanes
        ranges = joinedRanges([
          ...ranges,
          ...compareSeed(seed, compiled, sources),
          ...(onLanes ? compareSeed(seed, compiled, sources, lanes) : [])
        ])
        if (seed % STRIDE !== 0) continue
        await collectGarbage()
        if (quick) continue
        mkdirSync(folder, { recursive: true })
        writeFileSync(progressFile, JSON.stringify({ ranges }))
      }
    } finally {
      if (typeof lanes !== "string") await lanes.close()
    }
    if (!quick) rmSync(progressFile, { force: true })
    return { compiler: `${versions.clang}; ${versions.linker}`, ranges }
  },
  summarise: ({ compiler, ranges }) => {
    const sum = (of: ReadonlyArray<SeedRange>): Counts =>
      of.reduce((all, { counts }) => addCounts(all, counts), noCounts)
    const share = ({ apart, calls }: Counts): number => apart / Math.max(1, calls)
    const all = sum(ranges)
    const onLanes = sum(ranges.filter(({ mode }) => mode.endsWith("lanes")))
    const inOrder = sum(ranges.filter(({ mode }) => !mode.endsWith("lanes")))
    return {
      figure: all.comparisons,
      unit: "comparisons without a difference",
      checks: [
        check("differences", ranges.reduce((count, { failures }) => count + failures.length, 0), { atMost: 0 }),
        check("share of calls that ran apart", share(inOrder), { atLeast: 0.5 })
      ],
      rows: {
        compiler,
        functions: inOrder.functions,
        "functions with a planned loop": inOrder.planned,
        "calls in chosen orders": inOrder.calls,
        "share apart, by level": Object.fromEntries(
          levels.map((level) => [level, share(sum(ranges.filter(({ mode }) => mode === level)))])
        ),
        "loop executions apart": all.dispatches,
        "loop executions undone": all.aborts,
        "calls on real lanes": onLanes.calls,
        "share of these apart": share(onLanes),
        seeds: ranges.map(({ from, mode, sources, to }) => `${mode} ${from}–${to} with ${sources.slice(0, 12)}`),
        differences: ranges.flatMap(({ failures }) => failures)
      }
    }
  }
}
