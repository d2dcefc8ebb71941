/**
 * The obligations of a plan: one record for each assumption.
 *
 * @since 0.1.0
 */
import type { AccessGroup } from "../analysis/footprint.ts"
import type { Privacy } from "../analysis/privacy.ts"
import { testsOf } from "../analysis/trip.ts"
import type { LoopFacts } from "./loop.ts"
import type { Obligation } from "./types.ts"

/** Everything that a plan assumes. @category planning @since 0.1.0 */
export const obligationsOf = (facts: Omit<LoopFacts, "obligations">): Array<Obligation> => {
  const { captures, divisors, graph, groups, induction, reductions, trip } = facts
  const result: Array<Obligation> = [
    ...captures.map((c) => ({ kind: "captured-input", source: c.source, index: c.index }) as const),
    ...testsOf(trip).map((test) => ({ kind: "exact-trip", loop: 0, offset: test.branchOffset }) as const)
  ]
  for (const group of groups) {
    result.push({ kind: "in-bounds", group: group.id }, { kind: "no-wrap", group: group.id })
  }
  for (const store of groups) {
    if (store.kind !== "store") continue
    for (const other of groups) {
      if (other.kind === "store" && other.id < store.id) continue
      if (needsDisjointness(facts.privately, store, other)) {
        result.push({ kind: "disjoint", store: store.id, other: other.id })
      }
    }
  }
  for (const window of facts.privately.windows) result.push({ kind: "private", store: window.id })
  for (const [store, other] of forwardedPairs(facts)) {
    result.push({ kind: "forwarded", store: store.id, other: other.id })
  }
  for (const { cells, load } of facts.privately.contained) {
    result.push({ kind: "written-before-read", load: load.id, stores: cells.map(({ group }) => group.id) })
  }
  for (const node of induction.invariantLoads) {
    const access = graph.accesses.find((a) => a.node === node)
    if (access !== undefined) result.push({ kind: "invariant-load", offset: access.position })
  }
  for (const divisor of divisors) result.push({ kind: "safe-divisor", offset: divisor.offset })
  for (const offset of facts.checked.keys()) result.push({ kind: "checked-load", offset })
  for (const offset of new Set(facts.aborts)) result.push({ kind: "discard-on-abort", offset })
  for (const { local } of facts.handed) result.push({ kind: "last-value", local })
  for (const reduction of reductions) {
    result.push({ kind: "reduction", local: reduction.local, operation: reduction.operation })
  }
  result.push({ kind: "joined-before-use" })
  return result
}

/**
 * Groups whose stores are taken as the values of loads, each with the fixed stores that only the guard can tell from them.
 *
 * @category queries
 * @since 0.1.0
 */
export const forwardedPairs = (
  { graph, groups }: Pick<LoopFacts, "graph" | "groups">
): ReadonlyArray<readonly [store: AccessGroup, other: AccessGroup]> => {
  const sources = new Set(graph.forwarded.map(({ store }) => store))
  const stores = groups.filter(({ fixed, kind }) => fixed && kind === "store")
  return stores
    .filter(({ members }) => members.some(({ access }) => sources.has(access)))
    .flatMap((store) => stores.filter(({ key }) => key !== store.key).map((other) => [store, other] as const))
}

/**
 * True when a store and another access must not meet. Private bytes are exempt from each other, and from the loads that
 * read only what their own iteration has written; where that is decided at entry, so is the exemption.
 *
 * @category queries
 * @since 0.1.0
 */
export const needsDisjointness = (privately: Privacy, store: AccessGroup, other: AccessGroup): boolean => {
  if (!store.fixed) return true
  return other.kind === "store" ? !other.fixed : !privately.covered.has(other)
}
