/**
 * Footprints: where a loop reads and writes, as groups of addresses that move alike.
 *
 * @since 0.1.0
 */
import type { Access, Graph } from "./graph.ts"
import type { Induction } from "./induction.ts"
import type { Polynomial } from "./polynomial.ts"
import { fingerprint, isConstant, linearIn, varies } from "./polynomial.ts"
import { isVarying } from "./symbols.ts"
import type { Trip } from "./trip.ts"
import { testsOf } from "./trip.ts"

/**
 * A part of an address that varies inside one iteration of the split loop.
 *
 * @category models
 * @since 0.1.0
 */
export interface Spread {
  /** `J<id>` (0 … `T<id>`) or `R<id>` (a numeric range). */
  readonly symbol: string
  /** True when the access is not executed in the iteration that leaves loop `id`: then 0 … `T<id>` − 1. */
  readonly short: boolean
  /** Invariant factor. */
  readonly coefficient: Polynomial
}

/**
 * Accesses whose addresses differ by constants. In iteration `i` they lie in
 * `base + coefficient·i + spreads + [low, high)`; the address operands alone in `… + [addressLow, addressHigh]`.
 *
 * @category models
 * @since 0.1.0
 */
export interface AccessGroup {
  readonly id: number
  readonly kind: "load" | "store"
  readonly base: Polynomial
  readonly coefficient: Polynomial
  readonly spreads: ReadonlyArray<Spread>
  /** Equal for groups whose addresses differ by constants. */
  readonly key: string
  low: number
  high: number
  addressLow: number
  addressHigh: number
  /** True for loads of bytes that the same iteration has stored before, whatever else is stored. */
  readonly own: boolean
  /** True when the addresses are the same in every iteration of the split loop. */
  readonly fixed: boolean
  /** The accesses, with the bytes they take behind the address that `base` stands for. */
  readonly members: Array<{ readonly access: Access; readonly low: number; readonly high: number }>
}

/**
 * An access that the analysis cannot place.
 *
 * @category models
 * @since 0.1.0
 */
export interface UnknownAccess {
  readonly access: Access
  readonly reason: "unknown-load" | "unknown-store" | "inner-trip"
}

/**
 * Everything loop 0 touches.
 *
 * @category models
 * @since 0.1.0
 */
export interface Footprint {
  readonly groups: ReadonlyArray<AccessGroup>
  readonly unknown: ReadonlyArray<UnknownAccess>
}

/** Members further apart than this never share a group (bytes). */
const MAXIMUM_GAP = 256

/** Largest end of a range; beyond it the guard's 64-bit arithmetic could overflow. */
const MAXIMUM_RANGE = 2 ** 30

/** Varying parts of one address; more would overflow the guard's 64-bit arithmetic. */
const MAXIMUM_SPREADS = 2

/**
 * Groups the accesses of loop 0.
 *
 * @category analysis
 * @since 0.1.0
 */
export const footprint = (induction: Induction): Footprint => {
  const { graph } = induction
  const body = graph.loops[0].body
  const groups: Array<AccessGroup> = []
  const byKey = new Map<string, Array<AccessGroup>>()
  const unknown: Array<UnknownAccess> = []
  const placed: Array<Placed> = []
  for (const access of graph.accesses) {
    if (!body.has(access.block)) continue
    const refused = access.kind === "load" ? "unknown-load" : "unknown-store"
    const address = induction.at(access.address, access.block)
    const parts = address === undefined ? undefined : split(induction, address, access.block)
    if (parts === undefined) unknown.push({ access, reason: refused })
    else if (parts === "inner-trip") unknown.push({ access, reason: "inner-trip" })
    else placed.push({ access, parts, key: keyOf(parts) })
  }
  const stored = fixedStores(placed)
  for (const one of placed) place(groups, byKey, one, isOwn(graph, stored.get(one.key), one))
  return { groups, unknown }
}

interface Parts {
  readonly base: Polynomial
  readonly coefficient: Polynomial
  readonly spreads: ReadonlyArray<Spread>
}

/** An access with its address. */
interface Placed {
  readonly access: Access
  readonly parts: Parts
  readonly key: string
}

const isFixed = ({ coefficient }: Parts): boolean => isConstant(coefficient) && coefficient.constant === 0

/** Fixed stores without spreads, by key. */
const fixedStores = (placed: ReadonlyArray<Placed>): ReadonlyMap<string, ReadonlyArray<Placed>> => {
  const stores = new Map<string, Array<Placed>>()
  for (const one of placed) {
    if (one.access.kind !== "store" || !isFixed(one.parts) || one.parts.spreads.length > 0) continue
    const same = stores.get(one.key)
    if (same === undefined) stores.set(one.key, [one])
    else same.push(one)
  }
  return stores
}

/** True when stores at constant distances, which precede the load, have written all of its bytes. */
const isOwn = (graph: Graph, stores: ReadonlyArray<Placed> | undefined, load: Placed): boolean => {
  if (stores === undefined || load.access.kind !== "load") return false
  const low = load.parts.base.constant + load.access.offset
  const high = low + load.access.bytes
  const spans: Array<[number, number]> = []
  for (const { access, parts } of stores) {
    const from = parts.base.constant + access.offset
    const to = from + access.bytes
    if (from < high && low < to && graph.precedes(access, load.access)) spans.push([from, to])
  }
  return isInside(low, high, spans)
}

/** True when spans cover [low, high). @category queries @since 0.1.0 */
export const isInside = (low: number, high: number, spans: Array<[number, number]>): boolean => {
  if (spans.length === 0) return low >= high
  let reached = low
  for (const [from, to] of spans.sort((x, y) => x[0] - y[0])) {
    if (from > reached) break
    reached = Math.max(reached, to)
  }
  return reached >= high
}

const split = (induction: Induction, address: Polynomial, block: number): Parts | "inner-trip" | undefined => {
  const own = linearIn(address, "J0")
  if (own === undefined || varies(own.coefficient)) return undefined
  let rest = own.rest
  const spreads: Array<Spread> = []
  const names = new Set<string>()
  for (const term of rest.terms) for (const s of term.symbols) if (isVarying(s)) names.add(s)
  for (const name of [...names].sort()) {
    if (name.startsWith("P")) return undefined
    let short = false
    if (name.startsWith("J")) {
      const trip = induction.trip(Number(name.slice(1)))
      if (trip === undefined || !induction.isInvariantTrip(trip)) return "inner-trip"
      short = followsTest(induction, trip, block)
    }
    const parts = linearIn(rest, name)
    if (parts === undefined || varies(parts.coefficient)) return undefined
    const range = induction.ranges.get(name)
    if (range !== undefined && Math.max(Math.abs(range.low), Math.abs(range.high)) > MAXIMUM_RANGE) return undefined
    spreads.push({ symbol: name, short, coefficient: parts.coefficient })
    rest = parts.rest
  }
  return spreads.length > MAXIMUM_SPREADS ? undefined : { base: rest, coefficient: own.coefficient, spreads }
}

/** True when a block is only reached after all tests have let the iteration go on. @category queries @since 0.1.0 */
export const followsTest = (induction: Induction, trip: Trip, block: number): boolean => {
  const { graph } = induction
  return testsOf(trip).every(({ edge, from }) => {
    const stays = graph.blocks[from].succs.filter((s) => s !== edge)
    return stays.length === 1 && graph.blocks[stays[0].to].preds.length === 1 && graph.dominates(stays[0].to, block)
  })
}

const place = (
  groups: Array<AccessGroup>,
  byKey: Map<string, Array<AccessGroup>>,
  { access, key, parts }: Placed,
  own: boolean
): void => {
  const end = access.offset + access.bytes
  const related = byKey.get(key)
  for (const group of related ?? []) {
    if (group.kind !== access.kind || group.own !== own) continue
    const delta = (parts.base.constant - group.base.constant) | 0
    const low = delta + access.offset
    const high = delta + end
    if (low > group.high + MAXIMUM_GAP || high < group.low - MAXIMUM_GAP) continue
    group.low = Math.min(group.low, low)
    group.high = Math.max(group.high, high)
    group.addressLow = Math.min(group.addressLow, delta)
    group.addressHigh = Math.max(group.addressHigh, delta)
    group.members.push({ access, low, high })
    return
  }
  const group: AccessGroup = {
    id: groups.length,
    kind: access.kind,
    base: parts.base,
    coefficient: parts.coefficient,
    spreads: parts.spreads,
    key,
    low: access.offset,
    high: end,
    addressLow: 0,
    addressHigh: 0,
    own,
    fixed: isFixed(parts),
    members: [{ access, low: access.offset, high: end }]
  }
  groups.push(group)
  if (related === undefined) byKey.set(key, [group])
  else related.push(group)
}

const keyOf = (parts: Parts): string =>
  [
    fingerprint(parts.base, false),
    fingerprint(parts.coefficient),
    ...parts.spreads.map((s) => `${s.symbol}${s.short ? "-" : ""}:${fingerprint(s.coefficient)}`)
  ].join("|")
