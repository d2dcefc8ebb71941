/**
 * Putting a private context back: microseconds for 1, 16 and 128 written pages in memories of 8 and 64 MiB, by every
 * way there is.
 *
 * `checkpoint`, which compares all pages, is what a sound reset without tracking costs; `pages`, which copies those
 * learned from the first run, is what an unsound one would.
 */
import { readFileSync } from "node:fs"
import { kernelTracker, kernelTrackingRefusal } from "../layers/node/reset-kernel.ts"
import { spread, writerModule } from "../programs/measure/resets.ts"
import { distribution, median } from "../programs/measure/statistics.ts"
import { Checkpoint, type ResetRung } from "../src/reset/checkpoint.ts"
import { resettable } from "../src/reset/resettable.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { openQuickJs, quickJsBytes } from "./lib/quickjs.ts"

/**
 * Raw samples: microseconds of single resets, by `<MiB> MiB, <pages> pages` and rung; and what the store map costs while
 * the module runs, as milliseconds of kernels and of programs of an interpreter with and without it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResetSamples {
  readonly kernelMs: MapSamples
  readonly interpreterMs: MapSamples
  readonly resetUs: Readonly<Record<string, Readonly<Partial<Record<ResetRung, ReadonlyArray<number>>>>>>
}

/** By kernel or program. */
type MapSamples = Readonly<
  Record<string, { readonly plain: ReadonlyArray<number>; readonly marked: ReadonlyArray<number> }>
>

const sizes = [8, 64] as const
const dirty = [1, 16, 128] as const

/** Times that the sound reset is asked to be faster than the compare, by size and pages. */
const claims: Readonly<Record<string, number>> = {
  "8 MiB, 1 pages": 30,
  "8 MiB, 16 pages": 20,
  "8 MiB, 128 pages": 5,
  "64 MiB, 1 pages": 300,
  "64 MiB, 16 pages": 100,
  "64 MiB, 128 pages": 50
}

interface Arm {
  readonly rung: ResetRung
  readonly write: (at: number) => void
  readonly memory: WebAssembly.Memory
  readonly start: Uint8Array
  readonly checkpoint: Checkpoint
}

const open = (mebibytes: number, rung: ResetRung): Arm => {
  const prepared = resettable(writerModule(mebibytes), { storeMap: rung === "tracked-map" })
  if (prepared._tag === "refused") throw new Error(prepared.detail)
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(prepared.bytes))
  const memory = exports["memory"] as WebAssembly.Memory
  new Uint32Array(memory.buffer).forEach((_, at, words) => (words[at] = at * 2654435761))
  const start = new Uint8Array(memory.buffer).slice()
  const checkpoint = new Checkpoint(exports, prepared.layout, rung, kernelTracker)
  return { rung, memory, start, checkpoint, write: exports["write"] as Arm["write"] }
}

/** Resets of one arm in a row: a context that is in use has its pages in the caches. */
const TURN = 8

const timed = ({ checkpoint, write }: Arm, addresses: ReadonlyArray<number>): number => {
  for (const at of addresses) write(at)
  const start = performance.now()
  const reason = checkpoint.reset()
  const us = (performance.now() - start) * 1_000
  if (reason !== undefined) throw new Error(reason)
  return us
}

const WORDS = 200_000
const [TO, FROM, INDICES] = [65_536, 2_000_000, 3_000_000]

/** Every kernel of `loops.c` that stores in each iteration: the most that marks can cost. */
const kernels: Readonly<Record<string, ReadonlyArray<number>>> = {
  saxpy: [TO, FROM, 3, WORDS],
  saxpy_f32: [TO, FROM, 1.5, WORDS],
  norm_f64: [TO, FROM, WORDS / 2],
  add_u8: [TO, FROM, WORDS],
  scale_u16: [TO, FROM, 201, WORDS],
  mix_i64: [TO, WORDS],
  stencil: [TO, FROM, WORDS],
  stencil_rows: [TO, FROM, 447, 447],
  invert: [TO, WORDS],
  gray: [TO, FROM, WORDS],
  strided: [TO, 3, WORDS / 2],
  backwards: [TO, FROM, WORDS],
  divide: [TO, FROM, 7, WORDS],
  conditional: [TO, FROM, 0x4000_0000, WORDS],
  gather: [TO, FROM, INDICES, WORDS],
  rows: [TO, FROM, WORDS / 8, 16],
  prefix: [TO, FROM, WORDS],
  compact: [TO, FROM, WORDS],
  recurrence: [TO, FROM, WORDS],
  histogram: [TO, FROM, WORDS],
  scatter: [TO, FROM, INDICES, WORDS],
  reverse: [TO, WORDS],
  copy: [TO, FROM, WORDS]
}

/** Programs of the interpreter: arithmetic, sorting with closures and maps, text, objects. */
const programs: Readonly<Record<string, string>> = {
  arithmetic: "let h = 0; for (let i = 0; i < 60000; i++) h = (h * 31 + i) | 0; return h",
  sort: `let s = 1; const next = () => (s = (s * 1103515245 + 12345) & 0x7fffffff)
    const a = Array.from({ length: 3000 }, next); a.sort((x, y) => x - y)
    const m = new Map(); for (const x of a) m.set(x % 977, (m.get(x % 977) || 0) + 1)
    return [...m].slice(0, 9).join()`,
  text: `const parts = []; for (let i = 0; i < 3000; i++) parts.push("k" + i * 7)
    return parts.join(",").split(",").map((x) => x.toUpperCase()).filter((x) => x.includes("7")).length`,
  objects: `let s = 0; for (let i = 0; i < 300; i++) {
      const o = JSON.parse(JSON.stringify({ a: [1, 2, { b: "x".repeat(50) }], c: i, d: { e: [i, i + 1] } }))
      s += o.d.e[1] } return s`
}

/** The optimising compiler has to have both: each runs for a while first, and again when it has had time. */
const WARMUP_RUNS = 40
const COMPILE_MS = 200

const inTurn = async (rounds: number, plain: () => number, marked: () => number): Promise<MapSamples[string]> => {
  for (let warmup = 0; warmup < WARMUP_RUNS; warmup++) {
    plain()
    marked()
    if (warmup === WARMUP_RUNS / 2) await new Promise((resolve) => setTimeout(resolve, COMPILE_MS))
  }
  const samples = { plain: new Array<number>(), marked: new Array<number>() }
  for (let round = 0; round < rounds; round++) {
    samples.plain.push(plain())
    samples.marked.push(marked())
  }
  return samples
}

const prepared = (bytes: Uint8Array, storeMap: boolean): WebAssembly.Module => {
  const module = resettable(bytes, { storeMap })
  if (module._tag === "refused") throw new Error(module.detail)
  return new WebAssembly.Module(module.bytes)
}

const measureKernels = async (rounds: number): Promise<MapSamples> => {
  const bytes = readFileSync(new URL("fixtures/kernels/loops-o2.wasm", import.meta.url))
  const [plain, marked] = [false, true].map((storeMap) => {
    const { exports } = new WebAssembly.Instance(prepared(bytes, storeMap))
    const words = new Uint32Array((exports["memory"] as WebAssembly.Memory).buffer)
    for (let at = 0, x = 12_345; at < WORDS; at++) {
      x ^= x << 13
      x ^= x >>> 17
      x ^= x << 5
      words[FROM / 4 + at] = x
      words[INDICES / 4 + at] = (x >>> 3) % WORDS
    }
    return exports
  })
  const run = (exports: WebAssembly.Exports, name: string): number => {
    const kernel = exports[name] as (...args: ReadonlyArray<number>) => unknown
    const start = performance.now()
    kernel(...kernels[name])
    return performance.now() - start
  }
  const samples: Record<string, MapSamples[string]> = {}
  for (const name of Object.keys(kernels)) {
    samples[name] = await inTurn(rounds, () => run(plain, name), () => run(marked, name))
  }
  return samples
}

const measureInterpreter = async (rounds: number): Promise<MapSamples> => {
  const bytes = quickJsBytes()
  const open = async (storeMap: boolean) => {
    const module = prepared(bytes, storeMap)
    const interpreter = await openQuickJs((imports) => new WebAssembly.Instance(module, imports).exports)
    const context = interpreter.boot()
    return (name: string): number => {
      const start = performance.now()
      interpreter.evaluate(context, `(() => { ${programs[name]} })()`)
      return performance.now() - start
    }
  }
  const [plain, marked] = [await open(false), await open(true)]
  const samples: Record<string, MapSamples[string]> = {}
  for (const name of Object.keys(programs)) {
    samples[name] = await inTurn(rounds, () => plain(name), () => marked(name))
  }
  return samples
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<ResetSamples> = {
  claim: "a tracked reset of a private context is 5 to 300 times faster than comparing its memory",
  measure: async ({ quick }) => {
    const refusal = kernelTrackingRefusal()
    const rungs: ReadonlyArray<ResetRung> = [
      "whole",
      "checkpoint",
      "pages",
      "tracked-map",
      ...(refusal === undefined ? ["tracked-kernel" as const] : [])
    ]
    const resetUs: Record<string, Partial<Record<ResetRung, Array<number>>>> = {}
    for (const mebibytes of sizes) {
      for (const pages of dirty) {
        const row: Partial<Record<ResetRung, Array<number>>> = resetUs[`${mebibytes} MiB, ${pages} pages`] = {}
        const addresses = spread(mebibytes, pages)
        const arms = rungs.map((rung) => open(mebibytes, rung))
        const rounds = quick ? 20 : 60
        for (let round = 0; round < rounds; round++) {
          for (const arm of arms) {
            const turn = Array.from({ length: TURN }, () => timed(arm, addresses))
            // The first tenth of the rounds warms up the code, and the first resets of a turn the caches.
            if (round * 10 >= rounds) (row[arm.rung] ??= []).push(...turn.slice(TURN / 2))
          }
        }
        for (const { checkpoint, memory, rung, start } of arms) {
          if (Buffer.compare(new Uint8Array(memory.buffer), start) !== 0) throw new Error(`${rung} left bytes behind`)
          checkpoint.release()
        }
      }
    }
    const rounds = quick ? 40 : 200
    return { resetUs, kernelMs: await measureKernels(rounds), interpreterMs: await measureInterpreter(rounds) }
  },
  summarise: ({ interpreterMs, kernelMs, resetUs }) => {
    const costs = (samples: MapSamples): Readonly<Record<string, number>> =>
      Object.fromEntries(
        Object.entries(samples).map(([name, { marked, plain }]) => [name, median(marked) / median(plain)])
      )
    const most = (samples: MapSamples): number => Math.max(...Object.values(costs(samples)))
    const ratio = (row: string, rung: ResetRung): number =>
      median(resetUs[row].checkpoint ?? []) / median(resetUs[row][rung] ?? [])
    const sound = (row: string): ResetRung =>
      resetUs[row]["tracked-kernel"] === undefined ? "tracked-map" : "tracked-kernel"
    const rows = Object.keys(resetUs)
    return {
      figure: ratio("64 MiB, 16 pages", sound("64 MiB, 16 pages")),
      unit: "times faster than comparing, 64 MiB with 16 pages written",
      checks: [
        check("kernels with a store map, most times slower", most(kernelMs), { atMost: 1.35 }),
        check("an interpreter with a store map, most times slower", most(interpreterMs), { atMost: 1.5 }),
        ...rows.flatMap((row) => [
          check(`${row}: times faster than comparing`, ratio(row, sound(row)), { atLeast: claims[row] }),
          check(
            `${row}: µs above learned pages`,
            median(resetUs[row][sound(row)] ?? []) - median(resetUs[row].pages ?? []),
            { atMost: 25 }
          ),
          check(`${row}: times the store map is faster than comparing`, ratio(row, "tracked-map"), { atLeast: 1 })
        ])
      ],
      rows: {
        "store map, kernels, times slower": costs(kernelMs),
        "store map, interpreter, times slower": costs(interpreterMs),
        ...Object.fromEntries(
          rows.flatMap((row) =>
            Object.entries(resetUs[row]).map(([rung, values]) => [`${row}, ${rung}, µs`, distribution(values)])
          )
        )
      }
    }
  }
}
