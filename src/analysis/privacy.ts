/**
 * Privacy: memory that each iteration writes before it reads, so that every lane can have bytes of its own for it.
 *
 * Scratch lines, temporaries at fixed addresses and stack frames are written at the same addresses by every iteration.
 * They carry nothing from one iteration to the next when
 *
 * - every read of them comes after a write of the same bytes in the same iteration, and
 * - every iteration writes the same bytes, so that the last one leaves what the serial loop leaves. Bytes below the
 *   stack pointer as the iteration found it are exempt: they are dead by the C calling convention.
 *
 * A lane then gets private copies of the pages around them.
 *
 * @since 0.1.0
 */
import type { Condition } from "./conditions.ts"
import { alwaysConditions } from "./conditions.ts"
import type { AccessGroup } from "./footprint.ts"
import { groupKey } from "./footprint.ts"
import type { Access, Graph } from "./graph.ts"
import { Kind } from "./graph.ts"
import type { Induction } from "./induction.ts"
import { isConstant } from "./polynomial.ts"
import { testsOf } from "./trip.ts"

/**
 * What can be private.
 *
 * @category models
 * @since 0.1.0
 */
export interface Privacy {
  /** Fixed stores whose bytes become private. */
  readonly windows: ReadonlyArray<AccessGroup>
  /** Fixed loads that only read what their iteration has written. */
  readonly covered: ReadonlySet<AccessGroup>
  /** Fixed loads that do so when, at entry, their interval lies inside that of a store. */
  readonly contained: ReadonlyArray<{ readonly load: AccessGroup; readonly store: AccessGroup }>
  /** A fixed store that not every iteration executes, when there is one. */
  readonly sometimes: Access | undefined
  /** Invariant conditions that decide whether the iterations execute the stores; tested at entry. */
  readonly conditions: ReadonlyArray<Condition>
}

/** Judges the fixed accesses of a footprint. @category analysis @since 0.1.0 */
export const privacy = (
  induction: Induction,
  groups: ReadonlyArray<AccessGroup>,
  stackPointer: number | undefined
): Privacy => {
  const windows = groups.filter((group) => group.fixed && group.kind === "store")
  if (windows.length === 0) {
    return { windows, covered: new Set(), contained: [], sometimes: undefined, conditions: [] }
  }
  return new Judge(induction, groups, windows, stackPointer).judge()
}

class Judge {
  readonly induction: Induction
  readonly graph: Graph
  readonly groups: ReadonlyArray<AccessGroup>
  readonly windows: ReadonlyArray<AccessGroup>
  readonly conditions: Array<Condition> = []
  readonly stackPointer: number | undefined

  constructor(
    induction: Induction,
    groups: ReadonlyArray<AccessGroup>,
    windows: ReadonlyArray<AccessGroup>,
    stackPointer: number | undefined
  ) {
    this.stackPointer = stackPointer
    this.induction = induction
    this.graph = induction.graph
    this.groups = groups
    this.windows = windows
  }

  judge(): Privacy {
    const covered = new Set<AccessGroup>()
    const contained: Array<{ load: AccessGroup; store: AccessGroup }> = []
    let sometimes: Access | undefined
    for (const window of this.windows) {
      // A table: each iteration stores elsewhere in the range, and bytes of many iterations remain.
      if (window.spreads.some(({ symbol }) => symbol.startsWith("R"))) sometimes ??= window.members[0].access
      else if (!isBelowStackPointer(this.graph, window, this.stackPointer)) sometimes ??= this.sometimesStored(window)
    }
    for (const load of this.groups) {
      if (!load.fixed || load.kind !== "load") continue
      if (this.coveredByConstants(load)) covered.add(load)
      else {
        const store = this.windows.find((window) => this.coversRow(window, load))
        if (store !== undefined) contained.push({ load, store })
      }
    }
    return { windows: this.windows, covered, contained, sometimes, conditions: this.conditions }
  }

  /** Relies on conditions; false when there are none under which it holds. */
  rely(conditions: ReadonlyArray<Condition> | undefined): boolean {
    if (conditions === undefined) return false
    for (const one of conditions) {
      if (this.conditions.some((c) => c.node === one.node && c.expected !== one.expected)) return false
    }
    for (const one of conditions) if (!this.conditions.some((c) => c.node === one.node)) this.conditions.push(one)
    return true
  }

  /** Conditions under which each iteration executes the access, and in inner loops always equally often. */
  everyIteration(access: Access): ReadonlyArray<Condition> | undefined {
    const { graph, induction } = this
    let block = access.block
    for (let id = graph.inner[block]; id > 0; id = graph.loops[id].parent) {
      const loop = graph.loops[id]
      if (!loop.latches.every((latch) => graph.order[latch] < 0 || graph.dominates(block, latch))) return undefined
      const trip = induction.trip(id)
      if (trip === undefined || !trip.only || !induction.isInvariantTrip(trip)) return undefined
      block = loop.header
    }
    return alwaysConditions(induction, block)
  }

  /**
   * A store that some iterations leave out, unless its bytes are also stored by every iteration: then what an iteration
   * leaves there is its own in any case.
   */
  sometimesStored(window: AccessGroup): Access | undefined {
    const key = groupKey(window)
    const spans: Array<[number, number]> = []
    for (const other of window.spreads.length > 0 ? [] : this.windows) {
      if (groupKey(other) !== key) continue
      const shift = (other.base.constant - window.base.constant) | 0
      for (const { access, high, low } of other.members) {
        if (this.everyIteration(access)?.length === 0) spans.push([low + shift, high + shift])
      }
    }
    return window.members.find(({ access, high, low }) =>
      !isInside(low, high, spans) && !this.rely(this.everyIteration(access))
    )?.access
  }

  /** True when every load of the group reads bytes that earlier stores with constant distances have all written. */
  coveredByConstants(load: AccessGroup): boolean {
    if (load.spreads.length > 0) return false
    const key = groupKey(load)
    const stores = this.windows.filter((window) => groupKey(window) === key)
    return load.members.every((member) => {
      const spans: Array<[number, number]> = []
      for (const window of stores) {
        const shift = (window.base.constant - load.base.constant) | 0
        for (const { access, high, low } of window.members) {
          if (this.comesBefore(access, member.access)) spans.push([low + shift, high + shift])
        }
      }
      return isInside(member.low, member.high, spans)
    })
  }

  /** True when `first` is executed before `second` whenever `second` is, in the same iteration of loop 0. */
  comesBefore(first: Access, second: Access): boolean {
    const { graph } = this
    return first.block === second.block
      ? graph.accesses.indexOf(first) < graph.accesses.indexOf(second)
      : graph.dominates(first.block, second.block)
  }

  /**
   * True when an inner loop, completed before the load, stores a row without gaps: its members side by side are at
   * least as wide as its step. Whether the load stays inside the row is tested at entry.
   */
  coversRow(store: AccessGroup, load: AccessGroup): boolean {
    const { graph, induction } = this
    if (store.spreads.length !== 1 || !store.spreads[0].symbol.startsWith("J")) return false
    const { coefficient, short, symbol } = store.spreads[0]
    const loop = graph.loops[Number(symbol.slice(1))]
    const trip = induction.trip(loop.id)
    if (trip === undefined || !trip.only || !isConstant(coefficient)) return false
    const spans: Array<[number, number]> = []
    for (const { access, high, low } of store.members) {
      if (graph.inner[access.block] !== loop.id) return false
      if (!loop.latches.every((latch) => graph.order[latch] < 0 || graph.dominates(access.block, latch))) return false
      // Stored as often as the interval takes it: in the iteration that leaves, too, unless that is left out.
      if (!short && !testsOf(trip).every((test) => graph.dominates(access.block, test.from))) return false
      spans.push([low, high])
    }
    if (!isInside(store.low, store.high, spans)) return false
    if (store.high - store.low < Math.abs(coefficient.constant)) return false
    const after = load.members.every(({ access }) =>
      !loop.body.has(access.block) && graph.order[loop.header] < graph.order[access.block]
    )
    return after && this.rely(alwaysConditions(induction, loop.header))
  }
}

/** Bytes in [sp − k, sp), where sp is the stack pointer, which the iteration lowers and puts back. */
const isBelowStackPointer = (graph: Graph, group: AccessGroup, stackPointer: number | undefined): boolean => {
  const terms = [...group.base.terms.values()]
  if (terms.length !== 1 || group.spreads.length > 0) return false
  const { coefficient, symbols } = terms[0]
  if (coefficient !== 1 || symbols.length !== 1 || !symbols[0].startsWith("n")) return false
  const node = Number(symbols[0].slice(1))
  return graph.kind[node] === Kind.Global && graph.a[node] === stackPointer &&
    graph.writtenGlobals.has(graph.a[node]) &&
    group.base.constant < 0 && group.base.constant + group.high <= 0
}

const isInside = (low: number, high: number, spans: Array<[number, number]>): boolean => {
  let reached = low
  for (const [from, to] of spans.sort((x, y) => x[0] - y[0])) {
    if (from > reached) break
    reached = Math.max(reached, to)
  }
  return reached >= high
}
