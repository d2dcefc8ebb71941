/**
 * Comparing generated modules with what becomes of them, seed by seed.
 */
import { NEVER, thresholdName } from "../../src/plan/hidden.ts"
import { prepare, type Prepared } from "../../src/plan/prepare.ts"
import type { PlannedLoop } from "../../src/plan/types.ts"
import { LaneFault } from "../../test/support/differential-faults.ts"
import {
  Apart,
  compareCall,
  describeMismatch,
  Guest,
  type Split,
  type Tally,
  type Twin
} from "../../test/support/differential.ts"
import { chooseCall, fillImage, type GeneratedCall } from "./arguments.ts"
import { Choices } from "./choices.ts"
import { FIRST_FUNCTION, type GeneratedModule, generateModule } from "./modules.ts"

/**
 * How chunks run: in chosen orders; so that every dispatch is undone; so that none is let through.
 *
 * @category models
 * @since 0.1.0
 */
export type Mode = "order" | "abort" | "refuse"

/**
 * Counts of one or more seeds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Counts {
  readonly functions: number
  /** Functions with a planned loop: only they are called. */
  readonly planned: number
  readonly calls: number
  /** Comparisons of one call with one split. */
  readonly comparisons: number
  /** Calls in which a loop ran apart to its end. */
  readonly apart: number
  readonly dispatches: number
  readonly aborts: number
}

/** No seed at all. @category constants @since 0.1.0 */
export const noCounts: Counts = {
  functions: 0,
  planned: 0,
  calls: 0,
  comparisons: 0,
  apart: 0,
  dispatches: 0,
  aborts: 0
}

/** Sums. @category arithmetic @since 0.1.0 */
export const addCounts = (x: Counts, y: Counts): Counts => ({
  functions: x.functions + y.functions,
  planned: x.planned + y.planned,
  calls: x.calls + y.calls,
  comparisons: x.comparisons + y.comparisons,
  apart: x.apart + y.apart,
  dispatches: x.dispatches + y.dispatches,
  aborts: x.aborts + y.aborts
})

/**
 * What came out of one seed.
 *
 * @category models
 * @since 0.1.0
 */
export interface SeedResult {
  readonly counts: Counts
  /** What differs, or was thrown, a line each. */
  readonly failures: ReadonlyArray<string>
}

/** Functions of a generated module. @category constants @since 0.1.0 */
export const FUNCTIONS = 4

/** Calls of each. */
const CALLS = 5

const image = new Uint8Array(65_536)

/** The call of a seed by its numbers, with its memory in {@link image}; `undefined` where no arguments were found. */
export const generatedCall = (
  module: GeneratedModule,
  functionNumber: number,
  callNumber: number
): { readonly call: GeneratedCall; readonly image: Uint8Array; readonly splits: ReadonlyArray<Split> } | undefined => {
  const choices = new Choices(module.seed).of(`call ${functionNumber} ${callNumber}`)
  const call = chooseCall(choices, module.functions[functionNumber])
  if (call === undefined) return undefined
  fillImage(image, call, (seed) => new Choices(seed))
  return {
    call,
    image,
    splits: [
      { order: "reverse", width: 2 + choices.below(6) },
      { order: choices.bits(), width: choices.pick([2, 3, 5, 32]) },
      { order: "forward", width: 4 }
    ]
  }
}

/** Closes the loops that cannot be undone: no dispatch of them may fail. */
const onlyAbortable = (apart: Apart, loops: ReadonlyArray<PlannedLoop>): void => {
  for (const { index, tier } of loops) {
    if (tier === "abortable") continue
    const threshold = apart.guest.exports[thresholdName(index)] as WebAssembly.Global
    threshold.value = NEVER
  }
}

const plannedLoops = (prepared: Prepared): ReadonlyArray<PlannedLoop> =>
  prepared.plan.loops.filter((loop): loop is PlannedLoop => loop._tag === "planned")

/** Makes the module that is compared, or says why it cannot be made. */
const open = (
  module: GeneratedModule,
  mode: Mode
): { readonly prepared: Prepared; readonly twin: Twin } | undefined => {
  const prepared = prepare(module.bytes)
  if (prepared.guest === undefined) return undefined
  if (!prepared.chunks.every((chunk) => WebAssembly.validate(chunk as BufferSource))) {
    throw new TypeError("a chunk module is not valid")
  }
  const apart = new Apart(prepared, mode === "order" ? {} : { lanes: (lanes) => new LaneFault(lanes, mode) })
  if (mode === "abort") onlyAbortable(apart, plannedLoops(prepared))
  return { prepared, twin: apart }
}

/**
 * Compares every planned function of a seed's module. `provide` gives another twin than chunks in order, real lanes
 * for one.
 */
export const compareSeed = (
  seed: number,
  mode: Mode = "order",
  provide?: (prepared: Prepared) => Twin
): SeedResult => {
  const module = generateModule(seed, FUNCTIONS)
  const failures: Array<string> = []
  let counts: Counts = { ...noCounts, functions: FUNCTIONS }
  let opened: ReturnType<typeof open>
  try {
    opened = open(module, mode)
  } catch (error) {
    return {
      counts,
      failures: [`seed ${seed}: ${error instanceof Error ? error.stack ?? error.message : String(error)}`]
    }
  }
  if (opened === undefined) return { counts, failures }
  const twin = provide?.(opened.prepared) ?? opened.twin
  const original = new Guest(new WebAssembly.Module(module.bytes))
  const planned = new Set(plannedLoops(opened.prepared).map((loop) => loop.functionIndex))
  for (let f = 0; f < FUNCTIONS; f++) {
    if (!planned.has(FIRST_FUNCTION + f)) continue
    counts = { ...counts, planned: counts.planned + 1 }
    for (let n = 0; n < CALLS; n++) {
      const generated = generatedCall(module, f, n)
      if (generated === undefined) continue
      const tally: Tally = compareCall(original, twin, generated.image, generated.call, generated.splits)
      counts = addCounts(counts, {
        ...noCounts,
        calls: 1,
        comparisons: generated.splits.length,
        apart: tally.apart > 0 ? 1 : 0,
        dispatches: tally.dispatches,
        aborts: tally.aborts
      })
      if (tally.mismatch !== undefined) {
        failures.push(`seed ${seed}, function ${f}, call ${n}, ${mode}: ${describeMismatch(tally.mismatch)}`)
        // A broken dispatcher or lost lane says nothing about the calls behind it.
        if (twin.broken()) return { counts, failures }
      }
    }
  }
  return { counts, failures }
}
