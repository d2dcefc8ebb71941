/**
 * The guard module: one `enter` function a plan, which decides with the values at hand whether the loop's chunks are
 * exactly the serial loop, and if so asks the dispatcher to run them.
 *
 *     (func (export "enter0") (param captured values…) (result induction values… reduced values…)
 *       (block $refuse
 *         trip count T; M = T − 1 iterations can run apart, the rest follows in the original loop
 *         (iteration M is tested along with them: it must not change what they rely on, nor what decides how it ends)
 *         bounds and wrap of every group, disjointness of every pair with a store, divisors
 *         …frame: captured values, steps, written ranges…
 *         (local.set $m (call $dispatch plan M work-per-iteration)))
 *       …induction values after $m iterations, reductions combined…)
 *
 * Intervals of a group over iterations 0 … M, in exact integers (i64):
 *
 *     [ base + min(0, c·M) + Σ min spreads + low,  base + max(0, c·M) + Σ max spreads + high )
 *
 * An address modulo 2³² equals the exact one when the exact one lies in [0, 2³²) throughout, since the polynomial is
 * linear in each varying symbol and so takes its extremes at the ends.
 *
 * @since 0.1.0
 */
import type { Condition } from "../analysis/conditions.ts"
import { necessaryConditions } from "../analysis/conditions.ts"
import type { AccessGroup } from "../analysis/footprint.ts"
import { followsTest } from "../analysis/footprint.ts"
import { Kind } from "../analysis/graph.ts"
import type { ValueType, WasmModule } from "../binary/module.ts"
import type { FrameLayout } from "../plan/frame.ts"
import { RESULT_BYTES, RESULTS, Saved, TICKETS } from "../plan/frame.ts"
import type { LoopFacts } from "../plan/loop.ts"
import { forwardedPairs, needsDisjointness } from "../plan/obligations.ts"
import { packRefusal, Refusal } from "../plan/refusal.ts"
import type { Obligation } from "../plan/types.ts"
import type { Interval } from "./apart.ts"
import { Separation } from "./apart.ts"
import { assembleModule, CONTROL, functionBody } from "./assembler.ts"
import { Evaluator, polynomialNodes } from "./evaluate.ts"

/**
 * A plan as the guard needs it.
 *
 * @category models
 * @since 0.1.0
 */
export interface GuardPlan {
  readonly facts: LoopFacts
  readonly types: ReadonlyArray<ValueType>
  readonly layout: FrameLayout
  /** Store groups of which pieces save the bytes first; empty for a plan that cannot end early. */
  readonly saved: ReadonlyArray<AccessGroup>
  /** Store groups whose range is reported to become private in each lane. */
  readonly windows: ReadonlyArray<AccessGroup>
}

/** Signature of a plan's `enter`. @category transforms @since 0.1.0 */
export const guardType = (
  module: WasmModule,
  plan: Pick<GuardPlan, "facts" | "types">
): { readonly params: ReadonlyArray<ValueType>; readonly results: ReadonlyArray<ValueType> } => ({
  params: plan.facts.captures.map((c) =>
    c.source === "local" ? plan.types[c.index] : c.source === "global" ? module.globals[c.index].valueType : "i32"
  ),
  results: [
    // Whether the loop is passed over.
    ...(plan.facts.extent === "complete" ? ["i32" as const] : []),
    ...plan.facts.variables.map((v) => plan.types[v.local]),
    ...plan.facts.reductions.map((r) => r.type),
    ...plan.facts.handed.map((h) => plan.types[h.local])
  ]
})

/** Bytes of the guard module. @category transforms @since 0.1.0 */
export const guardModule = (
  module: WasmModule,
  plans: ReadonlyArray<GuardPlan>,
  sharedMaximum: number | undefined,
  omit: (obligation: Obligation, plan: number) => boolean = () => false
): Uint8Array => {
  const types: Array<{ params: ReadonlyArray<ValueType>; results: ReadonlyArray<ValueType> }> = [
    { params: ["i32", "i32", "i32"], results: ["i32"] }
  ]
  const functions = plans.map((plan, index) => {
    types.push(guardType(module, plan))
    return {
      name: `enter${index}`,
      typeIndex: index + 1,
      body: new GuardEmitter(module, plan, index, (o) => omit(o, index)).emit()
    }
  })
  return assembleModule({ types, imports: [{ name: "dispatch", typeIndex: 0 }], functions, sharedMaximum })
}

class GuardEmitter {
  readonly evaluator: Evaluator
  readonly module: WasmModule
  readonly plan: GuardPlan
  readonly index: number
  readonly omit: (obligation: Obligation) => boolean
  /** Set when the number of iterations is known. */
  separation!: Separation

  constructor(module: WasmModule, plan: GuardPlan, index: number, omit: (obligation: Obligation) => boolean) {
    this.module = module
    this.plan = plan
    this.index = index
    this.omit = omit
    this.evaluator = new Evaluator(plan.facts, index, omit)
  }

  emit(): Uint8Array {
    const { evaluator, plan } = this
    const { code } = evaluator
    const { facts, layout } = plan
    const done = evaluator.local("i32")
    const apart = evaluator.local("i64")
    const last = evaluator.local("i64")
    const leaving = evaluator.local("i64")
    this.separation = new Separation(evaluator, leaving, (...runs) => this.refuseWhere(...runs))
    const participant = evaluator.local("i32")
    code.block()
    // partial: T − 1 apart, and iteration T − 1 tested along; whole: T; complete: T + 1.
    const { extent } = facts
    const count = evaluator.tripCount(facts.trip)
    code.get(count).i64(1).op(0x7d).set(last)
    code.get(extent === "partial" ? last : count).set(leaving)
    code.get(extent === "partial" ? last : count).i64(extent === "complete" ? 1 : 0).op(0x7c).tee(apart)
    code.i64(2).op(0x53)
    evaluator.because = packRefusal(Refusal.SHORT)
    evaluator.refuseIf()
    evaluator.divisors()
    const intervals = facts.groups.map((group) => this.interval(group, this.isBehindTests(group) ? last : leaving))
    this.disjointness(intervals)
    const units = this.work()
    facts.captures.forEach((_, k) => {
      code.i32(layout.capture(k)).get(k).storeControl(this.captureType(k))
    })
    facts.variables.forEach((variable, k) => {
      if (variable.wideStep !== undefined || polynomialNodes(variable.step).length === 0) return
      code.i32(layout.step(k))
      evaluator.polynomial(variable.step)
      code.storeControl("i32")
    })
    if (facts.handed.length > 0) code.i32(layout.iterations).get(apart).op(0xa7).storeControl("i32")
    plan.saved.forEach((group, k) => {
      const interval = intervals[facts.groups.indexOf(group)]
      const at = layout.saved(k)
      this.report(at + Saved.FIRST_LOW, interval.firstLow, interval)
      this.report(at + Saved.FIRST_HIGH, interval.firstHigh, interval)
      this.report(at + Saved.STRIDE, interval.stride, interval)
      this.report(at + Saved.LOW, interval.low, interval)
      this.report(at + Saved.HIGH, interval.high, interval)
    })
    plan.windows.forEach((group, k) => {
      const interval = intervals[facts.groups.indexOf(group)]
      this.report(layout.range(k), interval.low, interval)
      this.report(layout.range(k) + 8, interval.high, interval)
    })
    code.i32(this.index).get(apart).op(0xa7).get(units).op(0xa7).call(0).set(done)
    code.end()
    // Not so where an early end has left the rest to the original loop, nor where nothing was done.
    const finished = evaluator.local("i32")
    code.get(done).get(apart).op(0xa7).op(0x46).get(done).op(0x45).op(0x45).op(0x71).set(finished)
    if (extent === "complete") code.get(finished)
    facts.variables.forEach((variable, k) => {
      const slot = facts.captures.findIndex((c) => c.node === variable.initial)
      code.get(slot).get(done)
      if (variable.wideStep !== undefined) code.op(0xad).i64(variable.wideStep).op(0x7e).op(0x7c)
      else {
        if (polynomialNodes(variable.step).length === 0) code.i32(variable.step.constant)
        else {
          // Refused before the step was computed: done is 0, and so is the product.
          code.i32(layout.step(k)).access(0x28, CONTROL)
        }
        code.op(0x6c).op(0x6a)
      }
    })
    facts.reductions.forEach((reduction, k) => this.combine(reduction, k, done, participant))
    facts.handed.forEach(({ local, phi }, k) => {
      const slot = facts.captures.findIndex((c) => c.node === facts.graph.phi(phi).inputs[0].value)
      code.loadControl(plan.types[local], layout.handed(k)).get(slot).get(finished).op(0x1b)
    })
    return functionBody(evaluator.locals, code)
  }

  /** True when the iteration that leaves does not come to the group any more. */
  isBehindTests(group: AccessGroup): boolean {
    const { extent, induction, trip } = this.plan.facts
    if (extent === "complete") return false
    return group.members.every(({ access }) => followsTest(induction, trip, access.block))
  }

  captureType(k: number): ValueType {
    return guardType(this.module, this.plan).params[k]
  }

  /** Emits the interval of a group and the tests on its ends. */
  interval(group: AccessGroup, last: number): Interval {
    const { evaluator } = this
    const { code } = evaluator
    evaluator.because = packRefusal(Refusal.SPAN, group.id)
    const runs = evaluator.executed(this.conditionsOf(group))
    const base = evaluator.local("i64")
    const stride = evaluator.local("i64")
    const travel = evaluator.local("i64")
    const least = evaluator.local("i64")
    const most = evaluator.local("i64")
    evaluator.polynomial(group.base)
    code.op(0xad).set(base)
    evaluator.polynomial(group.coefficient)
    code.op(0xac).set(stride)
    code.get(stride).get(last).op(0x7e).set(travel)
    this.refuseHuge(travel)
    code.i64(0).set(least).i64(0).set(most)
    const factors = group.spreads.map((spread) => this.addSpread(spread, least, most))
    const at = (extreme: number, plus: number, over: 0x53 | 0x55 | undefined): number => {
      const local = evaluator.local("i64")
      code.get(base).get(extreme).op(0x7c).i64(plus).op(0x7c)
      if (over !== undefined) code.get(travel).i64(0).get(travel).i64(0).op(over).op(0x1b).op(0x7c)
      code.set(local)
      return local
    }
    const lowest = at(least, group.addressLow, 0x53)
    const highest = at(most, group.addressHigh, 0x55)
    evaluator.because = packRefusal(Refusal.WRAP, group.id)
    if (!this.omit({ kind: "no-wrap", group: group.id })) {
      code.get(lowest).i64(0).op(0x53)
      this.refuseWhere(runs)
      code.get(highest).i64(2 ** 32).op(0x59)
      this.refuseWhere(runs)
    }
    const result: Interval = {
      low: at(least, group.low, 0x53),
      high: at(most, group.high, 0x55),
      firstLow: at(least, group.low, undefined),
      firstHigh: at(most, group.high, undefined),
      stride,
      runs,
      base,
      row: factors.length === 1 && group.spreads[0].symbol.startsWith("J") ? factors[0] : undefined,
      group
    }
    evaluator.because = packRefusal(Refusal.BOUNDS, group.id)
    if (!this.omit({ kind: "in-bounds", group: group.id })) {
      code.get(result.high)
      evaluator.memoryBytes()
      code.op(0x55)
      this.refuseWhere(runs)
    }
    return result
  }

  /** Writes an end of an interval to the frame; 0 where nothing of it is reached, and so nothing was tested. */
  report(byte: number, value: number, { runs }: Interval): void {
    const { code } = this.evaluator
    code.i32(byte).get(value)
    if (runs !== undefined) code.i64(0).get(runs).op(0x1b)
    code.storeControl("i64")
  }

  /** Invariant conditions without which no access of the group is reached. */
  conditionsOf(group: AccessGroup): ReadonlyArray<Condition> {
    const { induction } = this.plan.facts
    const [first, ...others] = group.members.map(({ access }) => necessaryConditions(induction, access.block))
    return first.filter(({ expected, node }) =>
      others.every((conditions) => conditions.some((c) => c.node === node && c.expected === expected))
    )
  }

  /** Refuses when the i32 on the stack is not zero and the accesses that it is about are reached. */
  refuseWhere(...runs: ReadonlyArray<number | undefined>): void {
    const { evaluator } = this
    for (const local of runs) {
      if (local !== undefined) evaluator.code.op(0x45).op(0x45).get(local).op(0x71)
    }
    evaluator.refuseIf()
  }

  /** Refuses a distance that no memory holds, so that sums of distances stay far from the ends of 64 bits. */
  refuseHuge(local: number): void {
    const { evaluator } = this
    evaluator.code.get(local).i64(2 ** 40).op(0x7c).i64(2 ** 41).op(0x56)
    evaluator.refuseIf()
  }

  addSpread(spread: AccessGroup["spreads"][number], least: number, most: number): number {
    const { evaluator } = this
    const { code } = evaluator
    const { induction } = this.plan.facts
    const factor = evaluator.local("i64")
    const one = evaluator.local("i64")
    const two = evaluator.local("i64")
    evaluator.polynomial(spread.coefficient)
    code.op(0xac).set(factor)
    if (spread.symbol.startsWith("J")) {
      const count = evaluator.tripCount(induction.trip(Number(spread.symbol.slice(1)))!)
      code.i64(0).set(one)
      code.get(count)
      if (spread.short) code.i64(1).op(0x7d).i64(0).get(count).i64(0).op(0x55).op(0x1b)
      code.get(factor).op(0x7e).set(two)
    } else {
      const range = induction.ranges.get(spread.symbol)!
      code.get(factor).i64(range.low).op(0x7e).set(one)
      code.get(factor).i64(range.high).op(0x7e).set(two)
    }
    this.refuseHuge(one)
    this.refuseHuge(two)
    code.get(least).get(one).get(two).get(one).get(two).op(0x53).op(0x1b).op(0x7c).set(least)
    code.get(most).get(one).get(two).get(one).get(two).op(0x55).op(0x1b).op(0x7c).set(most)
    return factor
  }

  /**
   * Each pair with a store: the intervals do not meet, or both advance alike and everything that one iteration touches
   * fits into one step. A store next to a private window keeps away from its pages.
   */
  disjointness(intervals: ReadonlyArray<Interval>): void {
    const { groups, privately } = this.plan.facts
    const inside = new Map<AccessGroup, number>()
    for (const { cells, load } of privately.contained) {
      const local = this.separation.isInside(intervals, load, cells)
      const stores = cells.map(({ group }) => group.id)
      if (this.omit({ kind: "written-before-read", load: load.id, stores })) this.evaluator.code.i32(1).set(local)
      inside.set(load, local)
    }
    groups.forEach((store, s) => {
      if (store.kind !== "store") return
      groups.forEach((other, o) => {
        if ((other.kind === "store" && o < s) || !needsDisjointness(privately, store, other)) return
        if (this.omit({ kind: "disjoint", store: store.id, other: other.id })) return
        this.evaluator.because = packRefusal(Refusal.OVERLAP, store.id, other.id)
        const own = store.fixed ? inside.get(other) : undefined
        this.separation.keepApart(intervals[s], intervals[o], s !== o, !store.fixed && !other.fixed, own)
      })
    })
    for (const [store, other] of forwardedPairs(this.plan.facts)) {
      if (this.omit({ kind: "forwarded", store: store.id, other: other.id })) continue
      this.evaluator.because = packRefusal(Refusal.OVERLAP, store.id, other.id)
      this.separation.keepApart(intervals[store.id], intervals[other.id], true, false, undefined)
    }
    for (const window of privately.windows) {
      if (this.omit({ kind: "private", store: window.id })) continue
      const own = intervals[groups.indexOf(window)]
      groups.forEach((store, k) => {
        this.evaluator.because = packRefusal(Refusal.PAGES, window.id, store.id)
        if (store.kind === "store" && !store.fixed) this.separation.keepFromPages(own, intervals[k])
      })
    }
  }

  /** A local (i64) with the instructions of one iteration, inner loops multiplied by their trip counts. */
  work(): number {
    const { evaluator } = this
    const { code } = evaluator
    const { graph, induction } = this.plan.facts
    const own = instructionCounts(graph)
    const units = evaluator.local("i64")
    const emit = (id: number): void => {
      code.i64(own[id])
      for (const inner of graph.loops) {
        if (inner.parent !== id || inner.body.size === 0) continue
        emit(inner.id)
        const trip = induction.trip(inner.id)
        if (trip !== undefined && induction.isInvariantTrip(trip) && !trip.wide) {
          code.get(this.estimate(trip, inner.header)).op(0x7e)
        } else code.i64(UNKNOWN_TRIP).op(0x7e)
        code.op(0x7c)
      }
    }
    emit(0)
    // Clamp to what an i32 holds.
    code.set(units)
    code.get(units).i64(2 ** 30).get(units).i64(2 ** 30).op(0x54).op(0x1b).set(units)
    return units
  }

  /** Inner trip count for the estimate only: |limit − start| / |step| + 1, at most 2²⁰. */
  estimate(trip: LoopFacts["trip"], header: number): number {
    const { evaluator } = this
    const { code } = evaluator
    const runs = evaluator.executed(necessaryConditions(this.plan.facts.induction, header))
    const distance = evaluator.local("i64")
    const result = evaluator.local("i64")
    evaluator.polynomial(trip.limit)
    code.op(0xac)
    evaluator.polynomial(trip.start)
    code.op(0xac).op(0x7d).set(distance)
    code.get(distance).i64(0).get(distance).op(0x7d).get(distance).i64(0).op(0x55).op(0x1b)
    const step = polynomialNodes(trip.step).length === 0 ? Math.max(1, Math.abs(trip.step.constant)) : 1
    code.i64(step).op(0x80).i64(1).op(0x7c).set(result)
    code.get(result).i64(2 ** 20).get(result).i64(2 ** 20).op(0x54).op(0x1b).set(result)
    if (runs !== undefined) code.get(result).i64(0).get(runs).op(0x1b).set(result)
    return result
  }

  /** Pushes the entry value combined with the results of all participants. */
  combine(reduction: LoopFacts["reductions"][number], k: number, done: number, participant: number): void {
    const { evaluator } = this
    const { code } = evaluator
    const { facts } = this.plan
    const initial = facts.graph.phi(reduction.phi).inputs[0].value
    const slot = facts.captures.findIndex((c) => c.node === initial)
    const wide = reduction.type === "i64"
    const total = evaluator.local(reduction.type)
    code.get(slot).set(total)
    if (this.omit({ kind: "reduction", local: reduction.local, operation: reduction.operation })) code.i32(0)
    else code.get(done)
    code.if()
    code.i32(0).set(participant)
    code.loop()
    code.get(total)
    code.get(participant).i32(RESULT_BYTES).op(0x6c).access(wide ? 0x29 : 0x28, CONTROL, RESULTS + 8 * k)
    code.op(COMBINE[reduction.operation][wide ? 1 : 0]).set(total)
    code.get(participant).i32(1).op(0x6a).tee(participant)
    code.loadControl("i32", TICKETS).op(0x49).brIf(0)
    code.end().end()
    code.get(total)
  }
}

const COMBINE: Readonly<Record<string, readonly [number, number]>> = {
  add: [0x6a, 0x7c],
  mul: [0x6c, 0x7e],
  and: [0x71, 0x83],
  or: [0x72, 0x84],
  xor: [0x73, 0x85]
}

/** Trips assumed for an inner loop of unknown length, for the work estimate only. */
const UNKNOWN_TRIP = 8

/** Instructions in the blocks of each loop, inner loops left out. @category queries @since 0.1.0 */
export const instructionCounts = (graph: LoopFacts["graph"]): Array<number> => {
  const counts = graph.loops.map(() => 1)
  const add = (block: number): void => {
    const loop = graph.inner[block]
    if (loop >= 0) counts[loop]++
  }
  for (let node = 1; node < graph.kind.length; node++) {
    const kind = graph.kind[node]
    if (kind === Kind.Op || kind === Kind.Load || kind === Kind.Select) add(graph.block[node])
  }
  for (const access of graph.accesses) if (access.kind === "store") add(access.block)
  return counts
}
