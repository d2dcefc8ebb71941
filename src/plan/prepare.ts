/**
 * Preparation: from a module's bytes to its plan and the modules that carry it out.
 *
 * @since 0.1.0
 */
import { scanLoops } from "../analysis/scan.ts"
import type { WasmModule } from "../binary/module.ts"
import { decodeModule, ModuleFormatError } from "../binary/module.ts"
import { chunkModule } from "../transform/chunk.ts"
import { guardModule } from "../transform/guard.ts"
import { guestModule, usesHiddenNames } from "../transform/guest.ts"
import { Budget, type BudgetOptions } from "./budget.ts"
import type { Candidate } from "./candidate.ts"
import { recordOf } from "./candidate.ts"
import type { Mechanism } from "./mechanisms.ts"
import { allMechanisms } from "./mechanisms.ts"
import type { FunctionLoops, LoopShares } from "./order.ts"
import { bestFirst } from "./order.ts"
import { Planner } from "./planner.ts"
import type { MemoryFacts, Obligation, Plan, PlannedLoop, Reason, RefusedLoop } from "./types.ts"
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
  /** Told how many functions with loops have been seen, before each. */
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

/**
 * Plans of one module. Each has a word for its refusals in control memory, where there is room for 1,024, and costs every
 * start of the program a global, a guard and a place in the bundle.
 */
const DEFAULT_MAXIMUM_PLANS = 1_000

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
  const planner = new Planner(module, {
    budget: new Budget(options),
    maximumPlans: options.maximumPlans ?? DEFAULT_MAXIMUM_PLANS,
    mechanisms: options.mechanisms === undefined ? allMechanisms : new Set(options.mechanisms),
    profile: options.profile
  })
  const { complete, outcomes } = planLoops(module, planner, options)
  const candidates = outcomes.filter((one): one is Candidate => !("_tag" in one))
  const numbers = new Map(candidates.map((candidate, index) => [candidate, index]))
  const records = outcomes.map((one) => ("_tag" in one ? one : recordOf(one, numbers.get(one)!)))
  const plan = planOf(module, records, undefined, complete)
  if (candidates.length === 0 || (!complete && options.allOrNothing === true)) {
    return { plan, guest: undefined, guard: undefined, chunks: [] }
  }
  const chunks = candidates.map(({ facts, layout, saved, shape, types }, index) =>
    chunkModule(module, types, shape, facts, layout, saved, sharedMaximum, (o) => omit(o, index))
  )
  const guard = guardModule(module, candidates, sharedMaximum, omit)
  const guest = guestModule(
    module,
    candidates.map((c) => ({ functionIndex: c.functionIndex, offset: c.shape.offset, facts: c.facts, types: c.types })),
    new Uint8Array([PLAN_VERSION]),
    rewritten ? new Map([[0, { ...memory, shared: true }]]) : undefined
  )
  return { plan, guest, guard, chunks }
}

/** What becomes of all loops, in code order; they are looked at best first. */
const planLoops = (
  module: WasmModule,
  planner: Planner,
  { allOrNothing, profile, progress }: PrepareOptions
): { readonly complete: boolean; readonly outcomes: ReadonlyArray<Candidate | RefusedLoop> } => {
  const { found, unknown } = findLoops(module)
  const byFunction = new Map<number, ReadonlyArray<Candidate | RefusedLoop>>()
  for (const one of unknown) byFunction.set(one.functionIndex, [one])
  const ordered = bestFirst(found, profile)
  for (const [seen, one] of ordered.entries()) {
    progress?.(seen, ordered.length)
    if (planner.spent && allOrNothing === true) break
    byFunction.set(one.functionIndex, planner.plan(one))
  }
  const indices = [...byFunction.keys()].sort((x, y) => x - y)
  return { complete: !planner.spent, outcomes: indices.flatMap((index) => byFunction.get(index)!) }
}

/** Functions with loops, and those that cannot be decoded. */
const findLoops = (
  module: WasmModule
): { readonly found: ReadonlyArray<FunctionLoops>; readonly unknown: ReadonlyArray<RefusedLoop> } => {
  const found: Array<FunctionLoops> = []
  const unknown: Array<RefusedLoop> = []
  for (let functionIndex = module.importedFunctions; functionIndex < module.functions.length; functionIndex++) {
    try {
      const shapes = scanLoops(module, functionIndex)
      if (shapes !== undefined) found.push({ functionIndex, shapes })
    } catch (error) {
      if (!(error instanceof ModuleFormatError)) throw error
      unknown.push({
        _tag: "refused",
        functionIndex,
        functionName: module.functionNames.get(functionIndex),
        offset: module.functions[functionIndex].body!.start,
        reasons: [{ code: "unknown-instruction", offset: error.offset, detail: error.message }]
      })
    }
  }
  return { found, unknown }
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
