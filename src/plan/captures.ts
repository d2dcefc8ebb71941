/**
 * Captured values: what of the owner's state guard and chunks need.
 *
 * @since 0.1.0
 */
import { necessaryConditions } from "../analysis/conditions.ts"
import type { AccessGroup } from "../analysis/footprint.ts"
import type { Graph } from "../analysis/graph.ts"
import { Kind } from "../analysis/graph.ts"
import type { Induction } from "../analysis/induction.ts"
import type { Polynomial } from "../analysis/polynomial.ts"
import { symbol } from "../analysis/polynomial.ts"
import type { InductionVariable, Trip } from "../analysis/trip.ts"
import { testsOf } from "../analysis/trip.ts"

/**
 * A value of the owner that the guard and the chunks receive.
 *
 * @category models
 * @since 0.1.0
 */
export interface Capture {
  readonly source: "local" | "global" | "memory-size"
  /** Local or global index. */
  readonly index: number
  /** Its node in the graph. */
  readonly node: number
}

/** Entries, globals and `memory.size` that the guard or a chunk reads. @category planning @since 0.1.0 */
export const collectCaptures = (
  graph: Graph,
  induction: Induction,
  marks: Uint8Array,
  trip: Trip,
  groups: ReadonlyArray<AccessGroup>,
  variables: ReadonlyArray<InductionVariable>,
  more: ReadonlyArray<number>
): Array<Capture> => {
  const nodes = new Set<number>()
  const follow = (node: number): void => {
    if (node <= 0 || nodes.has(node)) return
    nodes.add(node)
    switch (graph.kind[node]) {
      case Kind.Phi:
        if (graph.phi(node).loop >= 0) follow(graph.phi(node).inputs[0].value)
        break
      case Kind.Derived:
        followPolynomial(graph.aux[node] as Polynomial)
        break
      case Kind.Op:
      case Kind.Select:
      case Kind.Load:
        follow(graph.a[node])
        follow(graph.b[node])
        follow(graph.c[node])
    }
  }
  const followPolynomial = (p: Polynomial): void => {
    for (const term of p.terms) {
      for (const s of term.symbols) {
        if (s.startsWith("n")) follow(Number(s.slice(1)))
        else if (s.startsWith("T") || s.startsWith("J")) {
          const inner = induction.trip(Number(s.slice(1)))
          if (inner !== undefined && inner.loop !== 0) followTrip(inner)
        }
      }
    }
  }
  const followTrip = (trip: Trip): void => testsOf(trip).forEach(followTest)
  const followTest = (one: Trip): void => {
    if (one.wide) {
      follow(one.wideStart!.node)
      follow(one.wideLimit)
      return
    }
    followPolynomial(one.start)
    followPolynomial(one.step)
    followPolynomial(one.limit)
  }
  followTrip(trip)
  for (const group of groups) {
    followPolynomial(group.base)
    followPolynomial(group.coefficient)
    for (const spread of group.spreads) {
      followPolynomial(spread.coefficient)
      followPolynomial(symbol(spread.symbol))
    }
  }
  for (const variable of variables) {
    follow(variable.initial)
    followPolynomial(variable.step)
  }
  for (const loop of graph.loops.slice(1)) {
    const inner = induction.trip(loop.id)
    if (inner !== undefined && induction.isInvariantTrip(inner)) followTrip(inner)
  }
  for (const group of groups) {
    for (const { access } of group.members) {
      for (const { node } of necessaryConditions(induction, access.block)) follow(node)
    }
  }
  for (const loop of graph.loops.slice(1)) {
    if (loop.body.size > 0) { for (const { node } of necessaryConditions(induction, loop.header)) follow(node) }
  }
  more.forEach(follow)
  const captures: Array<Capture> = []
  for (let node = 1; node < graph.kind.length; node++) {
    if (marks[node] === 0 && !nodes.has(node)) continue
    const kind = graph.kind[node]
    if (kind === Kind.Entry) captures.push({ source: "local", index: graph.a[node], node })
    else if (kind === Kind.Global) captures.push({ source: "global", index: graph.a[node], node })
    else if (kind === Kind.MemorySize && !captures.some((c) => c.source === "memory-size")) {
      captures.push({ source: "memory-size", index: 0, node })
    }
  }
  return captures
}
