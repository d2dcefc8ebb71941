/**
 * Induction: how values change from iteration to iteration, as polynomials; and how often a loop runs.
 *
 * @since 0.1.0
 */
import type { Edge, Graph, Loop } from "./graph.ts"
import { Kind } from "./graph.ts"
import type { Polynomial } from "./polynomial.ts"
import { add, constant, isConstant, linearIn, mentions, multiply, product, substitute, symbol } from "./polynomial.ts"
import type { Range } from "./range.ts"
import { Ranges } from "./range.ts"

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
  /** True when no other way leads out of the loop. */
  readonly only: boolean
}

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

/** Blocks passed on the way to a merge. */
const MAXIMUM_PATH = 24

/** Work units (visited values) that one region may cost. @category constants @since 0.1.0 */
export const ANALYSIS_BUDGET = 400_000

/**
 * Thrown when a region costs more than {@link ANALYSIS_BUDGET}.
 *
 * @category errors
 * @since 0.1.0
 */
export class AnalysisBudgetExceeded extends Error {
  readonly _tag = "AnalysisBudgetExceeded"
}

const isIteration = (s: string): boolean => s.startsWith("J")
const isUnsolved = (s: string): boolean => s.startsWith("P")
const isRange = (s: string): boolean => s.startsWith("R")

/** True for a symbol that differs between iterations of the loop to be split. @category queries @since 0.1.0 */
export const isVarying = (s: string): boolean => isIteration(s) || isUnsolved(s) || isRange(s)

/**
 * Induction analysis of a region; loop 0 is the loop to be split.
 *
 * @category analysis
 * @since 0.1.0
 */
export class Induction {
  readonly variables = new Map<number, InductionVariable>()
  /** Header phis whose value never changes while their loop runs. */
  readonly unchanged = new Set<number>()
  readonly trips = new Map<number, Trip | undefined>()
  /** Ranges behind `R` symbols. */
  readonly ranges = new Map<string, Range>()
  /** Loads taken as invariant; the guard evaluates them and the footprint must show that no store touches them. */
  readonly invariantLoads = new Set<number>()
  readonly graph: Graph
  readonly #memo = new Map<number, Polynomial | undefined>()
  readonly #invariant = new Map<number, boolean>()
  readonly #ranges: Ranges
  #budget = ANALYSIS_BUDGET

  constructor(graph: Graph) {
    this.graph = graph
    this.#ranges = new Ranges(graph)
    for (const loop of graph.loops) for (const phi of loop.phis) if (this.#neverChanges(phi)) this.unchanged.add(phi)
    // Inner loops first: an outer pointer may advance through them.
    for (let id = graph.loops.length - 1; id >= 0; id--) this.#solve(graph.loops[id])
  }

  /** Whether a node has the same value in every iteration of loop 0, and the guard can compute it. */
  isInvariant(node: number): boolean {
    const g = this.graph
    const known = this.#invariant.get(node)
    if (known !== undefined) return known
    this.#tick()
    this.#invariant.set(node, false)
    const result = this.#computeInvariant(node)
    this.#invariant.set(node, result)
    if (result && g.kind[node] === Kind.Load) this.invariantLoads.add(node)
    return result
  }

  #computeInvariant(node: number): boolean {
    const g = this.graph
    switch (g.kind[node]) {
      case Kind.Entry:
      case Kind.Global:
      case Kind.Const32:
      case Kind.Const64:
      case Kind.MemorySize:
      case Kind.Derived:
        return g.type[node] === "i32" || g.type[node] === "i64"
      case Kind.Op:
        return isGuardOperation(g.op[node]) && this.isInvariant(g.a[node]) &&
          (g.b[node] === 0 || this.isInvariant(g.b[node]))
      case Kind.Select:
        return this.isInvariant(g.a[node]) && this.isInvariant(g.b[node]) && this.isInvariant(g.c[node])
      case Kind.Load:
        return (g.type[node] === "i32" || g.type[node] === "i64") && g.op[node] < 0x100 && this.isInvariant(g.a[node])
      case Kind.Phi:
        return this.unchanged.has(node) && this.isInvariant(g.phi(node).inputs[0].value)
      default:
        return false
    }
  }

  /** The value of an i32 node (or the low half of an i64 node), `undefined` when it is not understood. */
  polynomial(node: number): Polynomial | undefined {
    if (this.#memo.has(node)) return this.#memo.get(node)
    this.#tick()
    this.#memo.set(node, undefined)
    const value = this.#compute(node)
    this.#memo.set(node, value)
    return value
  }

  /** The value of a node as seen in a block: behind an inner loop its iteration number is its last one. */
  at(node: number, block: number): Polynomial | undefined {
    let p = this.polynomial(node)
    if (p === undefined || p.terms.size === 0) return p
    for (const loop of this.graph.loops) {
      const name = `J${loop.id}`
      if (loop.id === 0 || loop.body.has(block) || !mentions(p, (s) => s === name)) continue
      const trip = this.trip(loop.id)
      if (trip === undefined || !trip.only || !this.isInvariantTrip(trip)) return undefined
      p = substitute(p, name, symbol(`T${loop.id}`))
      if (p === undefined) return undefined
    }
    return p
  }

  /** True when start, step and limit are the same in every iteration of loop 0. */
  isInvariantTrip(trip: Trip): boolean {
    if (trip.wide) {
      return trip.wideStart !== undefined && this.isInvariant(trip.wideStart.node) && this.isInvariant(trip.wideLimit)
    }
    return !mentions(trip.start, isVarying) && !mentions(trip.step, isVarying) && !mentions(trip.limit, isVarying)
  }

  /** The test that bounds a loop, preferring one that is its only exit. */
  trip(id: number): Trip | undefined {
    if (!this.trips.has(id)) {
      this.trips.set(id, undefined)
      this.trips.set(id, this.#findTrip(this.graph.loops[id]))
    }
    return this.trips.get(id)
  }

  #tick(): void {
    if (--this.#budget < 0) throw new AnalysisBudgetExceeded("analysis budget exceeded")
  }

  /** True when every way round the loop brings the phi's own value back. */
  #neverChanges(phi: number): boolean {
    const g = this.graph
    const seen = new Set<number>()
    const same = (value: number): boolean => {
      if (value === phi || seen.has(value)) return true
      seen.add(value)
      return g.kind[value] === Kind.Phi && g.phi(value).inputs.every((input) => same(input.value))
    }
    return g.phi(phi).inputs.slice(1).every((input) => g.order[input.block] < 0 || same(input.value))
  }

  #solve(loop: Loop): void {
    const g = this.graph
    if (loop.body.size === 0) return
    const found: Array<InductionVariable> = []
    for (const phi of loop.phis) {
      if (this.unchanged.has(phi)) continue
      const info = g.phi(phi)
      const backs = info.inputs.slice(1).filter((input) => g.order[input.block] >= 0)
      if (backs.length === 0) continue
      if (g.type[phi] === "i64") {
        const step = this.#wideStep(phi, backs.map((b) => b.value))
        if (step !== undefined) {
          found.push({
            phi,
            loop: loop.id,
            initial: info.inputs[0].value,
            step: constant(Number(BigInt.asIntN(32, step))),
            wideStep: step
          })
        }
        continue
      }
      if (g.type[phi] !== "i32") continue
      let step: Polynomial | undefined
      for (const [index, back] of backs.entries()) {
        const value = this.at(back.value, back.block)
        const one = value === undefined ? undefined : add(value, symbol(`P${phi}`), -1)
        if (one === undefined || mentions(one, isVarying)) step = undefined
        else if (index === 0) step = one
        else if (step !== undefined) step = same(step, one) ? step : undefined
        if (step === undefined) break
      }
      if (step !== undefined && isConstant(step) && step.constant === 0) this.unchanged.add(phi)
      else if (step !== undefined) {
        found.push({ phi, loop: loop.id, initial: info.inputs[0].value, step, wideStep: undefined })
      }
    }
    for (const variable of found) this.variables.set(variable.phi, variable)
    // What was computed with unsolved phis is out of date now.
    this.#memo.clear()
    this.#invariant.clear()
    this.trips.clear()
  }

  #wideStep(phi: number, backs: ReadonlyArray<number>): bigint | undefined {
    const g = this.graph
    let step: bigint | undefined
    for (const back of backs) {
      const op = g.op[back]
      if (g.kind[back] !== Kind.Op || (op !== 0x7c && op !== 0x7d)) return undefined
      if (g.a[back] !== phi || g.kind[g.b[back]] !== Kind.Const64) return undefined
      const value = g.aux[g.b[back]] as bigint
      const one = op === 0x7c ? value : -value
      if (step !== undefined && step !== one) return undefined
      step = one
    }
    return step
  }

  #compute(node: number): Polynomial | undefined {
    const g = this.graph
    const kind = g.kind[node]
    if (kind === Kind.Const32) return constant(g.a[node])
    if (kind === Kind.Const64) return constant(Number(BigInt.asIntN(32, g.aux[node] as bigint)))
    if (g.type[node] !== "i32" && g.type[node] !== "i64") return undefined
    if (kind === Kind.Derived) return g.aux[node] as Polynomial
    if (kind === Kind.Entry || kind === Kind.Global || kind === Kind.MemorySize) return symbol(`n${node}`)
    if (kind === Kind.Phi && g.phi(node).loop >= 0) return this.#header(node)
    const composed = kind === Kind.Op ? this.#operation(node) : kind === Kind.Phi || kind === Kind.Select
      ? this.#merged(node)
      : undefined
    if (composed !== undefined) return composed
    if (this.isInvariant(node)) return symbol(`n${node}`)
    const range = g.type[node] === "i32" ? this.#ranges.of(node) : undefined
    return range === undefined ? undefined : this.#ranged(node, range)
  }

  #header(phi: number): Polynomial | undefined {
    const variable = this.variables.get(phi)
    if (this.unchanged.has(phi)) return this.polynomial(this.graph.phi(phi).inputs[0].value)
    if (variable === undefined) return this.graph.type[phi] === "i32" ? symbol(`P${phi}`) : undefined
    const initial = this.at(variable.initial, this.graph.phi(phi).inputs[0].block)
    const advance = multiply(variable.step, symbol(`J${variable.loop}`))
    return initial === undefined || advance === undefined ? undefined : add(initial, advance)
  }

  #ranged(node: number, range: Range): Polynomial {
    const name = `R${node}`
    this.ranges.set(name, range)
    return symbol(name)
  }

  #operation(node: number): Polynomial | undefined {
    const g = this.graph
    const a = g.a[node]
    const b = g.b[node]
    const block = g.block[node]
    const literal = g.kind[b] === Kind.Const32
      ? g.a[b]
      : g.kind[b] === Kind.Const64
      ? Number(BigInt.asIntN(32, g.aux[b] as bigint))
      : undefined
    const x = (): Polynomial | undefined => this.at(a, block)
    const both = (combine: (p: Polynomial, q: Polynomial) => Polynomial | undefined): Polynomial | undefined => {
      const p = x()
      const q = p === undefined ? undefined : this.at(b, block)
      return p === undefined || q === undefined ? undefined : combine(p, q)
    }
    switch (g.op[node]) {
      case 0x6a:
      case 0x7c:
        return both((p, q) => add(p, q))
      case 0x6b:
      case 0x7d:
        return both((p, q) => add(p, q, -1))
      case 0x6c:
      case 0x7e:
        return both(multiply)
      case 0x74:
      case 0x86: {
        const p = literal === undefined ? undefined : x()
        if (p === undefined) return undefined
        const shift = g.op[node] === 0x74 ? literal! & 31 : literal! & 63
        return shift > 31 ? constant(0) : multiply(p, constant(1 << shift))
      }
      case 0x72: { // or with a constant whose bits are zero on the left side
        const p = literal === undefined ? undefined : x()
        return p !== undefined && lowBitsZero(p, literal!) ? add(p, constant(literal!)) : undefined
      }
      case 0x71: { // and with a mask that drops low bits which are zero anyway
        const p = literal !== undefined && literal < 0 ? x() : undefined
        return p !== undefined && isLowMask(~literal!) && lowBitsZero(p, ~literal!) ? p : undefined
      }
      case 0xa7:
      case 0xac:
      case 0xad:
        return x()
      default:
        return undefined
    }
  }

  /**
   * A merge or select whose alternatives differ by invariants is the first of them plus, when the choice is invariant
   * too, a select that the guard evaluates; else plus a value of known range, when they differ by constants.
   */
  #merged(node: number): Polynomial | undefined {
    const g = this.graph
    const isSelect = g.kind[node] === Kind.Select
    const inputs = isSelect ? [] : g.phi(node).inputs.filter((i) => g.order[i.block] >= 0)
    const alternatives = isSelect
      ? [this.at(g.a[node], g.block[node]), this.at(g.b[node], g.block[node])]
      : inputs.map((i) => this.at(i.value, i.block))
    const first = alternatives[0]
    if (first === undefined) return undefined
    const differences: Array<Polynomial> = []
    for (const other of alternatives) {
      const difference = other === undefined ? undefined : add(other, first, -1)
      if (difference === undefined || mentions(difference, isVarying)) return undefined
      differences.push(difference)
    }
    if (differences.every((d) => isConstant(d) && d.constant === 0)) return first
    const derived = differences.map((d) => g.node(Kind.Derived, 0, 0, 0, 0, "i32", 0, d))
    const chosen = isSelect
      ? this.isInvariant(g.c[node]) ? this.#select(g.c[node], derived[0], derived[1]) : undefined
      : this.#chosen(g.phi(node).block, new Map(inputs.map((input, index) => [input.block, derived[index]])))
    if (chosen !== undefined) return add(first, symbol(`n${chosen}`))
    if (!differences.every(isConstant)) return undefined
    const low = Math.min(...differences.map((d) => d.constant))
    const high = Math.max(...differences.map((d) => d.constant))
    return high - low >= 2 ** 31 ? undefined : add(first, this.#ranged(node, { low, high }))
  }

  #select(condition: number, chosen: number, otherwise: number): number {
    return this.graph.node(Kind.Select, 0, chosen, otherwise, condition, "i32", 0)
  }

  /**
   * A node that equals the value of the predecessor through which `merge` is reached, when only invariant conditions
   * decide about that; inner loops with one exit are passed over.
   */
  #chosen(merge: number, values: ReadonlyMap<number, number>): number | undefined {
    const g = this.graph
    const { body } = g.loops[0]
    let steps = 0
    const along = (from: number, to: number): number | undefined => {
      if (to === merge) return values.get(from)
      if (++steps > MAXIMUM_PATH || !body.has(to)) return undefined
      const inner = g.loops.find((loop) => loop.id > 0 && loop.header === to && loop.body.size > 0)
      if (inner !== undefined && !inner.body.has(merge)) {
        const [exit] = inner.exits
        return inner.exits.length === 1 ? along(exit.from, exit.edge.to) : undefined
      }
      return leaving(to)
    }
    const leaving = (block: number): number | undefined => {
      const { condition, succs } = g.blocks[block]
      if (succs.length === 1) return along(block, succs[0].to)
      const yes = succs.find((s) => s.kind === "true")
      const no = succs.find((s) => s.kind === "false")
      if (succs.length !== 2 || yes === undefined || no === undefined || !this.isInvariant(condition)) return undefined
      if (yes.to === no.to) return undefined
      const chosen = along(block, yes.to)
      const otherwise = chosen === undefined ? undefined : along(block, no.to)
      return otherwise === undefined ? undefined : this.#select(condition, chosen!, otherwise)
    }
    return body.has(g.idom[merge]) ? leaving(g.idom[merge]) : undefined
  }

  // --- trip counts -------------------------------------------------------------------------------------------

  #findTrip(loop: Loop): Trip | undefined {
    const g = this.graph
    let best: Trip | undefined
    for (const exit of loop.exits) {
      if (g.inner[exit.from] !== loop.id) continue
      if (!loop.latches.every((latch) => g.order[latch] < 0 || g.dominates(exit.from, latch))) continue
      const block = g.blocks[exit.from]
      if (block.condition === 0 || (exit.edge.kind !== "true" && exit.edge.kind !== "false")) continue
      const trip = this.#tripOf(loop, exit.from, exit.edge, block.condition, block.branchOffset)
      if (trip === undefined) continue
      if (trip.only) return trip
      best ??= trip
    }
    return best
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
    const common = { loop: loop.id, from, edge, branchOffset, only: loop.exits.length === 1 }
    if (wide) return this.#wideTrip(loop, relation, left, right, common)
    return this.#narrowTrip(loop, relation, left, right, common) ??
      (right === 0 ? undefined : this.#narrowTrip(loop, FLIP[relation], right, left, common))
  }

  #narrowTrip(
    loop: Loop,
    relation: Relation,
    left: number,
    right: number,
    common: Pick<Trip, "loop" | "from" | "edge" | "branchOffset" | "only">
  ): Trip | undefined {
    const x = this.at(left, common.from)
    const limit = right === 0 ? constant(0) : this.at(right, common.from)
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
    common: Pick<Trip, "loop" | "from" | "edge" | "branchOffset" | "only">
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
      const variable = this.variables.get(inner)
      return variable?.wideStep !== undefined && variable.loop === loop.id ? { variable, plus } : undefined
    }
    for (const [x, y, r] of [[left, right, relation], [right, left, FLIP[relation]]] as const) {
      const found = x === 0 ? undefined : side(x)
      if (found === undefined || (y !== 0 && !this.isInvariant(y))) continue
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

const same = (p: Polynomial, q: Polynomial): boolean => {
  const difference = add(p, q, -1)
  return difference !== undefined && isConstant(difference) && difference.constant === 0
}

const isLowMask = (bits: number): boolean => bits >= 0 && (bits & (bits + 1)) === 0

/** True when every coefficient and the constant are multiples of the power of two above `bits`. */
const lowBitsZero = (p: Polynomial, bits: number): boolean => {
  if (bits < 0) return false
  let mask = 1
  while (mask <= bits && mask < 2 ** 30) mask *= 2
  if (mask <= bits) return false
  if ((p.constant & (mask - 1)) !== 0) return false
  for (const term of p.terms.values()) if ((term.coefficient & (mask - 1)) !== 0) return false
  return true
}

/** Integer operations that the guard can evaluate without a trap (division is checked there). */
const isGuardOperation = (op: number): boolean =>
  (op >= 0x45 && op <= 0x5a) || (op >= 0x67 && op <= 0x8a) || op === 0xa7 || op === 0xac || op === 0xad ||
  (op >= 0xc0 && op <= 0xc4)

/** The polynomial of one product of symbols, for callers that rebuild terms. @category constructors @since 0.1.0 */
export const termPolynomial = product
