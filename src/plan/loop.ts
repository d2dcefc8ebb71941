/**
 * From the graph of a loop to what its chunks need, or to the reasons why it stays serial.
 *
 * @since 0.1.0
 */
import type { AccessGroup, Footprint } from "../analysis/footprint.ts"
import { footprint } from "../analysis/footprint.ts"
import { forwardLoads } from "../analysis/forward.ts"
import type { Access, Graph } from "../analysis/graph.ts"
import { Kind } from "../analysis/graph.ts"
import { Effort, Induction } from "../analysis/induction.ts"
import type { Privacy } from "../analysis/privacy.ts"
import { privacy } from "../analysis/privacy.ts"
import type { Reduction } from "../analysis/reduction.ts"
import type { InductionVariable, Trip } from "../analysis/trip.ts"
import { testsOf } from "../analysis/trip.ts"
import { loadShape } from "../binary/opcodes.ts"
import type { Capture } from "./captures.ts"
import { collectCaptures } from "./captures.ts"
import type { CheckedSpan } from "./checked.ts"
import { checkedLoads } from "./checked.ts"
import { uncountable } from "./counting.ts"
import type { Extent, Handed } from "./extent.ts"
import { reachOf } from "./extent.ts"
import type { Mechanism } from "./mechanisms.ts"
import { allMechanisms } from "./mechanisms.ts"
import { obligationsOf } from "./obligations.ts"
import type { Obligation, Reason, ReasonCode } from "./types.ts"

/**
 * What is known of a loop that can be split.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoopFacts {
  readonly graph: Graph
  readonly induction: Induction
  readonly trip: Trip
  readonly groups: ReadonlyArray<AccessGroup>
  /** Fixed stores of which each lane gets its own bytes, and the loads that go with them. */
  readonly privately: Privacy
  readonly captures: ReadonlyArray<Capture>
  /** Induction variables that live in locals, to be set at the start of a chunk. */
  readonly variables: ReadonlyArray<InductionVariable & { readonly local: number }>
  readonly reductions: ReadonlyArray<Reduction>
  readonly extent: Extent
  /** Locals that the last iteration leaves behind, where the original loop does not make them. */
  readonly handed: ReadonlyArray<Handed>
  /** Where the code goes on when the loop is passed over: a label, counted from the one around it; -1 behind its end. */
  readonly skip: number
  /** Invariant divisors, to be tested at entry. */
  readonly divisors: ReadonlyArray<{ readonly node: number; readonly offset: number; readonly signed: boolean }>
  /** Loads whose addresses are not known: each is compared with what the loop stores to, when it is executed. */
  readonly checked: ReadonlyMap<number, CheckedSpan>
  /** Stores and calls that stand only on ways out of the loop: a chunk that gets there ends before. */
  readonly cut: ReadonlySet<number>
  /** Offsets of what can end a chunk early: traps and exits other than the trip test. */
  readonly aborts: ReadonlyArray<number>
  /** True when the pieces before the one that ended early are kept, if nothing was copied as a whole. */
  readonly keeps: boolean
  /** Offsets of inner loops that might run for ever in an iteration behind an early exit: they poll. */
  readonly polled: ReadonlySet<number>
  readonly obligations: ReadonlyArray<Obligation>
}

/** Most groups of accesses; the guard tests each pair that includes a store. */
const MAXIMUM_GROUPS = 20

/** Most loads of unknown address; with more the comparisons cost what the second core brings. */
const MAXIMUM_CHECKED = 24

/** Most captured values: the engine's limit on parameters is 1000. */
const MAXIMUM_CAPTURES = 200

const BLOCKING: ReadonlySet<string> = new Set([
  "call",
  "call-indirect",
  "global-write",
  "memory-grow",
  "atomic",
  "bulk-memory",
  "table",
  "exception",
  "reference",
  "other-memory",
  "tail-call"
])

/**
 * Facts of the loop, or the reasons that rule it out (at least one), as far as the mechanisms go that may be used.
 *
 * @category planning
 * @since 0.1.0
 */
export const loopFacts = (
  graph: Graph,
  mechanisms: ReadonlySet<Mechanism> = allMechanisms
): LoopFacts | ReadonlyArray<Reason> => {
  const loop = graph.loops[0]
  const reasons: Array<Reason> = []
  const refuse = (code: ReasonCode, offset: number, detail: string): void => {
    if (reasons.length < 8) reasons.push({ code, offset, detail })
  }
  if (loop.body.size === 0) {
    refuse("uncountable", loop.offset, "control never returns to the start of this loop")
    return reasons
  }
  for (const effect of graph.effects) {
    if (loop.body.has(effect.block) && BLOCKING.has(effect.code)) {
      refuse(effect.code, effect.position, `each iteration does this: ${effect.code}`)
    }
  }
  if (!graph.accesses.some((a) => a.kind === "store" && loop.body.has(a.block)) && loop.phis.length === 0) {
    refuse("no-stores", loop.offset, "the loop changes nothing")
  }
  if (reasons.length > 0) return reasons

  const judged = inductionOf(graph, mechanisms)
  if ("code" in judged) return [judged]
  const { groups, induction, privately, trip, unknown } = judged
  const compared: Array<Access> = []
  /** Globals where a load that nothing has tested may trap in an iteration that the owner runs. */
  const exposed: Array<number> = []
  for (const { access, reason } of unknown) {
    if (mechanisms.has("checked-loads") && canBeChecked(graph, access)) {
      compared.push(access)
      exposed.push(...graph.globalsAt.get(access.node) ?? [])
    } else refuse(reason, access.position, unknownDetail[reason])
  }
  const checked = checkedLoads(graph, compared)
  if (checked.size > MAXIMUM_CHECKED) {
    refuse(
      "unknown-load",
      loop.offset,
      `${checked.size} loads of unknown address, at most ${MAXIMUM_CHECKED} are compared`
    )
  }
  if (privately.sometimes !== undefined) {
    refuse(
      "same-address-store",
      privately.sometimes.position,
      "some iterations store to this fixed address, others do not"
    )
  }
  const fixed = privately.windows[0]?.members[0]
  if (fixed !== undefined && !mechanisms.has("private-windows")) {
    refuse("same-address-store", fixed.access.position, "each iteration stores to the same address")
  }
  const carried = carriedLoad(groups, privately)
  if (carried !== undefined) {
    refuse("same-address-store", carried.position, "this load may read what an earlier iteration stored")
  }
  const { problems, ...reach } = reachOf(graph, induction, trip, exposed, mechanisms)
  const { marks, reductions, variables } = reach
  for (const { code, detail } of problems) refuse(code, loop.offset, detail)
  if (groups.length > MAXIMUM_GROUPS) {
    refuse("too-many-groups", loop.offset, `${groups.length} groups of addresses, at most ${MAXIMUM_GROUPS} are tested`)
  }
  const keeps = mechanisms.has("kept-pieces") && reductions.length === 0 && privately.windows.length === 0
  // A search leaves nothing but where it ends.
  const searches = keeps && isLong(graph) &&
    loop.exits.some(({ edge }) => testsOf(trip).every((test) => test.edge !== edge))
  const leaves = reductions.length > 0 || searches || groups.some((g) => g.kind === "store" && !g.fixed)
  if (!leaves && reasons.length === 0) {
    refuse("no-stores", loop.offset, "the loop stores nothing and reduces nothing")
  }
  if (reasons.length > 0) return reasons

  const { aborts, divisors } = hazards(graph, induction, trip)
  const cut = waysOut(graph)
  if (typeof cut === "number") {
    refuse("call", cut, "a callee stores in an iteration as well as on the way out of the loop")
    return reasons
  }
  const early = [...aborts, ...checked.keys()]
  if (early.length > 0 && !mechanisms.has("early-exits")) {
    refuse("early-exit", early[0], "an iteration may trap or leave the loop early")
    return reasons
  }
  // What only a comparison can end goes on as the serial loop does; behind an exit or a trap anything may come.
  const endless = aborts.length === 0 ? [] : graph.loops.filter((inner) => {
    if (inner.id === 0 || !loop.body.has(inner.header) || inner.body.size === 0) return false
    const bound = induction.trip(inner.id)
    return bound === undefined || !induction.isInvariantTrip(bound)
  })
  if (endless.length > 0 && !mechanisms.has("polled-loops")) {
    refuse("inner-trip", endless[0].offset, "behind an early exit, this inner loop might run for ever in a lane")
    return reasons
  }
  const captures = collectCaptures(graph, induction, marks, trip, groups, variables, [
    ...reach.handed.map(({ phi }) => graph.phi(phi).inputs[0].value),
    ...divisors.map((d) => d.node),
    ...privately.contained.flatMap(({ cells }) => cells.flatMap(({ conditions }) => conditions.map((c) => c.node)))
  ])
  if (captures.length > MAXIMUM_CAPTURES) {
    refuse("too-large", loop.offset, `${captures.length} captured values, at most ${MAXIMUM_CAPTURES}`)
    return reasons
  }
  const facts = {
    graph,
    induction,
    trip,
    groups,
    privately,
    captures,
    variables,
    reductions,
    extent: reach.extent,
    handed: reach.handed,
    skip: reach.skip,
    divisors,
    aborts: early,
    keeps: keeps && early.length > 0,
    polled: new Set(endless.map(({ offset }) => offset)),
    checked,
    cut
  }
  return { ...facts, obligations: obligationsOf(facts) }
}

/** A loop that can be counted, with everything that it touches. */
interface Judged extends Footprint {
  readonly induction: Induction
  readonly privately: Privacy
  readonly trip: Trip
}

/**
 * Induction and footprint. A load whose bytes its own iteration stores is no invariant, however fixed its address:
 * where one was taken as such, everything is judged again without, and so it is with the stored value in its place. A loop
 * that cannot be counted is not looked at further.
 */
const inductionOf = (graph: Graph, mechanisms: ReadonlySet<Mechanism>): Judged | Reason => {
  const varying = new Set<number>()
  const effort = new Effort()
  for (;;) {
    const induction = new Induction(graph, varying, effort)
    if (mechanisms.has("forwarding") && forwardLoads(induction) > 0) continue
    const reason = uncountable(induction)
    if (reason !== undefined) return reason
    const trip = induction.trip(0)!
    const found = footprint(induction)
    const privately = privacy(induction, found.groups)
    const own = [...privately.covered, ...privately.contained.map(({ load }) => load)]
      .flatMap(({ members }) => members.map(({ access }) => access.node))
      .filter((node) => induction.invariantLoads.has(node))
    if (own.length === 0) return { ...found, induction, privately, trip }
    for (const node of own) varying.add(node)
  }
}

/** Values that an iteration of a search makes, at least, where it has no inner loop. */
const LEAST_SEARCH = 48

/**
 * True when an iteration is more than a few instructions. Loops that look for a byte are everywhere in programs, mostly find
 * it soon, and would pay for the test in front of them.
 */
const isLong = (graph: Graph): boolean => {
  const { body } = graph.loops[0]
  if (graph.loops.some(({ body: own, header, id }) => id > 0 && own.size > 0 && body.has(header))) return true
  let count = 0
  for (let node = 1; node < graph.kind.length && count < LEAST_SEARCH; node++) {
    const kind = graph.kind[node]
    if ((kind === Kind.Op || kind === Kind.Load || kind === Kind.Select) && body.has(graph.block[node])) count++
  }
  return count >= LEAST_SEARCH
}

/** True for a load of one value, which can be compared with the loop's stores when it is executed. */
const canBeChecked = (graph: Graph, access: Access): boolean =>
  access.kind === "load" && access.offset < 2 ** 30 && loadShape(graph.op[access.node]) !== undefined

/** A fixed load that is not known to read its own iteration's bytes, next to a store that may have written them. */
const carriedLoad = (groups: ReadonlyArray<AccessGroup>, privately: Privacy): Access | undefined => {
  for (const load of groups) {
    if (!load.fixed || load.kind !== "load" || privately.covered.has(load)) continue
    if (privately.contained.some((pair) => pair.load === load)) continue
    for (const window of privately.windows) {
      if (window.key !== load.key) continue
      const shift = (window.base.constant - load.base.constant) | 0
      if (load.low < window.high + shift && window.low + shift < load.high) return load.members[0].access
    }
  }
  return undefined
}

const unknownDetail: Readonly<Record<"unknown-load" | "unknown-store" | "inner-trip", string>> = {
  "unknown-load": "the address of this load does not advance evenly",
  "unknown-store": "the address of this store does not advance evenly",
  "inner-trip": "the address depends on an inner loop whose length changes"
}

/**
 * Offsets of stores, followed calls and loops that no iteration reaches. A callee's code exists once: an offset in it that both
 * iterations and ways out reach cannot be cut, and is returned alone.
 */
const waysOut = (graph: Graph): Set<number> | number => {
  const { body } = graph.loops[0]
  const stores = graph.accesses.filter(({ kind }) => kind === "store")
  const loops = graph.loops.map(({ header, offset }) => ({ block: header, position: offset }))
  const places = [...stores, ...graph.calls, ...loops].filter(({ block }) => graph.order[block] >= 0)
  const inside = new Set(places.filter(({ block }) => body.has(block)).map(({ position }) => position))
  const cut = new Set<number>()
  for (const { block, position } of places) {
    if (body.has(block)) continue
    if (inside.has(position)) return position
    cut.add(position)
  }
  return cut
}

/** Ways in which a chunk can end early, and divisors whose test at entry rules one out. */
const hazards = (graph: Graph, induction: Induction, trip: Trip): Pick<LoopFacts, "aborts" | "divisors"> => {
  const body = graph.loops[0].body
  const aborts: Array<number> = []
  const divisors: Array<{ node: number; offset: number; signed: boolean }> = []
  for (const exit of graph.loops[0].exits) {
    if (!testsOf(trip).some((test) => test.edge === exit.edge)) {
      aborts.push(graph.blocks[exit.from].branchOffset || graph.loops[0].offset)
    }
  }
  for (const node of graph.trapping) {
    if (!body.has(graph.block[node])) continue
    const op = graph.op[node]
    const divides = op <= 0x82
    const divisor = graph.b[node]
    const signed = op === 0x6d || op === 0x6f || op === 0x7f || op === 0x81
    if (divides && graph.kind[divisor] === Kind.Const32) {
      const value = graph.a[divisor]
      if (value !== 0 && !(signed && value === -1)) continue
    }
    if (divides && graph.kind[divisor] === Kind.Const64) {
      const value = graph.aux[divisor] as bigint
      if (value !== 0n && !(signed && value === -1n)) continue
    }
    if (divides && induction.isInvariant(divisor)) {
      divisors.push({ node: divisor, offset: graph.loops[0].offset, signed })
    } else aborts.push(graph.loops[0].offset)
  }
  return { aborts, divisors }
}
