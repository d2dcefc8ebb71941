/**
 * Requests for tenants of an interpreter: 512 of them, whose popularity follows Zipf's law, in a budget that holds
 * some thirty contexts; and requests for tenants with modules of their own (the interpreter with the tenant's program in a
 * custom section), whose images were never in memory and are dropped from the page cache, beside reading, compiling,
 * instantiating and initialising such a module.
 *
 * The control of the first is what a request costs that instantiates the compiled module and initialises it.
 */
import * as Effect from "effect/Effect"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeTenants from "../layers/node/NodeTenants.ts"
import { distribution, median, percentile } from "../programs/measure/statistics.ts"
import { Tenants } from "../services/Tenants.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { forgetFile, threadSwitches } from "./lib/page-cache.ts"
import { openQuickJs, quickJsBytes } from "./lib/quickjs.ts"
import {
  initialise,
  isAnswer,
  openHost,
  requestOf,
  TENANTS,
  writeDistinct,
  writeImages
} from "./lib/tenants-fixture.ts"

/**
 * Raw samples in microseconds, an element a request in the order of the run.
 *
 * @category models
 * @since 0.1.0
 */
export interface ColdStartSamples {
  readonly zipf: {
    readonly totalUs: ReadonlyArray<number>
    readonly findUs: ReadonlyArray<number>
    readonly memoryUs: ReadonlyArray<number>
    readonly registersUs: ReadonlyArray<number>
    readonly runUs: ReadonlyArray<number>
    /** 1 where the thread has left its CPU meanwhile. */
    readonly preempted: ReadonlyArray<number>
    /** 1 where the tenant had no context. */
    readonly opened: ReadonlyArray<number>
  }
  /** Instantiating the compiled module and initialising it, for each request. */
  readonly initialisedUs: ReadonlyArray<number>
  readonly distinct: {
    readonly tenantUs: ReadonlyArray<number>
    /** Compile, instantiate, initialise and the request, all of a module read from a file that was forgotten. */
    readonly compiledUs: ReadonlyArray<number>
  }
}

const BUDGET = 2 ** 29
const CONTEXTS = 28
const WARMUP = 600

/** Tenants by Zipf's law with exponent 1, and routes, from one seed (xorshift, 32 bits). */
const makeTraffic = (): () => readonly [tenant: number, route: number] => {
  const sums: Array<number> = []
  for (let rank = 1; rank <= TENANTS; rank++) sums.push((sums.at(-1) ?? 0) + 1 / rank)
  let state = 777
  const random = (): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
  return () => {
    const at = random() * sums[TENANTS - 1]
    return [sums.findIndex((sum) => sum >= at), Math.floor(random() * 400)]
  }
}

const wrong = (tenant: number, answer: string): Error =>
  new Error(`tenant ${tenant} answers ${JSON.stringify(answer.slice(0, 60))}`)

const measureZipf = (context: number, image: (tenant: number) => string, requests: number) =>
  Effect.gen(function*() {
    const samples = {
      totalUs: new Array<number>(),
      findUs: new Array<number>(),
      memoryUs: new Array<number>(),
      registersUs: new Array<number>(),
      runUs: new Array<number>(),
      preempted: new Array<number>(),
      opened: new Array<number>()
    }
    const tenants = yield* Tenants
    const program = yield* tenants.program({
      name: "quickjs",
      module: quickJsBytes(),
      open: openHost(context),
      contexts: CONTEXTS
    })
    for (let tenant = 0; tenant < TENANTS; tenant++) {
      yield* tenants.add(`tenant ${tenant}`, { program, image: image(tenant), trusted: true })
    }
    const next = makeTraffic()
    for (let request = 0; request < WARMUP + requests; request++) {
      const [tenant, route] = next()
      const code = requestOf(tenant, route)
      const switches = threadSwitches()
      const start = performance.now()
      const { answer, opening, runMs } = yield* tenants.run(program, `tenant ${tenant}`, ({ host, opening }) => {
        const begin = performance.now()
        const answer = host.evaluate(host.context, code)
        return { answer, opening, runMs: performance.now() - begin }
      })
      const total = performance.now() - start
      if (!isAnswer(answer, tenant)) throw wrong(tenant, answer)
      if (request < WARMUP) continue
      samples.totalUs.push(total * 1_000)
      samples.findUs.push(opening.findMs * 1_000)
      samples.memoryUs.push(opening.memoryMs * 1_000)
      samples.registersUs.push(opening.registersMs * 1_000)
      samples.runUs.push(runMs * 1_000)
      samples.preempted.push(threadSwitches() === switches ? 0 : 1)
      samples.opened.push(opening.how === "opened" ? 1 : 0)
    }
    return samples
  }).pipe(Effect.scoped, Effect.provide(NodeTenants.layer({ budgetBytes: BUDGET })), Effect.orDie)

/** A tenant from nothing but its module. */
const initialised = async (module: WebAssembly.Module, tenant: number): Promise<void> => {
  const interpreter = await openQuickJs((imports) => new WebAssembly.Instance(module, imports).exports)
  const context = interpreter.boot()
  interpreter.evaluate(context, initialise(tenant))
  const answer = interpreter.evaluate(context, requestOf(tenant, 7))
  if (!isAnswer(answer, tenant)) throw wrong(tenant, answer)
}

const measureInitialised = async (rounds: number): Promise<ReadonlyArray<number>> => {
  const module = new WebAssembly.Module(quickJsBytes())
  const samples: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    const start = performance.now()
    await initialised(module, round)
    samples.push((performance.now() - start) * 1_000)
  }
  return samples
}

/** The first tenants warm up the code of both ways. */
const DISTINCT_WARMUP = 4

const measureDistinct = (
  context: number,
  files: ReadonlyArray<{ readonly module: string; readonly image: string }>
) =>
  Effect.gen(function*() {
    const samples = { tenantUs: new Array<number>(), compiledUs: new Array<number>() }
    const tenants = yield* Tenants
    const program = yield* tenants.program({
      name: "quickjs",
      module: quickJsBytes(),
      open: openHost(context),
      contexts: 2
    })
    for (const [tenant, { image, module }] of files.entries()) {
      yield* tenants.add(`tenant ${tenant}`, { program, image, module, trusted: true })
    }
    // Each file is read by one of the two.
    for (let tenant = 0; tenant + 1 < files.length; tenant += 2) {
      const code = requestOf(tenant, 7)
      const start = performance.now()
      const answer = yield* tenants.run(program, `tenant ${tenant}`, ({ host }) => host.evaluate(host.context, code))
      const between = performance.now()
      if (!isAnswer(answer, tenant)) throw wrong(tenant, answer)
      const other = performance.now()
      yield* Effect.promise(async () => {
        const bytes = readFileSync(files[tenant + 1].module)
        await initialised(new WebAssembly.Module(bytes), tenant + 1)
      })
      const end = performance.now()
      if (tenant < 2 * DISTINCT_WARMUP) continue
      samples.tenantUs.push((between - start) * 1_000)
      samples.compiledUs.push((end - other) * 1_000)
    }
    return samples
  }).pipe(Effect.scoped, Effect.provide(NodeTenants.layer({ budgetBytes: BUDGET })), Effect.orDie)

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<ColdStartSamples> = {
  claim:
    "a request for one of 512 tenants of QuickJS takes at most 200 µs at the median and 690 µs at the 99th percentile",
  measure: async ({ quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "folio-cold-start-"))
    try {
      const { context, image } = await Effect.runPromise(writeImages(folder))
      const zipf = await Effect.runPromise(measureZipf(context, image, quick ? 2_000 : 8_000))
      const initialisedUs = await measureInitialised(quick ? 10 : 40)
      const files = writeDistinct(folder, image, 2 * (DISTINCT_WARMUP + (quick ? 12 : 60)))
      for (const { image, module } of files) {
        forgetFile(image)
        forgetFile(module)
      }
      const distinct = await Effect.runPromise(measureDistinct(context, files))
      return { zipf, initialisedUs, distinct }
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
  summarise: ({ distinct, initialisedUs, zipf }) => {
    const chosen = (
      name: keyof ColdStartSamples["zipf"],
      where: (request: number) => boolean
    ): ReadonlyArray<number> => zipf[name].filter((_, request) => where(request))
    const unpreempted = (request: number): boolean => zipf.preempted[request] === 0
    const total = chosen("totalUs", unpreempted)
    const phases = (where: (request: number) => boolean): Record<string, unknown> => ({
      requests: chosen("totalUs", where).length,
      ...Object.fromEntries(
        (["totalUs", "findUs", "memoryUs", "registersUs", "runUs"] as const).map((name) => {
          const values = chosen(name, where)
          return [name, { p50: median(values), p90: percentile(values, 90), p99: percentile(values, 99) }]
        })
      )
    })
    return {
      figure: median(zipf.totalUs),
      unit: "µs a request, the median of 512 tenants by Zipf's law",
      checks: [
        check("median, µs", median(zipf.totalUs), { atMost: 200 }),
        check("99th percentile of requests that were not preempted, µs", percentile(total, 99), { atMost: 690 }),
        check(
          "distinct modules out of memory and page cache: times faster than compile, instantiate, initialise",
          median(distinct.compiledUs) / median(distinct.tenantUs),
          { atLeast: 10 }
        )
      ],
      rows: {
        "99th percentile of all requests, µs": percentile(zipf.totalUs, 99),
        "requests preempted": zipf.preempted.filter((preempted) => preempted === 1).length,
        "all, not preempted": phases(unpreempted),
        "tenants with a context": phases((request) => unpreempted(request) && zipf.opened[request] === 0),
        "tenants without one": phases((request) => unpreempted(request) && zipf.opened[request] === 1),
        "instantiated and initialised, µs": distribution(initialisedUs),
        "distinct modules, tenants, µs": distribution(distinct.tenantUs),
        "distinct modules, compiled, µs": distribution(distinct.compiledUs)
      }
    }
  }
}
