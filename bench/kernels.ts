/**
 * Provable C kernels whose calls take 200 µs or more, with a lane that polls: beside the same kernel over a shared memory,
 * cut in two by hand, in the same run. Each kernel is measured at three levels of the compiler and in two sizes. The
 * machine's calibration is used where there is one.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { cacheDirectory } from "../layers/node/cache.ts"
import { readCalibration } from "../layers/node/calibration.ts"
import { NodeEngine } from "../layers/node/engine.ts"
import { median, ratios, significant } from "../programs/measure/statistics.ts"
import type { DispatchRecord } from "../src/lane/dispatcher.ts"
import { prepare } from "../src/plan/prepare.ts"
import { type KernelCall, type KernelModule, kernelModules } from "./fixtures/kernels/catalogue.ts"
import { HandSplit } from "./lib/hand-split.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { type TimedKernel, timedKernel } from "./lib/kernel-parts.ts"
import { root } from "./lib/sources.ts"

/**
 * One kernel in one size. Samples are microseconds of a call, means of {@link KernelTiming.calls} calls back to back.
 *
 * @category models
 * @since 0.1.0
 */
export interface KernelTiming {
  readonly module: string
  readonly kernel: string
  readonly elements: number
  /** `direct`: proved as a whole; `abortable`: it may end early, so each piece first copies what it stores over. */
  readonly tier: "direct" | "abortable"
  readonly calls: number
  readonly nativeUs: ReadonlyArray<number>
  readonly folioUs: ReadonlyArray<number>
  readonly handUs: ReadonlyArray<number>
  /** Of all timed calls those that ran apart. */
  readonly apart: number
  /** Ranges that differed after the same calls on the same bytes. */
  readonly unequal: number
  /** Comparisons in which Folio's call did not run apart. */
  readonly uncompared: number
}

/**
 * A kernel that has a plan and stayed native.
 *
 * @category models
 * @since 0.1.0
 */
export interface NativeKernel {
  readonly module: string
  readonly kernel: string
  /** Why its guard refused it; `undefined`: it did not. */
  readonly refused: string | undefined
  readonly declined: Readonly<Record<string, number>>
}

/**
 * Raw samples.
 *
 * @category models
 * @since 0.1.0
 */
export interface KernelsSamples {
  readonly timings: ReadonlyArray<KernelTiming>
  readonly native: ReadonlyArray<NativeKernel>
}

/** Microseconds that one native call should take. */
const SIZES = [250, 1_000]

/** A sample is at least this long. */
const SAMPLE_US = 2_000

/** Pages of each memory: 60 MiB for the ranges. */
const PAGES = 1_024

/** Calls after which a loop that was not handed out once is said to stay native. */
const PATIENCE = 4_000

const read = (name: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(readFileSync(join(root, "bench/fixtures/kernels", `${name}.wasm`)))

/** What runs a whole call. */
type Call = () => number

interface Place {
  readonly at: ReadonlyArray<number>
  readonly end: number
}

const placeRanges = (timed: TimedKernel, n: number, base: number): Place => {
  let end = base
  const at = timed.bytes(n).map((bytes) => {
    const here = (end + 127) & ~127
    end = here + bytes
    return here
  })
  return { at, end }
}

/** The same bytes each time: indices where they are asked for, small floats elsewhere. */
const fill = (memory: WebAssembly.Memory, call: KernelCall, { at, end }: Place, n: number): void => {
  const words = new Uint32Array(memory.buffer, at[0], (end + 3 - at[0]) >> 2)
  // As an f32 between 1 and 2, as an integer anything.
  for (let k = 0; k < words.length; k++) words[k] = 0x3f80_0000 | (Math.imul(k, 0x9e3779b1) >>> 9)
  call.arguments.forEach((argument, index) => {
    if (argument.kind === "indices") {
      const indices = new Uint32Array(memory.buffer, at[index], n)
      for (let k = 0; k < n; k++) indices[k] = (Math.imul(k, 0x9e3779b1) >>> 0) % n
    }
    if ("holds" in argument && argument.holds === "f64") {
      const bytes = argument.bytes(n)
      new Float64Array(memory.buffer, at[index], bytes >> 3).forEach((_, k, doubles) => doubles[k] = 1 + k / 1024)
    }
  })
}

const microseconds = (call: Call, times: number): number => {
  const start = performance.now()
  for (let time = 0; time < times; time++) call()
  return (performance.now() - start) * 1000 / times
}

/** The kernels of a module on three memories. */
interface Bench {
  readonly module: KernelModule
  readonly native: WebAssembly.Exports
  readonly folio: WebAssembly.Exports
  readonly dispatches: () => number
  readonly newest: () => DispatchRecord | undefined
  readonly hand: HandSplit
  readonly base: number
}

const memoryOf = (exports: WebAssembly.Exports): WebAssembly.Memory => exports["memory"] as WebAssembly.Memory

const measureSize = (
  bench: Bench,
  call: KernelCall,
  timed: TimedKernel,
  tier: KernelTiming["tier"],
  n: number,
  rounds: number
): KernelTiming | undefined => {
  const place = placeRanges(timed, n, bench.base)
  const memories = [memoryOf(bench.native), memoryOf(bench.folio), bench.hand.memory]
  const all = timed.part(place.at, 0, n, n)
  const half = n >>> 1
  const [theirs, own] = [timed.part(place.at, 0, half, n), timed.part(place.at, half, n, n)]
  const run = (exports: WebAssembly.Exports): Call => {
    const kernel = exports[call.name] as (...args: ReadonlyArray<number>) => number
    return () => kernel(...all)
  }
  const byHand = bench.hand.kernel(call.name)
  const combine = timed.combine ?? ((one) => one)
  const arms = {
    native: run(bench.native),
    folio: run(bench.folio),
    hand: (): number => combine(...byHand(theirs, own))
  }
  const names = ["native", "folio", "hand"] as const
  /** Calls Folio's arm until a lane has worked on it: it polls then. */
  const warm = (): boolean => {
    for (let count = 0; count < PATIENCE; count++) {
      const before = bench.newest()
      arms.folio()
      const after = bench.newest()
      if (after !== before && after!.participants > 1) return true
    }
    return false
  }
  const refill = (): void => {
    for (const memory of memories) fill(memory, call, place, n)
  }
  refill()
  if (!warm()) return undefined

  let unequal = 0
  let uncompared = 0
  /** The same calls on the same bytes, Folio's while its lane polls. */
  const compare = (): void => {
    refill()
    const result = arms.native()
    const before = bench.dispatches()
    const others = [arms.folio(), arms.hand()]
    if (call.kind === "reduction" && others.some((other) => other !== result)) unequal++
    const [reference, ...ranges] = memories.map(({ buffer }) => Buffer.from(buffer, bench.base, place.end - bench.base))
    const compared = timed.positional === true ? ranges.slice(0, 1) : ranges
    if (compared.some((range) => !range.equals(reference))) unequal++
    if (bench.dispatches() === before) uncompared++
  }
  const calls = Math.max(2, Math.ceil(SAMPLE_US / microseconds(arms.native, 4)))
  const samples: Record<(typeof names)[number], Array<number>> = { native: [], folio: [], hand: [] }
  let apart = 0
  compare()
  for (let round = -1; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + 1 + turn) % names.length]
      if (name === "folio") warm()
      else arms[name]()
      const before = bench.dispatches()
      const us = microseconds(arms[name], calls)
      if (round < 0) continue
      samples[name].push(us)
      if (name === "folio") apart += bench.dispatches() - before
    }
  }
  compare()
  return {
    module: bench.module.file,
    kernel: call.name,
    elements: n,
    tier,
    calls,
    nativeUs: samples.native,
    folioUs: samples.folio,
    handUs: samples.hand,
    apart,
    unequal,
    uncompared
  }
}

/** Elements for which a native call takes about so long, once its code is optimised. */
const elementsFor = (bench: Bench, call: KernelCall, timed: TimedKernel, us: number): number => {
  const kernel = bench.native[call.name] as (...args: ReadonlyArray<number>) => number
  const fits = (n: number): boolean => placeRanges(timed, n, bench.base).end < PAGES * 65_536
  for (let n = 8, exact = 0;;) {
    const place = placeRanges(timed, n, bench.base)
    fill(memoryOf(bench.native), call, place, n)
    const all = timed.part(place.at, 0, n, n)
    const took = median(Array.from({ length: 21 }, () => microseconds(() => kernel(...all), 1)))
    if (took >= us && ++exact === 3) return n
    const next = took < us / 2 ? 2 * n : Math.max(n + (took < us ? 1 : 0), Math.ceil(n * 1.1 * us / took))
    if (!fits(next)) return n
    n = next
  }
}

const measureModule = async (
  module: KernelModule,
  sizes: ReadonlyArray<number>,
  rounds: number
): Promise<KernelsSamples> => {
  const bytes = read(module.file)
  const prepared = prepare(bytes)
  const cache = cacheDirectory(process.env["FOLIO_CACHE"] || undefined, process.env)
  const engine = new NodeEngine({ workers: 2, calibration: readCalibration(cache, 2) })
  const hand = await HandSplit.start(read(`${module.file}-shared`), PAGES)
  try {
    engine.lanes.start()
    if (engine.lanes.waitUntilReady(10_000) === 0) throw new Error(engine.lanes.report().reasons.join("; "))
    const native = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports
    const guest = new WebAssembly.Instance(new WebAssembly.Module((prepared.guest ?? bytes) as BufferSource))
    const binding = engine.bind(guest, prepared, true)
    for (const exports of [native, binding.exports]) {
      const memory = memoryOf(exports)
      memory.grow(PAGES - memory.buffer.byteLength / 65_536)
    }
    const bench: Bench = {
      module,
      native,
      folio: binding.exports,
      dispatches: () => binding.report().dispatches,
      newest: () => engine.report().timeline.at(-1),
      hand,
      base: (native["__heap_base"] as WebAssembly.Global).value as number
    }
    const tierOf = (name: string): KernelTiming["tier"] | undefined => {
      const tiers = prepared.plan.loops.flatMap((loop) =>
        loop._tag === "planned" && loop.functionName === name ? [loop.tier] : []
      )
      return tiers.length === 0 ? undefined : tiers.every((tier) => tier === "direct") ? "direct" : "abortable"
    }
    const timings: Array<KernelTiming> = []
    const stayed: Array<NativeKernel> = []
    for (const call of module.kernels) {
      const timed = timedKernel(call)
      const tier = tierOf(call.name)
      if (timed === undefined || tier === undefined) continue
      for (const us of sizes) {
        const timing = measureSize(bench, call, timed, tier, elementsFor(bench, call, timed, us), rounds)
        if (timing !== undefined) timings.push(timing)
        else {
          const loops = binding.report().loops.filter(({ functionName }) => functionName === call.name)
          stayed.push({
            module: module.file,
            kernel: call.name,
            refused: loops.map(({ refused }) => refused).find((reason) => reason !== undefined),
            declined: Object.assign({}, ...loops.map(({ declined }) => declined)) as Record<string, number>
          })
          break
        }
      }
    }
    return { timings, native: stayed }
  } finally {
    await hand.close()
    await engine.close()
  }
}

const shareOf = ({ folioUs, handUs }: KernelTiming): number => median(ratios(handUs, folioUs))

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<KernelsSamples> = {
  claim: "provable kernels with calls of 200 µs or more reach 0.93 of the same kernel split by hand",
  measure: async ({ quick }) => {
    const sizes = quick ? SIZES.slice(0, 1) : SIZES
    const parts: Array<KernelsSamples> = []
    for (const module of kernelModules) parts.push(await measureModule(module, sizes, quick ? 5 : 21))
    return { timings: parts.flatMap(({ timings }) => timings), native: parts.flatMap(({ native }) => native) }
  },
  summarise: ({ native, timings }) => {
    const provable = timings.filter(({ tier }) => tier === "direct")
    const missed = provable.filter((timing) => shareOf(timing) < 0.93)
    const label = ({ elements, kernel, module, tier }: KernelTiming): string =>
      `${module} ${kernel}, ${elements}${tier === "direct" ? "" : ", may end early"}`
    const row = (timing: KernelTiming): string =>
      `native ${significant(median(timing.nativeUs), 3)} µs, apart ${
        significant(median(ratios(timing.nativeUs, timing.folioUs)), 3)
      }×, by hand ${significant(median(ratios(timing.nativeUs, timing.handUs)), 3)}×, share ${
        significant(shareOf(timing), 3)
      }`
    return {
      figure: median(provable.map(shareOf)),
      unit: "of a split by hand (median)",
      checks: [
        check("provable kernels below 0.93 of a split by hand", missed.length, { atMost: 0 }),
        check("kernels measured", provable.length, { atLeast: 40 }),
        check(
          "least share of timed calls that ran apart",
          Math.min(...provable.map(({ apart, calls, folioUs }) => apart / (calls * folioUs.length))),
          { atLeast: 0.9 }
        ),
        check("kernels with another byte", timings.filter(({ unequal }) => unequal > 0).length, { atMost: 0 }),
        check(
          "admitted by its guard, and native",
          native.filter(({ declined }) => Object.keys(declined).length > 0).length,
          {
            atMost: 0
          }
        )
      ],
      rows: {
        "least share": Math.min(...provable.map(shareOf)),
        "below 0.93": missed.map(label),
        ...Object.fromEntries(timings.map((timing) => [label(timing), row(timing)])),
        "planned and native": native.map(({ kernel, module, refused }) =>
          `${module} ${kernel}: ${refused ?? "only what is left of a vectorised loop is planned"}`
        )
      }
    }
  }
}
