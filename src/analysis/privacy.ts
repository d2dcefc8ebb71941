/**
 * Privacy: memory that each iteration writes before it reads, so that every lane can have bytes of its own for it.
 *
 * Scratch lines, temporaries at fixed addresses and stack frames are written at the same addresses by every iteration.
 * They carry nothing from one iteration to the next when
 *
 * - every read of them comes after a write of the same bytes in the same iteration, and
 * - every iteration writes the same bytes, so that the last one leaves what the serial loop leaves.
 *
 * A lane then gets private copies of the pages around them.
 *
 * @since 0.1.0
 */
import type { Condition } from "./conditions.ts"
import { alwaysConditions, isAllOrNone } from "./conditions.ts"
import type { AccessGroup } from "./footprint.ts"
import { isInside } from "./footprint.ts"
import type { Access, Graph } from "./graph.ts"
import type { Induction } from "./induction.ts"
import { isConstant } from "./polynomial.ts"
import { testsOf } from "./trip.ts"

/**
 * Bytes that an iteration writes before a load: one fixed store, or a whole row stored by an inner loop.
 *
 * @category models
 * @since 0.1.0
 */
export interface Cell {
  readonly group: AccessGroup
  /** Where in the group, in bytes behind its base; a row takes the group's whole interval. */
  readonly low: number
  readonly high: number
  readonly row: boolean
  /** Under which every iteration writes it. */
  readonly conditions: ReadonlyArray<Condition>
}

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
  /** Fixed loads that do so when, at entry, their interval lies inside those of cells. */
  readonly contained: ReadonlyArray<{ readonly load: AccessGroup; readonly cells: ReadonlyArray<Cell> }>
  /** A fixed store that some iterations execute and others do not, when there is one. */
  readonly sometimes: Access | undefined
}

/** Judges the fixed accesses of a footprint. @category analysis @since 0.1.0 */
export const privacy = (induction: Induction, groups: ReadonlyArray<AccessGroup>): Privacy => {
  const windows = groups.filter((group) => group.fixed && group.kind === "store")
  return windows.length === 0
    ? { windows, covered: new Set(), contained: [], sometimes: undefined }
    : new Judge(induction, groups, windows).judge()
}

/** Most cells of one load; the guard joins them one after the other. */
const MAXIMUM_CELLS = 6

class Judge {
  readonly induction: Induction
  readonly graph: Graph
  readonly groups: ReadonlyArray<AccessGroup>
  readonly windows: ReadonlyArray<AccessGroup>

  /** By block of an access. */
  readonly #always = new Map<number, boolean>()
  readonly #allOrNone = new Map<number, boolean>()

  constructor(induction: Induction, groups: ReadonlyArray<AccessGroup>, windows: ReadonlyArray<AccessGroup>) {
    this.induction = induction
    this.graph = induction.graph
    this.groups = groups
    this.windows = windows
  }

  judge(): Privacy {
    const covered = new Set<AccessGroup>()
    const contained: Array<{ load: AccessGroup; cells: ReadonlyArray<Cell> }> = []
    let sometimes: Access | undefined
    for (const window of this.windows) {
      // A table: each iteration stores elsewhere in the range, and bytes of many iterations remain.
      if (window.spreads.some(({ symbol }) => symbol.startsWith("R"))) sometimes ??= window.members[0].access
      else sometimes ??= this.sometimesStored(window)
    }
    for (const load of this.groups) {
      if (!load.fixed || load.kind !== "load") continue
      if (load.own) covered.add(load)
      else {
        const cells = this.cellsBefore(load)
        if (cells.length > 0 && cells.length <= MAXIMUM_CELLS) contained.push({ load, cells })
      }
    }
    return { windows: this.windows, covered, contained, sometimes }
  }

  /** The block that stands for an access outside of inner loops, when an iteration executes these always equally often. */
  outermost(access: Access): number | undefined {
    const { graph, induction } = this
    let block = access.block
    for (let id = graph.inner[block]; id > 0; id = graph.loops[id].parent) {
      const loop = graph.loops[id]
      if (!loop.latches.every((latch) => graph.order[latch] < 0 || graph.dominates(block, latch))) return undefined
      const trip = induction.trip(id)
      if (trip === undefined || !trip.only || !induction.isInvariantTrip(trip)) return undefined
      block = loop.header
    }
    return block
  }

  /** True when each iteration executes the access. */
  isAlways(access: Access): boolean {
    let known = this.#always.get(access.block)
    if (known === undefined) {
      const block = this.outermost(access)
      known = block !== undefined && alwaysConditions(this.induction, block)?.length === 0
      this.#always.set(access.block, known)
    }
    return known
  }

  /** True when all iterations execute the access, and equally often, or none does. */
  isAllOrNone(access: Access): boolean {
    let known = this.#allOrNone.get(access.block)
    if (known === undefined) {
      const block = this.outermost(access)
      known = block !== undefined && isAllOrNone(this.induction, block)
      this.#allOrNone.set(access.block, known)
    }
    return known
  }

  /**
   * A store that some iterations leave out, unless its bytes are also stored by every iteration, or by every one where
   * that store is executed: then what an iteration leaves there is its own in any case. Invariant conditions do not
   * matter: all iterations store, or none.
   */
  sometimesStored(window: AccessGroup): Access | undefined {
    const { graph } = this
    const { key } = window
    const open = window.members.filter(({ access }) => !this.isAllOrNone(access))
    if (open.length === 0) return undefined
    const common: Array<{ readonly access: Access; readonly always: boolean; readonly span: [number, number] }> = []
    for (const other of window.spreads.length > 0 ? [] : this.windows) {
      if (other.key !== key) continue
      const shift = (other.base.constant - window.base.constant) | 0
      for (const { access, high, low } of other.members) {
        const always = this.isAlways(access)
        if (always || this.isAllOrNone(access)) common.push({ access, always, span: [low + shift, high + shift] })
      }
    }
    return open.find(({ access, high, low }) => {
      const along = common.filter((other) =>
        other.span[0] < high && low < other.span[1] &&
        (other.always || other.access.block === access.block || graph.dominates(other.access.block, access.block) ||
          graph.postDominates(other.access.block, access.block))
      )
      return !isInside(low, high, along.map(({ span }) => span))
    })?.access
  }

  /** What each iteration writes before it reaches any load of the group. */
  cellsBefore(load: AccessGroup): Array<Cell> {
    const { graph } = this
    const cells: Array<Cell> = []
    const symbols = new Set(load.base.terms.flatMap((term) => term.symbols))
    for (const group of this.windows) {
      if (!isRelated(group, symbols)) continue
      if (group.spreads.length > 0) {
        const row = this.rowBefore(group, load)
        if (row !== undefined) cells.push(row)
        continue
      }
      for (const { access, high, low } of group.members) {
        if (graph.inner[access.block] !== 0) continue
        const conditions = alwaysConditions(this.induction, access.block)
        if (conditions === undefined || !load.members.every((member) => this.isEarlier(access, member.access))) continue
        cells.push({ group, low, high, row: false, conditions })
      }
    }
    return cells
  }

  /** True when the store, outside of inner loops, stands before the load on every way through an iteration. */
  isEarlier(store: Access, load: Access): boolean {
    const { graph } = this
    return store.block === load.block
      ? graph.placeOf(store) < graph.placeOf(load)
      : graph.order[store.block] < graph.order[load.block]
  }

  /**
   * A row: an inner loop, completed before the load, stores it without gaps. Its members side by side are at least as
   * wide as its step.
   */
  rowBefore(group: AccessGroup, load: AccessGroup): Cell | undefined {
    const { graph, induction } = this
    if (group.spreads.length !== 1 || !group.spreads[0].symbol.startsWith("J")) return undefined
    const { coefficient, short, symbol } = group.spreads[0]
    const loop = graph.loops[Number(symbol.slice(1))]
    const trip = induction.trip(loop.id)
    if (trip === undefined || !trip.only || !isConstant(coefficient)) return undefined
    const spans: Array<[number, number]> = []
    for (const { access, high, low } of group.members) {
      if (graph.inner[access.block] !== loop.id || loop.parent !== 0) return undefined
      if (!loop.latches.every((latch) => graph.order[latch] < 0 || graph.dominates(access.block, latch))) {
        return undefined
      }
      // Stored as often as the interval takes it: in the iteration that leaves, too, unless that is left out.
      if (!short && !testsOf(trip).every((test) => graph.dominates(access.block, test.from))) return undefined
      spans.push([low, high])
    }
    if (!isInside(group.low, group.high, spans)) return undefined
    if (group.high - group.low < Math.abs(coefficient.constant)) return undefined
    const after = load.members.every(({ access }) =>
      !loop.body.has(access.block) && graph.order[loop.header] < graph.order[access.block]
    )
    const conditions = after ? alwaysConditions(induction, loop.header) : undefined
    return conditions === undefined ? undefined : { group, low: group.low, high: group.high, row: true, conditions }
  }
}

/** True when a store's address has a symbol in common with a load's, or neither has any: others hardly mean the same bytes. */
const isRelated = ({ base }: AccessGroup, symbols: ReadonlySet<string>): boolean =>
  base.terms.length === 0
    ? symbols.size === 0
    : base.terms.some((term) => term.symbols.some((s) => symbols.has(s)))
