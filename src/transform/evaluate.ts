/**
 * Evaluation at run time: code that computes invariant values, polynomials and trip counts from captured values.
 *
 * The code is straight-line inside one block; whatever rules the parallel run out branches to that block's end.
 *
 * @since 0.1.0
 */
import type { Condition } from "../analysis/conditions.ts"
import { necessaryConditions } from "../analysis/conditions.ts"
import type { LoadInfo } from "../analysis/graph.ts"
import { Kind } from "../analysis/graph.ts"
import type { Polynomial } from "../analysis/polynomial.ts"
import type { Trip } from "../analysis/trip.ts"
import { testsOf } from "../analysis/trip.ts"
import type { ValueType } from "../binary/module.ts"
import { loadShape } from "../binary/opcodes.ts"
import { REFUSAL_WORDS, REFUSALS } from "../plan/frame.ts"
import type { LoopFacts } from "../plan/loop.ts"
import { packRefusal, Refusal } from "../plan/refusal.ts"
import type { Obligation } from "../plan/types.ts"
import { Assembler } from "./assembler.ts"

/** Most iterations of a loop that the guard accepts; keeps products inside 64 bits. @category constants @since 0.1.0 */
export const MAXIMUM_TRIP = 2 ** 30

/** Nodes named by a polynomial. @category queries @since 0.1.0 */
export const polynomialNodes = (p: Polynomial): Array<string> => p.terms.flatMap((t) => t.symbols)

/**
 * Emits evaluations into `code`; values stay in locals, each computed once.
 *
 * @category transforms
 * @since 0.1.0
 */
export class Evaluator {
  readonly code = new Assembler()
  /** Locals behind the parameters. */
  readonly locals: Array<ValueType> = []
  readonly facts: LoopFacts
  readonly omit: (obligation: Obligation) => boolean
  readonly #nodes = new Map<number, number>()
  readonly #trips = new Map<number, number>()
  readonly #parameters: number
  /** Whether the loop whose trips are being counted is reached (a local), `undefined` for always. */
  #runs: number | undefined

  /** What the next tests are about ({@link packRefusal}). */
  because = 0
  readonly #plan: number

  constructor(facts: LoopFacts, plan: number, omit: (obligation: Obligation) => boolean) {
    this.#plan = plan
    this.facts = facts
    this.omit = omit
    this.#parameters = facts.captures.length
    facts.captures.forEach((capture, k) => this.#nodes.set(capture.node, k))
  }

  local(type: ValueType): number {
    this.locals.push(type)
    return this.#parameters + this.locals.length - 1
  }

  /** As {@link refuseIf}, but only when the loop in question is reached. */
  #refuseTrip(): void {
    if (this.#runs !== undefined) this.code.op(0x45).op(0x45).get(this.#runs).op(0x71)
    this.refuseIf()
  }

  /** Leaves the guard when the i32 on the stack is not zero, and says why: {@link Evaluator.because}. */
  refuseIf(): void {
    const { code } = this
    if (this.#plan >= REFUSAL_WORDS) {
      code.brIf(0)
      return
    }
    code.if().i32(REFUSALS + 4 * this.#plan).i32(this.because).storeControl("i32").br(1).end()
  }

  /** Pushes the value of an invariant node. */
  node(node: number): void {
    const { code } = this
    const { graph } = this.facts
    if (graph.kind[node] === Kind.Const32) {
      code.i32(graph.a[node])
      return
    }
    if (graph.kind[node] === Kind.Const64) {
      code.i64(graph.aux[node] as bigint)
      return
    }
    const known = this.#nodes.get(node)
    if (known !== undefined) {
      code.get(known)
      return
    }
    this.#compute(node)
    const local = this.local(graph.type[node])
    code.tee(local)
    this.#nodes.set(node, local)
  }

  #compute(node: number): void {
    const { code } = this
    const { graph } = this.facts
    const op = graph.op[node]
    switch (graph.kind[node]) {
      case Kind.MemorySize: {
        const same = this.facts.captures.findIndex((c) => c.source === "memory-size")
        code.get(same)
        return
      }
      case Kind.Derived:
        this.polynomial(this.facts.graph.aux[node] as Polynomial)
        return
      case Kind.Phi:
        this.node(graph.phi(node).inputs[0].value)
        return
      case Kind.Select:
        this.node(graph.a[node])
        this.node(graph.b[node])
        this.node(graph.c[node])
        code.op(0x1b)
        return
      case Kind.Load:
        this.#invariantLoad(node)
        return
      case Kind.Op: {
        const divides = (op >= 0x6d && op <= 0x70) || (op >= 0x7f && op <= 0x82)
        if (divides) this.#testDivisor(graph.b[node], true)
        this.node(graph.a[node])
        if (graph.b[node] > 0) this.node(graph.b[node])
        code.op(op)
        return
      }
      default:
        throw new Error(`value of kind ${graph.kind[node]} cannot be evaluated at entry`)
    }
  }

  /** Refuses a divisor of 0, and of -1 when `signed`. */
  #testDivisor(divisor: number, signed: boolean): void {
    const { code } = this
    const wide = this.facts.graph.type[divisor] === "i64"
    this.node(divisor)
    code.op(wide ? 0x50 : 0x45)
    this.refuseIf()
    if (!signed) return
    this.node(divisor)
    if (wide) code.i64(-1).op(0x51)
    else code.i32(-1).op(0x46)
    this.refuseIf()
  }

  /** Tests the invariant divisors of the loop itself. */
  divisors(): void {
    this.because = packRefusal(Refusal.DIVISOR)
    for (const { node, offset, signed } of this.facts.divisors) {
      if (!this.omit({ kind: "safe-divisor", offset })) this.#testDivisor(node, signed)
    }
  }

  #invariantLoad(node: number): void {
    const { code } = this
    const { graph } = this.facts
    const info = graph.aux[node] as LoadInfo
    const shape = loadShape(graph.op[node])!
    const position = graph.accesses.find((access) => access.node === node)?.position ?? 0
    const checked = !this.omit({ kind: "invariant-load", offset: position })
    // extend(address) + offset + bytes > size of memory: the load might trap, and it may never be executed
    this.node(graph.a[node])
    code.op(0xad).i64(info.offset + shape.bytes).op(0x7c)
    this.memoryBytes()
    code.op(0x56)
    const before = this.because
    this.because = packRefusal(Refusal.LOAD)
    if (checked) this.refuseIf()
    else code.op(0x1a)
    this.because = before
    this.node(graph.a[node])
    code.access(graph.op[node], 0, info.offset)
  }

  /** Pushes the bytes of memory 0 as i64. */
  memoryBytes(): void {
    this.code.op(0x3f)
    this.code.out.u8(0)
    this.code.op(0xad).i64(65536).op(0x7e)
  }

  /** Pushes the i32 value of a polynomial in invariants and inner trips. */
  polynomial(p: Polynomial): void {
    const { code } = this
    let first = true
    for (const term of p.terms) {
      term.symbols.forEach((s, index) => {
        this.#symbol(s)
        if (index > 0) code.op(0x6c)
      })
      if (term.coefficient !== 1) code.i32(term.coefficient).op(0x6c)
      if (!first) code.op(0x6a)
      first = false
    }
    if (first) code.i32(p.constant)
    else if (p.constant !== 0) code.i32(p.constant).op(0x6a)
  }

  #symbol(name: string): void {
    const id = Number(name.slice(1))
    if (name.startsWith("n")) {
      this.node(id)
      if (this.facts.graph.type[id] === "i64") this.code.op(0xa7)
      return
    }
    if (name.startsWith("T")) {
      this.code.get(this.tripCount(this.facts.induction.trip(id)!)).op(0xa7)
      return
    }
    throw new Error(`symbol ${name} is not invariant`)
  }

  /**
   * A local (i64) with the number of times that the loop's test lets it go on. Refuses when the count is not exact or
   * above {@link MAXIMUM_TRIP}.
   */
  tripCount(trip: Trip): number {
    const known = this.#trips.get(trip.loop)
    if (known !== undefined) return known
    const { code } = this
    const { graph, induction } = this.facts
    const before = this.because
    this.because = packRefusal(Refusal.TRIP, trip.loop)
    const conditions = trip.loop === 0 ? [] : necessaryConditions(induction, graph.loops[trip.loop].header)
    const outer = this.#runs
    this.#runs = this.executed(conditions)
    const [first, ...others] = testsOf(trip).map((test) => this.#testCount(test))
    for (const other of others) {
      code.get(first).get(other).get(first).get(other).op(0x54).op(0x1b).set(first)
    }
    // A loop that is not reached has no iteration; nothing about it was refused.
    if (this.#runs !== undefined) code.get(first).i64(0).get(this.#runs).op(0x1b).set(first)
    this.#runs = outer
    this.because = before
    this.#trips.set(trip.loop, first)
    return first
  }

  /** Local (i32) that is 1 when all conditions hold; `undefined` when there are none. */
  executed(conditions: ReadonlyArray<Condition>): number | undefined {
    const { code } = this
    if (conditions.length === 0) return undefined
    conditions.forEach(({ expected, node }, index) => {
      this.node(node)
      code.op(0x45)
      if (expected) code.op(0x45)
      if (index > 0) code.op(0x71)
    })
    const local = this.local("i32")
    code.set(local)
    return local
  }

  #testCount(trip: Trip): number {
    const { code } = this
    const checked = !this.omit({ kind: "exact-trip", loop: trip.loop, offset: trip.branchOffset })
    const unsigned = trip.relation.endsWith("_u") || trip.relation === "ne"
    const x = this.local("i64")
    const y = this.local("i64")
    const s = this.local("i64")
    const count = this.local("i64")
    if (trip.wide) this.#wideOperands(trip, x, y, s)
    else {
      const widen = unsigned ? 0xad : 0xac
      this.polynomial(trip.start)
      code.op(widen).set(x)
      this.polynomial(trip.limit)
      code.op(widen).set(y)
      this.polynomial(trip.step)
      code.op(0xac).set(s)
    }
    if (trip.relation === "ne") this.#countNotEqual(trip, x, y, s, count, checked)
    else this.#countOrdered(trip, x, y, s, count, checked)
    code.get(count).i64(MAXIMUM_TRIP).op(0x56)
    this.#refuseTrip()
    return count
  }

  #wideOperands(trip: Trip, x: number, y: number, s: number): void {
    const { code } = this
    this.node(trip.wideStart!.node)
    code.i64(trip.wideStart!.plus).op(0x7c).set(x)
    if (trip.wideLimit === 0) code.i64(0).set(y)
    else {
      this.node(trip.wideLimit)
      code.set(y)
    }
    code.i64(trip.wideStep).set(s)
    // Both inside [0, 2³¹): then signed and unsigned order agree and nothing below overflows.
    code.get(x).get(y).op(0x84).i64(2 ** 31).op(0x5a)
    this.#refuseTrip()
  }

  /** goes on while x ≠ y: y must be hit exactly. */
  #countNotEqual(trip: Trip, x: number, y: number, s: number, count: number, checked: boolean): void {
    const { code } = this
    const distance = this.local("i64")
    const stride = this.local("i64")
    // distance = s > 0 ? y − x : x − y, modulo 2³² for narrow values
    code.get(y).get(x).op(0x7d).get(x).get(y).op(0x7d).get(s).i64(0).op(0x55).op(0x1b)
    if (!trip.wide) code.i64(0xffffffff).op(0x83)
    code.set(distance)
    code.get(s).i64(0).get(s).op(0x7d).get(s).i64(0).op(0x55).op(0x1b).set(stride)
    code.get(stride).op(0x50)
    this.#refuseTrip()
    this.#atLeastOne(stride)
    if (trip.wide) {
      code.get(distance).i64(0).op(0x53)
      this.#refuseTrip()
    }
    if (checked) {
      code.get(distance).get(stride).op(0x82).op(0x50).op(0x45)
      this.#refuseTrip()
    }
    code.get(distance).get(stride).op(0x80).set(count)
  }

  /** goes on while x < y (or ≤, or the mirror images): the last value must not wrap. */
  #countOrdered(trip: Trip, x: number, y: number, s: number, count: number, checked: boolean): void {
    const { code } = this
    const descending = trip.relation.startsWith("g")
    const inclusive = trip.relation.startsWith("le") || trip.relation.startsWith("ge")
    if (descending) { for (const value of [x, y, s]) code.i64(0).get(value).op(0x7d).set(value) }
    const ascends = this.local("i32")
    const stride = this.local("i64")
    code.get(s).i64(0).op(0x55).set(ascends)
    code.get(s).i64(0).get(s).op(0x7d).get(ascends).op(0x1b).set(stride)
    // An unsigned bound also ends a descent: below zero the value wraps to the top.
    const wraps = !descending && !trip.wide && trip.relation.endsWith("_u")
    if (wraps) code.get(stride).op(0x50)
    else code.get(ascends).op(0x45)
    this.#refuseTrip()
    this.#atLeastOne(stride)
    // inclusive: x > y ? 0 : (y − x) / s + 1; else: x >= y ? 0 : (y − x + s − 1) / s
    code.i64(0)
    code.get(y).get(x).op(0x7d)
    if (inclusive) code.get(stride).op(0x7f).i64(1).op(0x7c)
    else code.get(stride).op(0x7c).i64(1).op(0x7d).get(stride).op(0x7f)
    if (wraps) code.get(x).get(stride).op(0x80).i64(1).op(0x7c).get(ascends).op(0x1b)
    code.get(x).get(y).op(inclusive ? 0x55 : 0x59).op(0x1b).set(count)
    if (!checked) return
    const top = trip.relation.endsWith("_u") && !trip.wide
      ? (descending ? 0 : 2 ** 32 - 1)
      : (descending ? 2 ** 31 : 2 ** 31 - 1)
    // The count may be huge before it is bounded: bound it here first, so that the product stays exact.
    code.get(count).i64(MAXIMUM_TRIP).op(0x56)
    this.#refuseTrip()
    code.get(x).get(stride).get(count).op(0x7e).op(0x7c).i64(top).op(0x55)
    if (wraps) code.get(y).get(stride).op(0x7c).i64(2 ** 32).op(0x55).get(ascends).op(0x1b)
    this.#refuseTrip()
  }

  /** Divisors must not be zero even where the result does not count. */
  #atLeastOne(local: number): void {
    this.code.get(local).i64(1).get(local).i64(0).op(0x55).op(0x1b).set(local)
  }
}
