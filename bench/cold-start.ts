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
import { makeRandom, makeZipf, measureRequests, type RequestSamples } from "../programs/measure/requests.ts"
import { distribution, median, percentile } from "../programs/measure/statistics.ts"
import { Tenants } from "../services/Tenants.ts"
import { collect } from "./lib/collect.ts"
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
  readonly zipf: RequestSamples
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

const wrong = (tenant: number, answer: string): Error =>
  new Error(`tenant ${tenant} answers ${JSON.stringify(answer.slice(0, 60))}`)

const measureZipf = (context: number, image: (tenant: number) => string, requests: number) =>
  Effect.gen(function*() {
    const tenants = yield* Tenants
    const program = yield* tenants.program({
      name: "quickjs",
      module: quickJsBytes(),
      open: openHost(context),
      contexts: CONTEXTS
    })
    for (let tenant = 0; tenant < TENANTS; tenant++) {
      yield* tenants.add(String(tenant), { program, image: image(tenant), trusted: true })
    }
    const random = makeRandom(777)
    const next = makeZipf(TENANTS, random)
    return yield* measureRequests(tenants, program, {
      warmup: WARMUP,
      requests,
      next: () => {
        const tenant = next()
        const code = requestOf(tenant, Math.floor(random() * 400))
        return { tenant: String(tenant), request: ({ host }) => host.evaluate(host.context, code) }
      },
      check: (answer, tenant) => {
        if (!isAnswer(answer, Number(tenant))) throw wrong(Number(tenant), answer)
      },
      switches: threadSwitches
    })
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

/** Tenants that are served meanwhile. With one image open at a time, each of their requests opens its image. */
const OTHERS = [TENANTS - 1, TENANTS - 2]

const measureDistinct = (
  context: number,
  image: (tenant: number) => string,
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
    for (const other of OTHERS) yield* tenants.add(String(other), { program, image: image(other), trusted: true })
    for (const [tenant, { image, module }] of files.entries()) {
      yield* tenants.add(`tenant ${tenant}`, { program, image, module, trusted: true })
    }
    // A collection also drops code that was not used lately. Both ways are about to do the same for somebody else.
    const module = new WebAssembly.Module(quickJsBytes())
    const others = Effect.gen(function*() {
      collect()
      yield* Effect.promise(() => initialised(module, 0))
      for (const other of OTHERS) {
        yield* tenants.run(program, String(other), ({ host }) => host.evaluate(host.context, requestOf(other, 7)))
      }
    })
    // Each file is read by one of the two.
    for (let tenant = 0; tenant + 1 < files.length; tenant += 2) {
      const code = requestOf(tenant, 7)
      yield* others
      const start = performance.now()
      const answer = yield* tenants.run(program, `tenant ${tenant}`, ({ host }) => host.evaluate(host.context, code))
      const between = performance.now()
      if (!isAnswer(answer, tenant)) throw wrong(tenant, answer)
      yield* others
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
  }).pipe(Effect.scoped, Effect.provide(NodeTenants.layer({ budgetBytes: BUDGET, openImages: 1 })), Effect.orDie)

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
      const distinct = await Effect.runPromise(measureDistinct(context, image, files))
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
