/**
 * Demand: which values of the loop can matter when the loop is entered afresh in the middle.
 *
 * The owner continues in its original loop for the last iterations, so a local that is written in every iteration
 * before the loop ends comes out right by itself. A header value matters when the code of an iteration needs it as it
 * was left by an earlier one.
 *
 *     iteration T-1 ─ a complete one: what it reads of header values must be right
 *     iteration T   ─ leaves by the trip test: header values it reads were made by iteration T-1
 *
 * @since 0.1.0
 */
import type { Graph } from "./graph.ts"
import { Kind } from "./graph.ts"
import type { Trip } from "./trip.ts"
import { testsOf } from "./trip.ts"

/**
 * What of a loop matters.
 *
 * @category models
 * @since 0.1.0
 */
export interface Demand {
  /** One byte a node, 1 where its value matters. */
  readonly marks: Uint8Array
  /** The same for iteration T, which leaves by the trip test, and for what leaves with it. */
  readonly last: Uint8Array
}

/**
 * What matters. Without a trip test every way out counts as one that may happen in any iteration. `more` are values that
 * something else needs.
 *
 * @category analysis
 * @since 0.1.0
 */
export const demanded = (graph: Graph, trip: Trip | undefined, more: ReadonlyArray<number> = []): Demand => {
  const marks = new Uint8Array(graph.kind.length)
  const last = new Uint8Array(graph.kind.length)
  const header = new Set(graph.loops[0].phis)
  const mark = (root: number): void => {
    if (root <= 0 || marks[root] === 1) return
    const work = [root]
    while (work.length > 0) {
      const node = work.pop()!
      if (node <= 0 || marks[node] === 1) continue
      marks[node] = 1
      pushOperands(graph, node, work)
    }
  }
  const markLast = (root: number): void => {
    const work = [root]
    while (work.length > 0) {
      const node = work.pop()!
      if (node <= 0 || last[node] === 1) continue
      last[node] = 1
      if (header.has(node)) {
        for (const input of graph.phi(node).inputs.slice(1)) if (graph.order[input.block] >= 0) mark(input.value)
      } else pushOperands(graph, node, work)
    }
  }
  for (const access of graph.accesses) {
    if (graph.order[access.block] < 0) continue
    mark(access.address)
    if (access.kind === "store") mark(access.node)
  }
  for (const node of graph.trapping) {
    mark(graph.a[node])
    mark(graph.b[node])
  }
  for (const block of graph.blocks) {
    if (graph.order[block.id] < 0) continue
    if (block.condition > 0) mark(block.condition)
    if (block.exit === undefined) continue
    const byTrip = trip !== undefined && testsOf(trip).some((test) => leavesByTrip(graph, test, block.id))
    for (const value of block.exit.values) {
      if (byTrip) markLast(value)
      else mark(value)
    }
  }
  for (const node of graph.used) mark(node)
  for (const node of more) mark(node)
  return { marks, last }
}

/** True when the only way to the exit block is the edge of the trip test. */
const leavesByTrip = (graph: Graph, trip: Trip, exit: number): boolean => {
  const first = trip.edge.to
  return graph.blocks[first].preds.length === 1 && graph.dominates(first, exit)
}

const pushOperands = (graph: Graph, node: number, work: Array<number>): void => {
  switch (graph.kind[node]) {
    case Kind.Phi:
      for (const { block, value } of graph.phi(node).inputs) if (graph.order[block] >= 0) work.push(value)
      return
    case Kind.Op:
    case Kind.Select:
    case Kind.Load:
      work.push(graph.a[node], graph.b[node], graph.c[node])
  }
}
