/**
 * A loop that can be planned, with what guard, guest and chunk are made of, and its record in the plan.
 *
 * @since 0.1.0
 */
import type { LoopShape } from "../analysis/scan.ts"
import type { ValueType } from "../binary/module.ts"
import type { GuardPlan } from "../transform/guard.ts"
import { instructionCounts } from "../transform/guard.ts"
import { FRAME_SLOTS, frameLayout, MAXIMUM_REDUCTIONS } from "./frame.ts"
import type { LoopFacts } from "./loop.ts"
import type { PlannedLoop } from "./types.ts"

/**
 * A loop that can be planned.
 *
 * @category models
 * @since 0.1.0
 */
export interface Candidate extends GuardPlan {
  readonly functionIndex: number
  readonly functionName: string | undefined
  readonly shape: LoopShape
}

/**
 * The candidate of a loop with these facts; `undefined` when the frame does not hold its values.
 *
 * @category planning
 * @since 0.1.0
 */
export const candidateOf = (
  place: Pick<Candidate, "functionIndex" | "functionName" | "shape">,
  types: ReadonlyArray<ValueType>,
  facts: LoopFacts
): Candidate | undefined => {
  const saved = facts.aborts.length > 0 ? facts.groups.filter((g) => g.kind === "store" && !g.fixed) : []
  const windows = facts.privately.windows
  const layout = frameLayout(
    facts.captures.length,
    facts.variables.length,
    saved.length,
    windows.length,
    facts.handed.length
  )
  return layout.slots > FRAME_SLOTS || facts.reductions.length > MAXIMUM_REDUCTIONS
    ? undefined
    : { ...place, facts, types, layout, saved, windows }
}

/** The plan's record of a candidate. @category planning @since 0.1.0 */
export const recordOf = (candidate: Candidate, index: number): PlannedLoop => {
  const { facts } = candidate
  return {
    _tag: "planned",
    index,
    functionIndex: candidate.functionIndex,
    functionName: candidate.functionName,
    offset: candidate.shape.offset,
    tier: facts.aborts.length > 0 ? "abortable" : "direct",
    extent: facts.extent,
    keeps: facts.keeps,
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
