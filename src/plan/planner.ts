/**
 * Plans the loops of a module, function by function, in whatever order they are given.
 *
 * @since 0.1.0
 */
import { buildRegion } from "../analysis/build.ts"
import { CodeIndex } from "../analysis/code-index.ts"
import { functionFlow } from "../analysis/flow.ts"
import type { Graph } from "../analysis/graph.ts"
import { AnalysisBudgetExceeded } from "../analysis/induction.ts"
import type { LoopLiveness } from "../analysis/liveness.ts"
import { loopLiveness } from "../analysis/liveness.ts"
import { RegionTooLarge } from "../analysis/region-model.ts"
import type { LoopShape } from "../analysis/scan.ts"
import { Summaries } from "../analysis/summary.ts"
import type { FunctionType, ValueType, WasmModule } from "../binary/module.ts"
import { localTypes, ModuleFormatError } from "../binary/module.ts"
import { instructionCounts } from "../transform/guard.ts"
import type { Budget } from "./budget.ts"
import type { Candidate } from "./candidate.ts"
import { candidateOf } from "./candidate.ts"
import { uncountableAnyway } from "./counting.ts"
import type { LoopFacts } from "./loop.ts"
import { loopFacts } from "./loop.ts"
import type { Mechanism } from "./mechanisms.ts"
import type { FunctionLoops, LoopShares } from "./order.ts"
import { coldness } from "./order.ts"
import { Screening } from "./screening.ts"
import { isAlwaysShort } from "./short.ts"
import type { Reason, ReasonCode, RefusedLoop } from "./types.ts"

/** Loops with more instructions are left alone. */
const MAXIMUM_INSTRUCTIONS = 20_000

/** Values in the graph of one loop. */
const MAXIMUM_NODES = 40_000

/** What is known of a function whose loops are planned. */
interface Place {
  readonly functionIndex: number
  readonly functionType: FunctionType
  readonly types: ReadonlyArray<ValueType>
  /** `undefined` where control flow is not modelled. */
  readonly screening: Screening | undefined
  readonly liveness: ReadonlyMap<number, LoopLiveness> | undefined
}

/**
 * Limits of a planner.
 *
 * @category models
 * @since 0.1.0
 */
export interface PlannerOptions {
  readonly budget: Budget
  readonly maximumPlans: number
  readonly mechanisms: ReadonlySet<Mechanism>
  readonly profile: LoopShares | undefined
}

/**
 * Plans the loops of one module.
 *
 * @category planning
 * @since 0.1.0
 */
export class Planner {
  readonly #module: WasmModule
  readonly #options: PlannerOptions
  readonly #summaries: Summaries | undefined
  readonly #code: CodeIndex
  #planned = 0

  constructor(module: WasmModule, options: PlannerOptions) {
    this.#module = module
    this.#options = options
    this.#summaries = options.mechanisms.has("calls")
      ? new Summaries(module, options.mechanisms.has("indirect-calls"))
      : undefined
    this.#code = new CodeIndex(module)
  }

  /** True when time or memory has run out. */
  get spent(): boolean {
    return this.#options.budget.spent !== undefined
  }

  /** What becomes of the loops of a function, in code order: an outer loop is planned before its inner ones. */
  plan({ functionIndex, shapes }: FunctionLoops): ReadonlyArray<Candidate | RefusedLoop> {
    const functionName = this.#module.functionNames.get(functionIndex)
    const planned = new Set<number>()
    let place: Place | undefined
    return shapes.map((shape, position) => {
      const early = this.#early(shapes, position, planned)
      const outcome = early === undefined
        ? this.#judge(place ??= this.#enter(functionIndex), shape)
        : [early]
      const candidate = "graph" in outcome
        ? candidateOf({ functionIndex, functionName, shape }, place!.types, outcome)
        : undefined
      if (candidate !== undefined) {
        planned.add(position)
        this.#planned++
        return candidate
      }
      const { offset } = shape
      const reasons = "graph" in outcome
        ? [{ code: "too-large", offset, detail: "more values than the frame holds" } as const]
        : outcome
      return { _tag: "refused", functionIndex, functionName, offset, reasons }
    })
  }

  /** Why a loop is not looked at. */
  #early(shapes: ReadonlyArray<LoopShape>, position: number, planned: ReadonlySet<number>): Reason | undefined {
    const shape = shapes[position]
    const { offset } = shape
    if (isInside(shapes, position, planned)) {
      return { code: "inside-planned", offset, detail: "an enclosing loop is planned" }
    }
    const refusal = shapeRefusal(this.#module, shape)
    if (refusal !== undefined) return refusal
    const { budget, maximumPlans, profile } = this.#options
    const cold = coldness(profile, offset)
    if (cold !== undefined) return { code: "profile", offset, detail: cold }
    const spent = budget.ask()
    if (spent !== undefined) return { code: "budget", offset, detail: spent }
    return this.#planned < maximumPlans
      ? undefined
      : { code: "budget", offset, detail: `the module has ${maximumPlans} plans already` }
  }

  #enter(functionIndex: number): Place {
    const module = this.#module
    const flow = functionFlow(module, functionIndex, this.#summaries)
    return {
      functionIndex,
      functionType: module.types[module.functions[functionIndex].typeIndex]!,
      types: localTypes(module, functionIndex).types,
      screening: flow === undefined ? undefined : new Screening(flow),
      liveness: flow === undefined ? undefined : loopLiveness(flow)
    }
  }

  /** Facts of a loop, or the reasons that rule it out: the cheapest come first. */
  #judge(place: Place, shape: LoopShape): LoopFacts | ReadonlyArray<Reason> {
    const { offset } = shape
    const screened = place.screening?.refusals(shape) ?? []
    if (screened.length > 0) return screened
    try {
      const graph = this.#graphOf(place, shape)
      const facts = "code" in graph ? [graph] : loopFacts(graph, this.#options.mechanisms)
      if (!("graph" in facts)) return facts
      const { constants } = this.#code.of(place.functionIndex).get(offset)!
      return isAlwaysShort(facts.graph, facts.induction, instructionCounts(facts.graph), constants)
        ? [{ code: "short", offset, detail: "it always has few iterations, less than lanes pay for" }]
        : facts
    } catch (error) {
      const code = codeOf(error)
      if (code === undefined) throw error
      return [{ code, offset, detail: (error as Error).message }]
    }
  }

  /**
   * The graph of a loop with its calls followed, unless it cannot be counted in any case. Where that grows too large, the
   * graph without: the calls may be on ways out only.
   */
  #graphOf({ functionIndex, functionType, liveness, screening, types }: Place, shape: LoopShape): Graph | Reason {
    const build = (summaries: Summaries | undefined): Graph =>
      buildRegion(this.#module, functionIndex, types, functionType, shape, liveness?.get(shape.offset), {
        nodes: MAXIMUM_NODES,
        summaries,
        index: this.#code
      })
    const own = build(undefined)
    if (this.#summaries === undefined || screening?.follows(shape) === false) return own
    const reason = uncountableAnyway(own, this.#summaries)
    if (reason !== undefined) return reason
    try {
      return build(this.#summaries)
    } catch (error) {
      if (!(error instanceof RegionTooLarge)) throw error
      return own
    }
  }
}

/** The code of an error that ends an analysis; `undefined` for a fault of its own. */
const codeOf = (error: unknown): ReasonCode | undefined =>
  // A RangeError is the engine's: an expression nested too deeply to be followed.
  error instanceof RegionTooLarge || error instanceof RangeError
    ? "too-large"
    : error instanceof AnalysisBudgetExceeded
    ? "budget"
    : error instanceof ModuleFormatError
    ? "unknown-instruction"
    : undefined

const isInside = (
  shapes: ReadonlyArray<LoopShape>,
  position: number,
  planned: ReadonlySet<number>
): boolean => {
  for (let at = shapes[position].parent; at >= 0; at = shapes[at].parent) if (planned.has(at)) return true
  return false
}

const shapeRefusal = (module: WasmModule, shape: LoopShape): Reason | undefined => {
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
