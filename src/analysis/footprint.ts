/**
 * Footprints: where a loop reads and writes, as groups of addresses that move alike.
 *
 * @since 0.1.0
 */
import type { Access } from "./graph.ts"
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
  for (const access of graph.accesses) {
    if (!body.has(access.block)) continue
    const refused = access.kind === "load" ? "unknown-load" : "unknown-store"
    const address = induction.at(access.address, access.block)
    const parts = address === undefined ? undefined : split(induction, address, access.block)
    if (parts === undefined) unknown.push({ access, reason: refused })
    else if (parts === "inner-trip") unknown.push({ access, reason: "inner-trip" })
    else place(groups, byKey, access, parts)
  }
  return { groups, unknown }
}

interface Parts {
  readonly base: Polynomial
  readonly coefficient: Polynomial
  readonly spreads: ReadonlyArray<Spread>
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
  access: Access,
  parts: Parts
): void => {
  const end = access.offset + access.bytes
  const key = keyOf(parts)
  const related = byKey.get(key)
  for (const group of related ?? []) {
    if (group.kind !== access.kind) continue
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
    fixed: isConstant(parts.coefficient) && parts.coefficient.constant === 0,
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
