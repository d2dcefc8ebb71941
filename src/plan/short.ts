/**
 * Loops that are always too short to be handed out: their lengths are constants of the code.
 *
 * A row of eight pixels, the rounds of a cipher: lanes never pay for them, and the test in front of such a loop would
 * cost more than nothing each time it is entered.
 *
 * @since 0.1.0
 */
import type { Graph } from "../analysis/graph.ts"
import { Kind } from "../analysis/graph.ts"
import type { Induction } from "../analysis/induction.ts"
import type { Polynomial } from "../analysis/polynomial.ts"
import type { Trip } from "../analysis/trip.ts"
import { testsOf } from "../analysis/trip.ts"

/** Instructions of one execution up to which lanes cannot pay, at a nanosecond each a tenth of what they need. */
const MOST_INSTRUCTIONS = 2_000

/**
 * True when an execution of loop 0 has few instructions whatever happens. `own` are the instructions of each loop,
 * `constants` the locals that are known when it is entered.
 *
 * @category queries
 * @since 0.1.0
 */
export const isAlwaysShort = (
  graph: Graph,
  induction: Induction,
  own: ReadonlyArray<number>,
  constants: ReadonlyMap<number, number>
): boolean => {
  if (graph.bulk.size > 0) return false
  const counts: Array<number> = []
  let total = 0
  for (const { body, id, parent } of graph.loops) {
    if (body.size === 0) {
      counts.push(parent < 0 ? 1 : counts[parent])
      continue
    }
    const trip = induction.trip(id)
    const iterations = trip === undefined ? undefined : mostIterations(graph, trip, constants)
    if (iterations === undefined) return false
    counts.push((parent < 0 ? 1 : counts[parent]) * iterations)
    total += counts[id] * own[id]
    if (total > MOST_INSTRUCTIONS) return false
  }
  return true
}

/** An upper bound of a loop's iterations: that of any of its tests whose parts are known. */
const mostIterations = (
  graph: Graph,
  trip: Trip,
  constants: ReadonlyMap<number, number>
): number | undefined => {
  let least: number | undefined
  for (const { limit, start, step, wide } of testsOf(trip)) {
    if (wide) continue
    const [from, by, to] = [start, step, limit].map((part) => valueOf(graph, part, constants))
    if (from === undefined || to === undefined || by === undefined || by === 0) continue
    // Where it does not lead there, it wraps around: then this says too little, and the loop stays what it was.
    const iterations = (to - from) / by + 2
    if (iterations >= 1 && (least === undefined || iterations < least)) least = iterations
  }
  return least
}

/** The value of a polynomial in known locals. */
const valueOf = (graph: Graph, p: Polynomial, constants: ReadonlyMap<number, number>): number | undefined => {
  let sum = p.constant
  for (const { coefficient, symbols } of p.terms) {
    let product = coefficient
    for (const name of symbols) {
      const node = name.startsWith("n") ? Number(name.slice(1)) : 0
      const value = graph.kind[node] === Kind.Entry ? constants.get(graph.a[node]) : undefined
      if (value === undefined) return undefined
      product = Math.imul(product, value)
    }
    sum = (sum + product) | 0
  }
  return sum
}
