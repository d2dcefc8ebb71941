/**
 * Preparation: from a module's bytes to its plan and the modules that carry it out.
 *
 * @since 0.1.0
 */
import { buildRegion } from "../analysis/build.ts"
import { CodeIndex } from "../analysis/code-index.ts"
import { functionFlow } from "../analysis/flow.ts"
import type { Graph } from "../analysis/graph.ts"
import { AnalysisBudgetExceeded } from "../analysis/induction.ts"
import { loopLiveness } from "../analysis/liveness.ts"
import { RegionTooLarge } from "../analysis/region.ts"
import type { LoopShape } from "../analysis/scan.ts"
import { scanLoops } from "../analysis/scan.ts"
import { Summaries } from "../analysis/summary.ts"
import type { ValueType, WasmModule } from "../binary/module.ts"
import { decodeModule, localTypes, ModuleFormatError } from "../binary/module.ts"
import { chunkModule } from "../transform/chunk.ts"
import type { GuardPlan } from "../transform/guard.ts"
import { guardModule, instructionCounts } from "../transform/guard.ts"
import { guestModule, usesHiddenNames } from "../transform/guest.ts"
import { Budget, type BudgetOptions } from "./budget.ts"
import { uncountableAnyway } from "./counting.ts"
import { FRAME_SLOTS, frameLayout, MAXIMUM_REDUCTIONS } from "./frame.ts"
import type { LoopFacts } from "./loop.ts"
import { loopFacts } from "./loop.ts"
import type { Mechanism } from "./mechanisms.ts"
import { allMechanisms } from "./mechanisms.ts"
import { analysisOrder, coldness, type LoopShares } from "./order.ts"
import { Screening } from "./screening.ts"
import { isAlwaysShort } from "./short.ts"
import type { MemoryFacts, Obligation, Plan, PlannedLoop, Reason, ReasonCode, RefusedLoop } from "./types.ts"
import { PLAN_VERSION } from "./types.ts"

/**
 * How to prepare.
 *
 * @category models
 * @since 0.1.0
 */
export interface PrepareOptions extends BudgetOptions {
  /** A plan of what was seen is of no use: where the budget ends the analysis, nothing is emitted. */
  readonly allOrNothing?: boolean
  /** Told how many functions have been seen, before each. */
  readonly progress?: (seen: number, of: number) => void
  /**
   * Where a run spent its instructions. The hottest loops are analysed first, and those below {@link MINIMUM_SHARE} are
   * refused as `profile`.
   */
  readonly profile?: LoopShares
  /** Most planned loops of one module. */
  readonly maximumPlans?: number
  /**
   * Makes an owned memory whose minimum is its maximum shared, so that lanes see it without any mapping. The program
   * then sees a `SharedArrayBuffer` where it had an `ArrayBuffer`.
   */
  readonly sharedFixed?: boolean
  /** What may be used beyond the plain counted loop; all of it by default. */
  readonly mechanisms?: ReadonlyArray<Mechanism>
  /** Drops what an obligation makes guard or chunk do. For mutation tests: the result may be wrong. */
  readonly omit?: (obligation: Obligation, plan: number) => boolean
}

/**
 * A plan with its modules. `guest` and `guard` are `undefined` when nothing was planned: the original bytes run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Prepared {
  readonly plan: Plan
  readonly guest: Uint8Array | undefined
  readonly guard: Uint8Array | undefined
  /** One chunk module a planned loop, by its index. */
  readonly chunks: ReadonlyArray<Uint8Array>
}

/** Loops with more instructions are left alone. */
const MAXIMUM_INSTRUCTIONS = 20_000

/** Values in the graph of one loop. */
const MAXIMUM_NODES = 40_000

const DEFAULT_MAXIMUM_PLANS = 1_000

interface Candidate extends GuardPlan {
  readonly functionIndex: number
  readonly shape: LoopShape
  readonly chunk: Uint8Array
}

/**
 * Prepares a module. Refusals are data; only bytes that are no module throw (`ModuleFormatError`).
 *
 * @category planning
 * @since 0.1.0
 */
export const prepare = (bytes: Uint8Array, options: PrepareOptions = {}): Prepared => {
  const module = decodeModule(bytes)
  const refusal = moduleRefusal(module)
  if (refusal !== undefined) {
    return { plan: planOf(module, [], refusal, true), guest: undefined, guard: undefined, chunks: [] }
  }
  const omit = options.omit ?? (() => false)
  const [memory] = module.memories
  const rewritten = options.sharedFixed === true && memory.import === undefined && !memory.shared &&
    memory.max === memory.min
  const sharedMaximum = memory.shared || rewritten ? memory.max : undefined
  const budget = new Budget(options)
  const mechanisms = options.mechanisms === undefined ? allMechanisms : new Set(options.mechanisms)
  const summaries = mechanisms.has("calls") ? new Summaries(module) : undefined
  const code = new CodeIndex(module)
  const records: Array<PlannedLoop | RefusedLoop> = []
  const candidates: Array<Candidate> = []
  const maximumPlans = options.maximumPlans ?? DEFAULT_MAXIMUM_PLANS
  const order = analysisOrder(module, options.profile)
  for (const [position, index] of order.entries()) {
    options.progress?.(position, order.length)
    if (budget.spent !== undefined && options.allOrNothing === true) break
    planFunction(
      module,
      index,
      summaries,
      code,
      sharedMaximum,
      mechanisms,
      omit,
      records,
      candidates,
      maximumPlans,
      budget,
      options.profile
    )
  }
  if (options.profile !== undefined) records.sort((a, b) => a.offset - b.offset)
  const plan = planOf(module, records, undefined, budget.spent === undefined)
  if (candidates.length === 0 || (!plan.complete && options.allOrNothing === true)) {
    return { plan, guest: undefined, guard: undefined, chunks: [] }
  }
  const guard = guardModule(module, candidates, sharedMaximum, omit)
  const guest = guestModule(
    module,
    candidates.map((c) => ({ functionIndex: c.functionIndex, offset: c.shape.offset, facts: c.facts, types: c.types })),
    new Uint8Array([PLAN_VERSION]),
    rewritten ? new Map([[0, { ...memory, shared: true }]]) : undefined
  )
  return { plan, guest, guard, chunks: candidates.map((c) => c.chunk) }
}

const planOf = (
  module: WasmModule,
  loops: ReadonlyArray<PlannedLoop | RefusedLoop>,
  refusal: Reason | undefined,
  complete: boolean
): Plan => ({
  version: PLAN_VERSION,
  inputBytes: module.bytes.length,
  functions: module.functions.length - module.importedFunctions,
  loops,
  refusal,
  complete,
  memory: memoryFacts(module)
})

const memoryFacts = (module: WasmModule): MemoryFacts | undefined => {
  const memory = module.memories[0]
  if (memory === undefined) return undefined
  const imported = module.imports.find((i) => i.kind === "memory")
  return {
    imported: imported === undefined ? undefined : { module: imported.module, name: imported.name },
    min: memory.min,
    max: memory.max,
    shared: memory.shared
  }
}

const moduleRefusal = (module: WasmModule): Reason | undefined => {
  if (module.memories.length === 0) return { code: "no-memory", offset: 0, detail: "the module has no memory" }
  if (module.memories.length > 1) {
    return { code: "other-memory", offset: 0, detail: `the module has ${module.memories.length} memories` }
  }
  if (module.memories[0].is64) return { code: "memory64", offset: 0, detail: "the memory has 64-bit addresses" }
  if (module.memories[0].pageSizeLog2 !== undefined) {
    return { code: "other-memory", offset: 0, detail: "the memory has pages of a size of its own" }
  }
  if (usesHiddenNames(module)) return { code: "reference", offset: 0, detail: "an export has a name kept for Folio" }
  return undefined
}

/** Plans the loops of one function, an outer loop before its inner ones. */
const planFunction = (
  module: WasmModule,
  functionIndex: number,
  summaries: Summaries | undefined,
  index: CodeIndex,
  sharedMaximum: number | undefined,
  mechanisms: ReadonlySet<Mechanism>,
  omit: (obligation: Obligation, plan: number) => boolean,
  records: Array<PlannedLoop | RefusedLoop>,
  candidates: Array<Candidate>,
  maximumPlans: number,
  budget: Budget,
  profile: LoopShares | undefined
): void => {
  const functionName = module.functionNames.get(functionIndex)
  const refused = (shape: LoopShape | undefined, reasons: ReadonlyArray<Reason>): void => {
    records.push({
      _tag: "refused",
      functionIndex,
      functionName,
      offset: shape?.offset ?? module.functions[functionIndex].body!.start,
      reasons
    })
  }
  let shapes: ReadonlyArray<LoopShape> | undefined
  try {
    shapes = scanLoops(module, functionIndex)
  } catch (error) {
    if (!(error instanceof ModuleFormatError)) throw error
    refused(undefined, [{ code: "unknown-instruction", offset: error.offset, detail: error.message }])
    return
  }
  if (shapes === undefined) return
  const { types } = localTypes(module, functionIndex)
  const functionType = module.types[module.functions[functionIndex].typeIndex]
  if (functionType === undefined) return
  let liveness: ReturnType<typeof loopLiveness> | undefined
  let screening: Screening | undefined
  let flowKnown = false
  const planned = new Set<number>()
  for (const [position, shape] of shapes.entries()) {
    if (insidePlanned(shapes, position, planned)) {
      refused(shape, [{ code: "inside-planned", offset: shape.offset, detail: "an enclosing loop is planned" }])
      continue
    }
    const early = earlyRefusal(module, shape)
    if (early !== undefined) {
      refused(shape, [early])
      continue
    }
    const cold = coldness(profile, shape.offset)
    if (cold !== undefined) {
      refused(shape, [{ code: "profile", offset: shape.offset, detail: cold }])
      continue
    }
    const spent = budget.ask()
    if (spent !== undefined) {
      refused(shape, [{ code: "budget", offset: shape.offset, detail: spent }])
      continue
    }
    if (candidates.length >= maximumPlans) {
      refused(shape, [{ code: "budget", offset: shape.offset, detail: `the module has ${maximumPlans} plans already` }])
      continue
    }
    if (!flowKnown) {
      flowKnown = true
      const flow = functionFlow(module, functionIndex, summaries)
      if (flow !== undefined) {
        screening = new Screening(flow)
        liveness = loopLiveness(flow)
      }
    }
    const screened = screening?.refusals(shape) ?? []
    if (screened.length > 0) {
      refused(shape, screened)
      continue
    }
    try {
      const live = liveness?.get(shape.offset)
      const build = (followed: Summaries | undefined): Graph =>
        buildRegion(module, functionIndex, types, functionType, shape, live, {
          nodes: MAXIMUM_NODES,
          summaries: followed,
          index
        })
      const own = build(undefined)
      const follows = screening?.follows(shape) !== false
      const endless = follows ? uncountableAnyway(own) : undefined
      const facts = endless !== undefined
        ? [endless]
        : loopFacts(follows ? regionOf(own, () => build(summaries)) : own, mechanisms)
      const outcome = "graph" in facts
        ? isAlwaysShort(
            facts.graph,
            facts.induction,
            instructionCounts(facts.graph),
            index.of(functionIndex).get(shape.offset)!.constants
          )
          ? [
            {
              code: "short",
              offset: shape.offset,
              detail: "it always has few iterations, less than lanes pay for"
            } as const
          ]
          : planned1(module, functionIndex, shape, types, facts, candidates.length, sharedMaximum, omit)
        : facts
      if ("chunk" in outcome) {
        candidates.push(outcome)
        planned.add(position)
        records.push(recordOf(outcome, candidates.length - 1, functionName))
      } else refused(shape, outcome)
    } catch (error) {
      // A RangeError is the engine's: an expression nested too deeply to be followed.
      const code: ReasonCode | undefined = error instanceof RegionTooLarge || error instanceof RangeError
        ? "too-large"
        : error instanceof AnalysisBudgetExceeded
        ? "budget"
        : error instanceof ModuleFormatError
        ? "unknown-instruction"
        : undefined
      if (code === undefined) throw error
      refused(shape, [{ code, offset: shape.offset, detail: (error as Error).message }])
    }
  }
}

/** The graph with calls followed; where that grows too large, the one without: they may be on ways out only. */
const regionOf = (own: Graph, follow: () => Graph): Graph => {
  try {
    return follow()
  } catch (error) {
    if (!(error instanceof RegionTooLarge)) throw error
    return own
  }
}

const insidePlanned = (
  shapes: ReadonlyArray<LoopShape>,
  position: number,
  planned: ReadonlySet<number>
): boolean => {
  for (let at = shapes[position].parent; at >= 0; at = shapes[at].parent) if (planned.has(at)) return true
  return false
}

const earlyRefusal = (module: WasmModule, shape: LoopShape): Reason | undefined => {
  if (shape.hopeless !== undefined) {
    const code = shape.hopeless === "exception" ? "exception" : "reference"
    return { code, offset: shape.hopelessAt, detail: `the loop contains ${shape.hopeless} instructions` }
  }
  if (shape.instructions > MAXIMUM_INSTRUCTIONS) {
    return { code: "too-large", offset: shape.offset, detail: `${shape.instructions} instructions` }
  }
  const type = shape.blockType >= 0 ? module.types[shape.blockType] : undefined
  if (shape.blockType >= 0 && (type === undefined || type.params.length > 0 || type.results.length > 1)) {
    return { code: "loop-parameters", offset: shape.offset, detail: "the loop's block type carries operands" }
  }
  return undefined
}

const planned1 = (
  module: WasmModule,
  functionIndex: number,
  shape: LoopShape,
  types: ReadonlyArray<ValueType>,
  facts: LoopFacts,
  index: number,
  sharedMaximum: number | undefined,
  omit: (obligation: Obligation, plan: number) => boolean
): Candidate | ReadonlyArray<Reason> => {
  const saved = facts.aborts.length > 0 ? facts.groups.filter((g) => g.kind === "store" && !g.fixed) : []
  const windows = facts.privately.windows
  const layout = frameLayout(
    facts.captures.length,
    facts.variables.length,
    saved.length,
    windows.length,
    facts.handed.length
  )
  if (layout.slots > FRAME_SLOTS || facts.reductions.length > MAXIMUM_REDUCTIONS) {
    return [{ code: "too-large", offset: shape.offset, detail: "more values than the frame holds" }]
  }
  const chunk = chunkModule(module, types, shape, facts, layout, saved, sharedMaximum, (o) => omit(o, index))
  return { facts, types, layout, saved, windows, functionIndex, shape, chunk }
}

const recordOf = (candidate: Candidate, index: number, functionName: string | undefined): PlannedLoop => {
  const { facts } = candidate
  return {
    _tag: "planned",
    index,
    functionIndex: candidate.functionIndex,
    functionName,
    offset: candidate.shape.offset,
    tier: facts.aborts.length > 0 ? "abortable" : "direct",
    extent: facts.extent,
    instructions: instructionCounts(facts.graph).reduce((sum, n) => sum + n, 0),
    hasInner: facts.graph.loops.length > 1,
    groups: facts.groups.map(({ fixed, high, id, kind, low, members }) => ({
      id,
      kind,
      fixed,
      low,
      high,
      positions: members.map(({ access }) => access.position)
    })),
    obligations: facts.obligations,
    firstSaved: candidate.layout.saved(0),
    saved: candidate.saved.length,
    firstWindow: candidate.layout.range(0),
    windows: candidate.windows.length,
    checked: facts.checked.size,
    step: thresholdStep(facts),
    reductions: facts.reductions.map(({ operation, type }) => ({ operation, type }))
  }
}

/** Distance that one iteration covers in the guest's test, 0 when the test is not a distance. */
const thresholdStep = (facts: LoopFacts): number => {
  const { trip } = facts
  if (trip.wide) return Number(trip.wideStep < 0n ? -trip.wideStep : trip.wideStep)
  return trip.step.terms.length === 0 ? Math.abs(trip.step.constant) : 0
}
