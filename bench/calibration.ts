/**
 * What handing out costs on this machine, and from which size on it pays: loops of growing length, natively and handed out
 * however small they are, by width. A full run keeps the result beside the cache (`FOLIO_CACHE`), where engines find it.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { cacheDirectory } from "../layers/node/cache.ts"
import { type Calibration, plausible, writeCalibration } from "../layers/node/calibration.ts"
import { cpuBudget } from "../layers/node/cpu.ts"
import { NodeEngine } from "../layers/node/engine.ts"
import { median, percentile, significant } from "../programs/measure/statistics.ts"
import { prepare } from "../src/plan/prepare.ts"
import { check, type Instrument, Unavailable } from "./lib/instrument.ts"
import { root } from "./lib/sources.ts"

/**
 * One kernel at one size: nanoseconds of a call, in pairs. `asleep`: handed out to a lane that had to be woken.
 *
 * @category models
 * @since 0.1.0
 */
export interface SizeTimes {
  readonly kernel: string
  readonly elements: number
  readonly nativeNs: ReadonlyArray<number>
  readonly apartNs: ReadonlyArray<number>
  readonly asleepNs: ReadonlyArray<number>
}

/**
 * Raw samples, by width.
 *
 * @category models
 * @since 0.1.0
 */
export interface CalibrationSamples {
  readonly widths: ReadonlyArray<{ readonly width: number; readonly sizes: ReadonlyArray<SizeTimes> }>
  /** Calls that were not handed out. */
  readonly native: number
  readonly stored: boolean
}

/** Arithmetic and streaming, with the arguments of a call. */
const KERNELS = [
  { file: "work-o2", name: "mix", args: (base: number, n: number) => [base, n], from: 64, to: 2 ** 13 },
  {
    file: "loops-o2",
    name: "saxpy",
    args: (base: number, n: number) => [base, base + 2 ** 20, 3, n],
    from: 256,
    to: 2 ** 18
  }
]

/** Calls back to back whose mean is one sample: some hundred microseconds. */
const callsAt = (ns: number): number => Math.max(1, Math.min(500, Math.floor(200_000 / ns)))

const pause = new Int32Array(new SharedArrayBuffer(4))

const measureWidth = async (
  width: number,
  rounds: number
): Promise<{ sizes: ReadonlyArray<SizeTimes>; native: number }> => {
  const engine = new NodeEngine({ workers: width, minimumWorkNs: 0 })
  try {
    engine.lanes.start()
    if (engine.lanes.waitUntilReady(10_000) < width - 1) throw new Unavailable(engine.lanes.report().reasons.join("; "))
    const sizes: Array<SizeTimes> = []
    let calls = 0
    for (const { args, file, from, name, to } of KERNELS) {
      const bytes = new Uint8Array(readFileSync(join(root, `bench/fixtures/kernels/${file}.wasm`)))
      const prepared = prepare(bytes)
      const original = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports
      const guest = new WebAssembly.Instance(new WebAssembly.Module((prepared.guest ?? bytes) as BufferSource))
      const base = (original["__heap_base"] as WebAssembly.Global).value as number
      const arms = [original, engine.bind(guest, prepared).exports].map((exports) => {
        const kernel = exports[name] as (...args: ReadonlyArray<number>) => void
        return (n: number, times: number): number => {
          const start = performance.now()
          for (let time = 0; time < times; time++) kernel(...args(base, n))
          return (performance.now() - start) * 1e6 / times
        }
      })
      const [native, apart] = arms
      for (let warmup = 0; warmup < 2_000; warmup++) for (const arm of arms) arm(from, 1)
      calls += 2_000
      for (let n = from; n <= to; n *= 2) {
        const times = callsAt(native(n, 8))
        const size = {
          kernel: name,
          elements: n,
          nativeNs: [] as Array<number>,
          apartNs: [] as Array<number>,
          asleepNs: [] as Array<number>
        }
        for (let round = 0; round < rounds; round++) {
          size.nativeNs.push(native(n, times))
          apart(n, 1)
          size.apartNs.push(apart(n, times))
          while (engine.lanes.hot() > 0) Atomics.wait(pause, 0, 0, 1)
          size.asleepNs.push(apart(n, 1))
          calls += times + 2
        }
        sizes.push(size)
      }
    }
    return { sizes, native: calls - engine.report().dispatches }
  } finally {
    await engine.close()
  }
}

/** What a width says: cost over the ideal share, and the native time from which on handing out is faster. */
const calibrationOf = (sizes: ReadonlyArray<SizeTimes>, width: number): Calibration => {
  const costs = (pick: (size: SizeTimes) => ReadonlyArray<number>): ReadonlyArray<number> =>
    sizes.flatMap((size) => {
      const native = median(size.nativeNs)
      return native > 20_000 ? [] : pick(size).map((ns) => Math.max(1, ns - native / width))
    })
  const pays = KERNELS.map(({ name }) => {
    const own = sizes.filter(({ kernel }) => kernel === name)
    const last = own.findLastIndex((size) => median(size.apartNs) >= median(size.nativeNs))
    return median((own[last + 1] ?? own[own.length - 1]).nativeNs)
  })
  return {
    hotNs: percentile(costs(({ apartNs }) => apartNs), 75),
    coldNs: percentile(costs(({ asleepNs }) => asleepNs), 75),
    breakEvenNs: Math.max(...pays)
  }
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<CalibrationSamples> = {
  claim: "what handing out costs, and that it pays from 20 µs of work on at the latest",
  measure: async ({ quick }) => {
    const { width: most } = cpuBudget()
    if (most < 2) throw new Unavailable("one CPU is available: nothing is handed out")
    const all: Array<{ width: number; sizes: ReadonlyArray<SizeTimes> }> = []
    let native = 0
    for (let width = 2; width <= most; width = width < most ? Math.min(most, 2 * width) : most + 1) {
      const measured = await measureWidth(width, quick ? 9 : 41)
      all.push({ width, sizes: measured.sizes })
      native += measured.native
    }
    const directory = cacheDirectory(process.env["FOLIO_CACHE"] || undefined, process.env)
    const keeps = !quick && directory !== undefined
    if (keeps) {
      for (const { sizes, width } of all) {
        const measured = calibrationOf(sizes, width)
        console.log(
          plausible(measured)
            ? `kept in ${writeCalibration(directory, width, measured)}`
            : "not kept: the machine was busy with something else"
        )
      }
    }
    return { widths: all, native, stored: keeps }
  },
  summarise: ({ native, widths }) => {
    const measured = widths.map(({ sizes, width }) => ({ width, ...calibrationOf(sizes, width) }))
    const worst = Math.max(...measured.map(({ breakEvenNs }) => breakEvenNs))
    const us = (values: ReadonlyArray<number>): number => significant(median(values) / 1000, 3)
    return {
      figure: worst / 1000,
      unit: "µs of work from which handing out pays",
      checks: [
        check("pays from, µs of work", worst / 1000, { atMost: 20 }),
        check("calls that were not handed out", native, { atMost: 0 })
      ],
      rows: Object.fromEntries(
        widths.flatMap(({ sizes, width }, k) => [
          [`width ${width}`, measured[k]] as const,
          ...sizes.map((size) =>
            [
              `width ${width}, ${size.kernel}, ${size.elements}`,
              `native ${us(size.nativeNs)} µs, handed out ${us(size.apartNs)} µs, to lanes that sleep ${
                us(size.asleepNs)
              } µs`
            ] as const
          )
        ])
      )
    }
  }
}
