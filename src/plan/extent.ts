/**
 * How far chunks go, and what they hand over.
 *
 *     partial    iterations 0 … T − 2 run apart; the original loop runs iteration T − 1, a complete one, and iteration T,
 *                which leaves. What it hands to the code behind it is made there.
 *     whole      iterations 0 … T − 1 run apart; the original loop runs iteration T, which leaves before its end.
 *     complete   iteration T is a complete one, too, because the test stands at the end: all run apart, and the original
 *                loop is passed over.
 *
 * In the last two, values that the last iteration leaves in locals are handed over by whoever ran it. For a loop of many
 * iterations that hardly matters; one of four runs in half the time instead of three quarters.
 *
 * @since 0.1.0
 */
import { demanded } from "../analysis/demand.ts"
import type { ExitInfo, Graph } from "../analysis/graph.ts"
import type { Induction } from "../analysis/induction.ts"
import type { Reduction } from "../analysis/reduction.ts"
import { findReduction } from "../analysis/reduction.ts"
import type { InductionVariable, Trip } from "../analysis/trip.ts"
import type { Mechanism } from "./mechanisms.ts"
import type { ReasonCode } from "./types.ts"

/** How far chunks go. @category models @since 0.1.0 */
export type Extent = "partial" | "whole" | "complete"

/**
 * A local that the last iteration leaves behind.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handed {
  readonly phi: number
  readonly local: number
}

/**
 * Header values that chunks start with or combine.
 *
 * @category models
 * @since 0.1.0
 */
export interface Carried {
  readonly variables: ReadonlyArray<InductionVariable & { readonly local: number }>
  readonly reductions: ReadonlyArray<Reduction>
}

/**
 * The way out of a loop whose only trip test stands at its end: behind the test nothing happens, neither on the way back
 * nor on the way out. `undefined` for any other loop.
 */
const exitAtEnd = (graph: Graph, trip: Trip): ExitInfo | undefined => {
  const { header, latches } = graph.loops[0]
  const { edge, from, others } = trip
  if (others.length > 0 || latches.some((latch) => latch !== from && graph.order[latch] >= 0)) return undefined
  if (graph.blocks[from].succs.length !== 2 || !graph.blocks[from].succs.some(({ to }) => to === header)) {
    return undefined
  }
  let at = edge.to
  if (graph.blocks[at].exit === undefined) {
    const { preds, succs } = graph.blocks[at]
    if (preds.length !== 1 || succs.length !== 1 || isBusy(graph, at)) return undefined
    at = succs[0].to
  }
  const { exit, preds } = graph.blocks[at]
  if (exit === undefined || preds.length !== 1 || exit.operands > 0 || exit.kind === "return") return undefined
  return exit
}

/** True when something happens in a block that can be seen from outside. */
const isBusy = (graph: Graph, block: number): boolean =>
  graph.accesses.some((access) => access.block === block) || graph.effects.some((effect) => effect.block === block) ||
  graph.calls.some((call) => call.block === block) || graph.trapping.some((node) => graph.block[node] === block)

/**
 * What the last iteration hands over when all run apart, or `undefined` when something leaves that nobody has.
 */
const handedAtEnd = (
  graph: Graph,
  induction: Induction,
  trip: Trip,
  exit: ExitInfo,
  carried: Carried
): ReadonlyArray<Handed> | undefined => {
  const { phis } = graph.loops[0]
  const handed: Array<Handed> = []
  for (const phi of phis) {
    const { global, inputs, local } = graph.phi(phi)
    const latch = inputs.find(({ block }) => block === trip.from)?.value
    if (global >= 0) {
      // The guest's own global is never written: it must come out as it went in.
      if (!induction.unchanged.has(phi) || latch === undefined || !exit.values.includes(latch)) return undefined
      continue
    }
    const value = local < 0 ? undefined : exit.locals.get(local)
    if (value === undefined) continue
    if (value !== latch) return undefined
    const one = handOver(induction, carried, phi, local, [latch])
    if (one === undefined) return undefined
    handed.push(...one)
  }
  return handed
}

/**
 * What the last complete iteration hands over to the one that leaves, or `undefined`. `last` marks what matters there.
 */
const handedToLast = (
  graph: Graph,
  induction: Induction,
  last: Uint8Array,
  carried: Carried
): ReadonlyArray<Handed> | undefined => {
  const handed: Array<Handed> = []
  for (const phi of graph.loops[0].phis) {
    if (last[phi] === 0) continue
    const { global, inputs, local } = graph.phi(phi)
    if (global >= 0 && induction.unchanged.has(phi)) continue
    if (local < 0) return undefined
    const backs = inputs.slice(1).filter(({ block }) => graph.order[block] >= 0).map(({ value }) => value)
    const one = handOver(induction, carried, phi, local, backs)
    if (one === undefined) return undefined
    handed.push(...one)
  }
  return handed
}

/** Nothing for a value that is known otherwise; `undefined` for one that only all participants together have. */
const handOver = (
  induction: Induction,
  { reductions, variables }: Carried,
  phi: number,
  local: number,
  backs: ReadonlyArray<number>
): ReadonlyArray<Handed> | undefined => {
  if (induction.unchanged.has(phi) || variables.some((v) => v.phi === phi)) return []
  if (reductions.some((r) => r.phi === phi)) return []
  return reductions.some(({ chain }) => backs.some((value) => chain.has(value))) ? undefined : [{ phi, local }]
}

/**
 * How far chunks go, with what they carry.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reach extends Carried {
  /** Values that matter. */
  readonly marks: Uint8Array
  readonly extent: Extent
  readonly handed: ReadonlyArray<Handed>
  /** Label behind the loop, counted from the one around it; -1 for the loop's end. */
  readonly skip: number
  /** Why chunks cannot have what they need. */
  readonly problems: ReadonlyArray<{ readonly code: ReasonCode; readonly detail: string }>
}

/**
 * How far chunks go, which is as far as what leaves the loop can be handed over. `exposed` are values that something else
 * needs.
 *
 * @category planning
 * @since 0.1.0
 */
export const reachOf = (
  graph: Graph,
  induction: Induction,
  trip: Trip | undefined,
  exposed: ReadonlyArray<number>,
  mechanisms: ReadonlySet<Mechanism>
): Reach => {
  const handsOver = mechanisms.has("last-iterations")
  const exit = trip === undefined || !handsOver ? undefined : exitAtEnd(graph, trip)
  if (trip !== undefined && exit !== undefined) {
    const { marks } = demanded(graph, undefined, exposed)
    const { problems, ...carried } = carriedValues(graph, induction, marks, mechanisms)
    const handed = problems.length > 0 ? undefined : handedAtEnd(graph, induction, trip, exit, carried)
    if (handed !== undefined) return { ...carried, marks, extent: "complete", handed, skip: exit.label, problems }
  }
  const { last, marks } = demanded(graph, trip, exposed)
  const { problems, ...carried } = carriedValues(graph, induction, marks, mechanisms)
  const handed = handsOver && problems.length === 0 ? handedToLast(graph, induction, last, carried) : undefined
  const extent = handed === undefined ? "partial" : "whole"
  return { ...carried, marks, extent, handed: handed ?? [], skip: -1, problems }
}

/** Header values that matter, by how chunks get them. */
const carriedValues = (
  graph: Graph,
  induction: Induction,
  marks: Uint8Array,
  mechanisms: ReadonlySet<Mechanism>
): Carried & Pick<Reach, "problems"> => {
  const variables: Array<InductionVariable & { local: number }> = []
  const reductions: Array<Reduction> = []
  const problems: Array<{ code: ReasonCode; detail: string }> = []
  for (const phi of graph.loops[0].phis) {
    if (marks[phi] === 0 || induction.unchanged.has(phi)) continue
    const { global, local } = graph.phi(phi)
    const variable = induction.variables.get(phi)
    if (global >= 0) {
      problems.push({ code: "global-write", detail: `global ${global} carries a value to the next iteration` })
    } else if (local < 0) {
      problems.push({ code: "loop-parameters", detail: "the loop carries operands in its block type" })
    } else if (variable !== undefined) variables.push({ ...variable, local })
    else {
      const reduction = mechanisms.has("reductions") ? findReduction(graph, marks, phi) : undefined
      if (reduction !== undefined) reductions.push(reduction)
      else {problems.push({
          code: "scalar-carry",
          detail: `local ${local} carries a value from one iteration to the next`
        })}
    }
  }
  return { variables, reductions, problems }
}
