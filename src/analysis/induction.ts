/**
 * Induction: how values change from iteration to iteration, as polynomials; and how often a loop runs.
 *
 * @since 0.1.0
 */
import { addSelect, chosenValue } from "./choice.ts"
import type { Graph, Loop } from "./graph.ts"
import { Kind } from "./graph.ts"
import type { Polynomial } from "./polynomial.ts"
import { add, constant, innerIterations, isConstant, multiply, substitute, symbol, varies } from "./polynomial.ts"
import type { Range } from "./range.ts"
import { Ranges } from "./range.ts"
import type { InductionVariable, Trip } from "./trip.ts"
import { findTrip, testsOf } from "./trip.ts"

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

/**
 * What one region has cost, over all analyses of it.
 *
 * @category models
 * @since 0.1.0
 */
export class Effort {
  #left = ANALYSIS_BUDGET

  /** Throws {@link AnalysisBudgetExceeded} when it is too much. */
  spend(): void {
    if (--this.#left < 0) throw new AnalysisBudgetExceeded("analysis budget exceeded")
  }
}

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
  /** By node; of the generation beside it, else out of date. */
  readonly #memo: Array<Polynomial | undefined>
  readonly #memoGeneration: Array<number>
  readonly #invariant: Array<boolean>
  readonly #invariantGeneration: Array<number>
  #generation = 1
  readonly #ranges: Ranges
  readonly #varying: ReadonlySet<number>
  readonly #effort: Effort

  /** `varying` are loads that must not be taken as invariant: their bytes are stored in each iteration. */
  constructor(graph: Graph, varying: ReadonlySet<number> = new Set(), effort: Effort = new Effort()) {
    this.#effort = effort
    this.graph = graph
    this.#varying = varying
    const count = graph.kind.length
    this.#memo = new Array<Polynomial | undefined>(count).fill(undefined)
    this.#memoGeneration = new Array<number>(count).fill(0)
    this.#invariant = new Array<boolean>(count).fill(false)
    this.#invariantGeneration = new Array<number>(count).fill(0)
    this.#ranges = new Ranges(graph)
    for (const loop of graph.loops) for (const phi of loop.phis) if (this.#neverChanges(phi)) this.unchanged.add(phi)
    // Inner loops first: an outer pointer may advance through them.
    for (let id = graph.loops.length - 1; id >= 0; id--) this.#solve(graph.loops[id])
  }

  /** Whether a node has the same value in every iteration of loop 0, and the guard can compute it. */
  isInvariant(node: number): boolean {
    const g = this.graph
    if (this.#invariantGeneration[node] === this.#generation) return this.#invariant[node]
    this.#tick()
    this.#invariantGeneration[node] = this.#generation
    this.#invariant[node] = false
    const result = this.#computeInvariant(node)
    this.#invariant[node] = result
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
        if (this.#varying.has(node)) return false
        return (g.type[node] === "i32" || g.type[node] === "i64") && g.op[node] < 0x100 && this.isInvariant(g.a[node])
      case Kind.Phi:
        return this.unchanged.has(node) && this.isInvariant(g.phi(node).inputs[0].value)
      default:
        return false
    }
  }

  /** The value of an i32 node (or the low half of an i64 node), `undefined` when it is not understood. */
  polynomial(node: number): Polynomial | undefined {
    if (this.#memoGeneration[node] === this.#generation) return this.#memo[node]
    this.#tick()
    this.#memoGeneration[node] = this.#generation
    this.#memo[node] = undefined
    const value = this.#compute(node)
    this.#memo[node] = value
    return value
  }

  /** The value of a node as seen in a block: behind an inner loop its iteration number is its last one. */
  at(node: number, block: number): Polynomial | undefined {
    let p = this.polynomial(node)
    if (p === undefined || p.terms.length === 0) return p
    for (const id of innerIterations(p)) {
      if (this.graph.loops[id].body.has(block)) continue
      const trip = this.trip(id)
      if (trip === undefined || !trip.only || !this.isInvariantTrip(trip)) return undefined
      p = substitute(p, `J${id}`, symbol(`T${id}`))
      if (p === undefined) return undefined
    }
    return p
  }

  /** True when the tests of a loop are the same in every iteration of loop 0. */
  isInvariantTrip(trip: Trip): boolean {
    return testsOf(trip).every((test) => this.#isInvariantTest(test))
  }

  #isInvariantTest(trip: Trip): boolean {
    if (trip.wide) {
      return trip.wideStart !== undefined && this.isInvariant(trip.wideStart.node) && this.isInvariant(trip.wideLimit)
    }
    return !varies(trip.start) && !varies(trip.step) && !varies(trip.limit)
  }

  /** The tests that bound a loop. */
  trip(id: number): Trip | undefined {
    if (!this.trips.has(id)) {
      this.trips.set(id, undefined)
      this.trips.set(id, findTrip(this, this.graph.loops[id], (test) => this.#isInvariantTest(test)))
    }
    return this.trips.get(id)
  }

  #tick(): void {
    this.#effort.spend()
  }

  /** True when every way round the loop brings the phi's own value back. */
  #neverChanges(phi: number): boolean {
    const g = this.graph
    const { inputs } = g.phi(phi)
    const work: Array<number> = []
    for (let at = 1; at < inputs.length; at++) {
      const { block, value } = inputs[at]
      if (value === phi || g.order[block] < 0) continue
      if (g.kind[value] !== Kind.Phi) return false
      work.push(value)
    }
    if (work.length === 0) return true
    const seen = new Set<number>([phi])
    while (work.length > 0) {
      const value = work.pop()!
      if (seen.has(value)) continue
      if (g.kind[value] !== Kind.Phi) return false
      seen.add(value)
      for (const input of g.phi(value).inputs) work.push(input.value)
    }
    return true
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
        if (one === undefined || varies(one)) step = undefined
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
    this.#generation++
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
      if (difference === undefined || varies(difference)) return undefined
      differences.push(difference)
    }
    if (differences.every((d) => isConstant(d) && d.constant === 0)) return first
    const derived = differences.map((d) => g.node(Kind.Derived, 0, 0, 0, 0, "i32", 0, d))
    const chosen = isSelect
      ? this.isInvariant(g.c[node]) ? addSelect(g, g.c[node], derived[0], derived[1]) : undefined
      : chosenValue(
        g,
        (condition) => this.isInvariant(condition),
        g.phi(node).block,
        new Map(inputs.map((input, index) => [input.block, derived[index]]))
      )
    if (chosen !== undefined) return add(first, symbol(`n${chosen}`))
    if (!differences.every(isConstant)) return undefined
    const low = Math.min(...differences.map((d) => d.constant))
    const high = Math.max(...differences.map((d) => d.constant))
    return high - low >= 2 ** 31 ? undefined : add(first, this.#ranged(node, { low, high }))
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
  for (const term of p.terms) if ((term.coefficient & (mask - 1)) !== 0) return false
  return true
}

/** Integer operations that the guard can evaluate without a trap (division is checked there). */
const isGuardOperation = (op: number): boolean =>
  (op >= 0x45 && op <= 0x5a) || (op >= 0x67 && op <= 0x8a) || op === 0xa7 || op === 0xac || op === 0xad ||
  (op >= 0xc0 && op <= 0xc4)
