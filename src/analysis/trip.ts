/**
 * Trip counts: the test that bounds a loop, found among its exits.
 *
 * @since 0.1.0
 */
import type { Edge, Graph, Loop } from "./graph.ts"
import { Kind } from "./graph.ts"
import type { Polynomial } from "./polynomial.ts"
import { constant, isConstant, linearIn, mentions } from "./polynomial.ts"
import { isRange, isUnsolved } from "./symbols.ts"

/**
 * How a comparison lets a loop go on.
 *
 * @category models
 * @since 0.1.0
 */
export type Relation = "eq" | "ne" | "lt_s" | "lt_u" | "gt_s" | "gt_u" | "le_s" | "le_u" | "ge_s" | "ge_u"

/**
 * The test that bounds a loop: it goes on while `x relation limit`, `x = start + step · iteration`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Trip {
  readonly loop: number
  readonly relation: Relation
  /** True for a comparison of i64 values; then the parts are nodes with constant offsets, not polynomials. */
  readonly wide: boolean
  readonly start: Polynomial
  readonly step: Polynomial
  readonly limit: Polynomial
  /** Nodes for a wide test: value = node (+ constant). */
  readonly wideStart: { readonly node: number; readonly plus: bigint } | undefined
  readonly wideStep: bigint
  readonly wideLimit: number
  readonly from: number
  readonly edge: Edge
  /** Offset of the branching instruction. */
  readonly branchOffset: number
  /** Further tests of the same loop: it leaves at the first that fails. */
  readonly others: ReadonlyArray<Trip>
  /** True when no other way than these tests leads out of the loop and on in loop 0. */
  readonly only: boolean
}

/** A test and its further ones. @category queries @since 0.1.0 */
export const testsOf = (trip: Trip): ReadonlyArray<Trip> => [trip, ...trip.others]

/**
 * A header value that advances by the same amount in each iteration.
 *
 * @category models
 * @since 0.1.0
 */
export interface InductionVariable {
  readonly phi: number
  readonly loop: number
  /** Value before the first iteration. */
  readonly initial: number
  /** i32 step; invariant in the loop. */
  readonly step: Polynomial
  /** Step of an i64 variable, a constant. */
  readonly wideStep: bigint | undefined
}

const FLIP: Readonly<Record<Relation, Relation>> = {
  eq: "eq",
  ne: "ne",
  lt_s: "gt_s",
  lt_u: "gt_u",
  gt_s: "lt_s",
  gt_u: "lt_u",
  le_s: "ge_s",
  le_u: "ge_u",
  ge_s: "le_s",
  ge_u: "le_u"
}

const NEGATE: Readonly<Record<Relation, Relation>> = {
  eq: "ne",
  ne: "eq",
  lt_s: "ge_s",
  lt_u: "ge_u",
  gt_s: "le_s",
  gt_u: "le_u",
  le_s: "gt_s",
  le_u: "gt_u",
  ge_s: "lt_s",
  ge_u: "lt_u"
}

const ORDER: ReadonlyArray<Relation> = ["eq", "ne", "lt_s", "lt_u", "gt_s", "gt_u", "le_s", "le_u", "ge_s", "ge_u"]

/**
 * What the search needs to know of values.
 *
 * @category models
 * @since 0.1.0
 */
export interface Values {
  readonly graph: Graph
  readonly variables: ReadonlyMap<number, InductionVariable>
  readonly at: (node: number, block: number) => Polynomial | undefined
  readonly isInvariant: (node: number) => boolean
}

/**
 * The tests that bound a loop, as one with further ones. Those that `isUsable` come first, and when there are any, the
 * others count as ways out of unknown outcome.
 *
 * @category analysis
 * @since 0.1.0
 */
export const findTrip = (values: Values, loop: Loop, isUsable: (trip: Trip) => boolean): Trip | undefined => {
  const all = new TripFinder(values).find(loop)
  const usable = all.filter(isUsable)
  const [first, ...others] = usable.length > 0 ? usable : all
  if (first === undefined) return undefined
  const tests = usable.length > 0 ? usable : all
  const { body } = values.graph.loops[0]
  // Out of an inner loop straight out of loop 0: an iteration that goes on has not taken that way.
  const only = loop.exits.every(({ edge }) =>
    tests.some((test) => test.edge === edge) || (loop.id !== 0 && !body.has(edge.to))
  )
  return { ...first, others, only }
}

/** Ways out of a loop that a condition decides which each iteration asks once. @category queries @since 0.1.0 */
export const exitTests = (g: Graph, loop: Loop): Loop["exits"] =>
  loop.exits.filter(({ edge, from }) =>
    g.inner[from] === loop.id && g.blocks[from].condition > 0 && (edge.kind === "true" || edge.kind === "false") &&
    loop.latches.every((latch) => g.order[latch] < 0 || g.dominates(from, latch))
  )

class TripFinder {
  readonly values: Values
  readonly graph: Graph

  constructor(values: Values) {
    this.values = values
    this.graph = values.graph
  }

  /** Tests that every iteration passes exactly once. */
  find(loop: Loop): Array<Trip> {
    const g = this.graph
    const found: Array<Trip> = []
    for (const { edge, from } of exitTests(g, loop)) {
      const { branchOffset, condition } = g.blocks[from]
      const trip = this.#tripOf(loop, from, edge, condition, branchOffset)
      if (trip !== undefined) found.push(trip)
    }
    return found
  }

  #tripOf(loop: Loop, from: number, edge: Edge, condition: number, branchOffset: number): Trip | undefined {
    const g = this.graph
    let node = condition
    // The loop goes on when the branch to outside is not taken.
    let goesOnWhen = edge.kind === "false"
    while (g.kind[node] === Kind.Op && g.op[node] === 0x45) {
      node = g.a[node]
      goesOnWhen = !goesOnWhen
    }
    let relation: Relation = "ne"
    let left = node
    let right = 0
    let wide = false
    if (g.kind[node] === Kind.Op) {
      const op = g.op[node]
      if (op >= 0x46 && op <= 0x4f) {
        relation = ORDER[op - 0x46]
        left = g.a[node]
        right = g.b[node]
      } else if (op >= 0x51 && op <= 0x5a) {
        relation = ORDER[op - 0x51]
        left = g.a[node]
        right = g.b[node]
        wide = true
      } else if (op === 0x50) {
        relation = "eq"
        left = g.a[node]
        wide = true
      }
    }
    if (!goesOnWhen) relation = NEGATE[relation]
    if (relation === "eq") return undefined
    const common = { loop: loop.id, from, edge, branchOffset, others: [], only: false }
    if (wide) return this.#wideTrip(loop, relation, left, right, common)
    return this.#narrowTrip(loop, relation, left, right, common) ??
      (right === 0 ? undefined : this.#narrowTrip(loop, FLIP[relation], right, left, common))
  }

  #narrowTrip(
    loop: Loop,
    relation: Relation,
    left: number,
    right: number,
    common: Pick<Trip, "loop" | "from" | "edge" | "branchOffset" | "others" | "only">
  ): Trip | undefined {
    const x = this.values.at(left, common.from)
    const limit = right === 0 ? constant(0) : this.values.at(right, common.from)
    if (x === undefined || limit === undefined) return undefined
    const name = `J${loop.id}`
    const own = (s: string): boolean => s === name || isUnsolved(s) || isRange(s)
    const parts = linearIn(x, name)
    if (parts === undefined || mentions(limit, own) || mentions(parts.coefficient, own) || mentions(parts.rest, own)) {
      return undefined
    }
    if (isConstant(parts.coefficient) && parts.coefficient.constant === 0) return undefined
    return {
      ...common,
      relation,
      wide: false,
      start: parts.rest,
      step: parts.coefficient,
      limit,
      wideStart: undefined,
      wideStep: 0n,
      wideLimit: 0
    }
  }

  #wideTrip(
    loop: Loop,
    relation: Relation,
    left: number,
    right: number,
    common: Pick<Trip, "loop" | "from" | "edge" | "branchOffset" | "others" | "only">
  ): Trip | undefined {
    const g = this.graph
    const side = (node: number): { variable: InductionVariable; plus: bigint } | undefined => {
      let plus = 0n
      let inner = node
      if (g.kind[inner] === Kind.Op && (g.op[inner] === 0x7c || g.op[inner] === 0x7d)) {
        if (g.kind[g.b[inner]] !== Kind.Const64) return undefined
        const literal = g.aux[g.b[inner]] as bigint
        plus = g.op[inner] === 0x7c ? literal : -literal
        inner = g.a[inner]
      }
      const variable = this.values.variables.get(inner)
      return variable?.wideStep !== undefined && variable.loop === loop.id ? { variable, plus } : undefined
    }
    for (const [x, y, r] of [[left, right, relation], [right, left, FLIP[relation]]] as const) {
      const found = x === 0 ? undefined : side(x)
      if (found === undefined || (y !== 0 && !this.values.isInvariant(y))) continue
      return {
        ...common,
        relation: r,
        wide: true,
        start: constant(0),
        step: constant(Number(BigInt.asIntN(32, found.variable.wideStep!))),
        limit: constant(0),
        wideStart: { node: found.variable.initial, plus: found.plus },
        wideStep: found.variable.wideStep!,
        wideLimit: y
      }
    }
    return undefined
  }
}
