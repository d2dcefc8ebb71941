/**
 * Whether a loop can be counted at all, asked before the functions that it calls are followed: their bodies can make a
 * graph many times as large, and most loops that call have no test that bounds them.
 *
 * @since 0.1.0
 */
import type { Graph } from "../analysis/graph.ts"
import { Kind } from "../analysis/graph.ts"
import { Induction } from "../analysis/induction.ts"
import type { Summaries } from "../analysis/summary.ts"
import { exitTests } from "../analysis/trip.ts"
import type { Reason } from "./types.ts"

/**
 * Why loop 0 cannot be counted, or its tests. Loads that must not be taken as invariant do not make a loop countable, so
 * an answer without them holds with them.
 *
 * @category planning
 * @since 0.1.0
 */
export const uncountable = (induction: Induction): Reason | undefined => {
  const { offset } = induction.graph.loops[0]
  const trip = induction.trip(0)
  return trip === undefined
    ? { code: "uncountable", offset, detail: "no test that bounds the number of iterations was found" }
    : induction.isInvariantTrip(trip)
    ? undefined
    : { code: "uncountable", offset, detail: "the bound of the loop changes while it runs" }
}

/**
 * Why a loop cannot be counted, whatever its calls give, asked of a graph in which none was followed; `undefined` when it
 * may be countable.
 *
 * @category planning
 * @since 0.1.0
 */
export const uncountableAnyway = (graph: Graph, summaries: Summaries): Reason | undefined => {
  if (graph.loops[0].body.size === 0) return undefined
  const induction = new Induction(graph)
  const reason = uncountable(induction)
  return reason === undefined || dependsOnCalls(induction, summaries) ? undefined : reason
}

/**
 * True when what a call gives, or what it may leave in a global, can decide when loop 0 is left. It cannot where the callee
 * loads or repeats with operands that change: that is no value that a loop is counted by.
 */
const dependsOnCalls = (induction: Induction, summaries: Summaries): boolean => {
  const { graph } = induction
  const seen = new Uint8Array(graph.kind.length)
  const work: Array<number> = []
  const exitsOf = (id: number): void => {
    for (const { from } of exitTests(graph, graph.loops[id])) work.push(graph.blocks[from].condition)
  }
  exitsOf(0)
  while (work.length > 0) {
    const node = work.pop()!
    if (node <= 0 || seen[node] === 1) continue
    seen[node] = 1
    switch (graph.kind[node]) {
      case Kind.Opaque: {
        const call = graph.given.get(node)
        if (call === undefined || summaries.of(call.callee).straight) return true
        if (call.operands.every((operand) => induction.isInvariant(operand))) return true
        break
      }
      case Kind.Global:
        return true
      case Kind.Phi: {
        const { block, inputs, loop } = graph.phi(node)
        for (const { value } of inputs) work.push(value)
        if (loop > 0) exitsOf(loop)
        else if (loop < 0 && graph.idom[block] >= 0) work.push(graph.blocks[graph.idom[block]].condition)
        break
      }
      case Kind.Op:
      case Kind.Select:
      case Kind.Load:
        work.push(graph.a[node], graph.b[node], graph.c[node])
    }
  }
  return false
}
