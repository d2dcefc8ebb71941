/**
 * Invariant conditions above a block: under which it is reached at all, and under which every iteration reaches it.
 *
 * @since 0.1.0
 */
import type { Edge } from "./graph.ts"
import type { Induction } from "./induction.ts"

/**
 * An invariant condition and the outcome that is relied on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Condition {
  readonly node: number
  readonly expected: boolean
}

/** A branch on the way from the header of loop 0 to a block: the side that leads there, when only one does. */
interface Turn {
  readonly from: number
  readonly side: Edge
}

/** Branches above a block, nearest first. */
const turnsTo = (induction: Induction, block: number): Array<Turn> => {
  const { graph } = induction
  const turns: Array<Turn> = []
  const header = graph.loops[0].header
  for (let at = block; at !== header && graph.order[at] > 0; at = graph.idom[at]) {
    const from = graph.idom[at]
    const { succs } = graph.blocks[from]
    if (succs.length < 2) continue
    const sides = succs.filter((s) =>
      graph.blocks[s.to].preds.length === 1 && (s.to === at || graph.dominates(s.to, at))
    )
    if (sides.length === 1) turns.push({ from, side: sides[0] })
  }
  return turns
}

/** Invariant conditions without which a block is never reached. @category analysis @since 0.1.0 */
export const necessaryConditions = (induction: Induction, block: number): ReadonlyArray<Condition> =>
  turnsTo(induction, block).flatMap(({ from, side }) => {
    const { condition } = induction.graph.blocks[from]
    return condition > 0 && (side.kind === "true" || side.kind === "false") && induction.isInvariant(condition)
      ? [{ node: condition, expected: side.kind === "true" }]
      : []
  })

/**
 * Conditions under which every iteration of loop 0 that goes on reaches a block: those of the branches above it, which
 * must be invariant where they decide about it. They are enough; where they do not hold, some iterations may reach it.
 *
 * @category analysis
 * @since 0.1.0
 */
export const alwaysConditions = (induction: Induction, block: number): ReadonlyArray<Condition> | undefined =>
  decisions(induction, block)?.map(({ condition }) => condition)

/** True when all iterations of loop 0 that go on reach a block, or none does. @category analysis @since 0.1.0 */
export const isAllOrNone = (induction: Induction, block: number): boolean =>
  decisions(induction, block)?.every(({ only }) => only) === true

/** Invariant branches that decide about a block; `only` when the side that leads there is the only one that does. */
const decisions = (
  induction: Induction,
  block: number
): ReadonlyArray<{ readonly condition: Condition; readonly only: boolean }> | undefined => {
  const { graph } = induction
  const { body, header } = graph.loops[0]
  const found: Array<{ condition: Condition; only: boolean }> = []
  for (let at = block; at !== header; at = graph.idom[at]) {
    const from = graph.idom[at]
    if (!body.has(from)) return undefined
    if (graph.postDominates(at, from)) continue
    const { condition, succs } = graph.blocks[from]
    const sides = succs.filter(({ to }) => to === at || (body.has(to) && to !== header && graph.postDominates(at, to)))
    const [side] = sides
    if (sides.length !== 1 || (side.kind !== "true" && side.kind !== "false")) return undefined
    if (condition === 0 || !induction.isInvariant(condition)) return undefined
    found.push({
      condition: { node: condition, expected: side.kind === "true" },
      only: graph.blocks[side.to].preds.length === 1 && graph.dominates(side.to, at)
    })
  }
  return found
}
