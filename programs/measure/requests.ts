/**
 * Requests for tenants whose popularity follows Zipf's law, and what each phase of them takes.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { TenantContext, TenantProgram, TenantsShape } from "../../services/Tenants.ts"

/**
 * What requests took, in microseconds, an element each, in the order of the run.
 *
 * @category models
 * @since 0.1.0
 */
export interface RequestSamples {
  readonly totalUs: Array<number>
  readonly findUs: Array<number>
  readonly memoryUs: Array<number>
  readonly registersUs: Array<number>
  readonly runUs: Array<number>
  /** 1 where the thread has left its CPU meanwhile. */
  readonly preempted: Array<number>
  /** 1 where the tenant had no context. */
  readonly opened: Array<number>
}

/**
 * Draws numbers below 1 (xorshift, 32 bits), the same ones each time.
 *
 * @category generators
 * @since 0.1.0
 */
export const makeRandom = (seed: number): () => number => {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

/**
 * Draws ranks from 0 on, of which each is drawn in inverse proportion to its place: Zipf's law with exponent 1.
 *
 * @category generators
 * @since 0.1.0
 */
export const makeZipf = (ranks: number, random: () => number): () => number => {
  const sums: Array<number> = []
  for (let rank = 1; rank <= ranks; rank++) sums.push((sums.at(-1) ?? 0) + 1 / rank)
  return () => {
    const at = random() * sums[ranks - 1]
    return sums.findIndex((sum) => sum >= at)
  }
}

/**
 * A traffic: which tenant comes next, what is asked of it, and how the answer is looked at, outside of the measured time.
 *
 * @category models
 * @since 0.1.0
 */
export interface Traffic<A, B> {
  /** Requests that do not count, and those that do. */
  readonly warmup: number
  readonly requests: number
  readonly next: () => { readonly tenant: string; readonly request: (context: TenantContext<A>) => B }
  readonly check?: (answer: B, tenant: string) => void
  /** How often the thread has left its CPU, where that can be told. */
  readonly switches?: () => number
}

/**
 * Runs requests one behind the other.
 *
 * @category measuring
 * @since 0.1.0
 */
export const measureRequests = <A, B>(
  tenants: TenantsShape,
  program: TenantProgram<A>,
  { check, next, requests, switches = () => 0, warmup }: Traffic<A, B>
) =>
  Effect.gen(function*() {
    const samples: RequestSamples = {
      totalUs: [],
      findUs: [],
      memoryUs: [],
      registersUs: [],
      runUs: [],
      preempted: [],
      opened: []
    }
    for (let request = 0; request < warmup + requests; request++) {
      const drawn = next()
      const before = switches()
      const start = performance.now()
      const { answer, opening, runMs } = yield* tenants.run(program, drawn.tenant, (context) => {
        const begin = performance.now()
        const answer = drawn.request(context)
        return { answer, opening: context.opening, runMs: performance.now() - begin }
      })
      const total = performance.now() - start
      const preempted = switches() !== before
      check?.(answer, drawn.tenant)
      if (request < warmup) continue
      samples.totalUs.push(total * 1_000)
      samples.findUs.push(opening.findMs * 1_000)
      samples.memoryUs.push(opening.memoryMs * 1_000)
      samples.registersUs.push(opening.registersMs * 1_000)
      samples.runUs.push(runMs * 1_000)
      samples.preempted.push(preempted ? 1 : 0)
      samples.opened.push(opening.how === "opened" ? 1 : 0)
    }
    return samples
  })
