/**
 * Putting a private context back: microseconds for 1, 16 and 128 written pages in memories of 8 and 64 MiB, by every
 * way there is.
 *
 * `checkpoint`, which compares all pages, is what a sound reset without tracking costs; `pages`, which copies those
 * learned from the first run, is what an unsound one would.
 */
import { readFileSync } from "node:fs"
import { kernelTracker, kernelTrackingRefusal } from "../layers/node/reset-kernel.ts"
import { ByteWriter } from "../src/binary/writer.ts"
import { Checkpoint, type ResetRung } from "../src/reset/checkpoint.ts"
import { resettable } from "../src/reset/resettable.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { distribution, median } from "./lib/statistics.ts"

/**
 * Raw samples: microseconds of single resets, by `<MiB> MiB, <pages> pages` and rung; and what the store map costs while
 * the module runs, as milliseconds of a kernel with and without it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResetSamples {
  readonly kernelMs: Readonly<
    Record<string, { readonly plain: ReadonlyArray<number>; readonly marked: ReadonlyArray<number> }>
  >
  readonly resetUs: Readonly<Record<string, Readonly<Partial<Record<ResetRung, ReadonlyArray<number>>>>>>
}

const sizes = [8, 64] as const
const dirty = [1, 16, 128] as const
const PAGE = 4_096

/** Times that the sound reset is asked to be faster than the compare, by size and pages. */
const claims: Readonly<Record<string, number>> = {
  "8 MiB, 1 pages": 30,
  "8 MiB, 16 pages": 20,
  "8 MiB, 128 pages": 5,
  "64 MiB, 1 pages": 300,
  "64 MiB, 16 pages": 100,
  "64 MiB, 128 pages": 50
}

/** `(func (export "write") (param $at i32) (i32.store (local.get $at) (i32.const 77)))` over an exported memory. */
const moduleBytes = (mebibytes: number): Uint8Array => {
  const code = new ByteWriter().u8(0).u8(0x20).u32(0).u8(0x41).s32(77).u8(0x36).memarg(2, 0).u8(0x0b).finish()
  const out = new ByteWriter().fixed32(0x6d736100).fixed32(1)
  out.section(1, new ByteWriter().u32(1).u8(0x60).u32(1).u8(0x7f).u32(0))
  out.section(3, new ByteWriter().u32(1).u32(0))
  out.section(5, new ByteWriter().u32(1).u8(0).u32(mebibytes * 16))
  out.section(7, new ByteWriter().u32(2).name("memory").u8(2).u32(0).name("write").u8(0).u32(0))
  return out.section(10, new ByteWriter().u32(1).u32(code.length).bytes(code)).finish()
}

interface Arm {
  readonly rung: ResetRung
  readonly write: (at: number) => void
  readonly memory: WebAssembly.Memory
  readonly start: Uint8Array
  readonly checkpoint: Checkpoint
}

const open = (mebibytes: number, rung: ResetRung): Arm => {
  const prepared = resettable(moduleBytes(mebibytes), { storeMap: rung === "tracked-map" })
  if (prepared._tag === "refused") throw new Error(prepared.detail)
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(prepared.bytes))
  const memory = exports["memory"] as WebAssembly.Memory
  new Uint32Array(memory.buffer).forEach((_, at, words) => (words[at] = at * 2654435761))
  const start = new Uint8Array(memory.buffer).slice()
  const checkpoint = new Checkpoint(exports, prepared.layout, rung, kernelTracker)
  return { rung, memory, start, checkpoint, write: exports["write"] as Arm["write"] }
}

/** Pages to write, spread over the memory, the same ones in every round: what is learned of them then holds. */
const spread = (mebibytes: number, pages: number): ReadonlyArray<number> =>
  Array.from({ length: pages }, (_, index) => (index * 1_021 + 7) % (mebibytes * 256) * PAGE + 8 * index % PAGE)

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
const [TO, FROM] = [65_536, 2_000_000]

/** Kernels of `loops.c` that store in every iteration, one store each: the most that marks can cost. */
const kernels: Readonly<Record<string, ReadonlyArray<number>>> = {
  saxpy: [TO, FROM, 3, WORDS],
  saxpy_f32: [TO, FROM, 1.5, WORDS],
  add_u8: [TO, FROM, WORDS],
  mix_i64: [TO, WORDS],
  stencil: [TO, FROM, WORDS],
  gray: [TO, FROM, WORDS],
  histogram: [TO, FROM, WORDS],
  prefix: [TO, FROM, WORDS],
  recurrence: [TO, FROM, WORDS]
}

/** The optimising compiler has to have both: each kernel runs for a while first. */
const WARMUP_RUNS = 60

const measureMap = (rounds: number): ResetSamples["kernelMs"] => {
  const bytes = readFileSync(new URL("fixtures/kernels/loops-o2.wasm", import.meta.url))
  const [plain, marked] = [false, true].map((storeMap) => {
    const prepared = resettable(bytes, { storeMap })
    if (prepared._tag === "refused") throw new Error(prepared.detail)
    return new WebAssembly.Instance(new WebAssembly.Module(prepared.bytes)).exports
  })
  const run = (exports: WebAssembly.Exports, name: string): number => {
    const kernel = exports[name] as (...args: ReadonlyArray<number>) => unknown
    const start = performance.now()
    kernel(...kernels[name])
    return performance.now() - start
  }
  return Object.fromEntries(
    Object.keys(kernels).map((name) => {
      for (let warmup = 0; warmup < WARMUP_RUNS; warmup++) {
        run(plain, name)
        run(marked, name)
      }
      const samples = { plain: new Array<number>(), marked: new Array<number>() }
      for (let round = 0; round < rounds; round++) {
        samples.plain.push(run(plain, name))
        samples.marked.push(run(marked, name))
      }
      return [name, samples]
    })
  )
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
    return { resetUs, kernelMs: measureMap(quick ? 40 : 200) }
  },
  summarise: ({ kernelMs, resetUs }) => {
    const costs = Object.entries(kernelMs).map(([name, { marked, plain }]) =>
      [name, median(marked) / median(plain)] as const
    )
    const ratio = (row: string, rung: ResetRung): number =>
      median(resetUs[row].checkpoint ?? []) / median(resetUs[row][rung] ?? [])
    const sound = (row: string): ResetRung =>
      resetUs[row]["tracked-kernel"] === undefined ? "tracked-map" : "tracked-kernel"
    const rows = Object.keys(resetUs)
    return {
      figure: ratio("64 MiB, 16 pages", sound("64 MiB, 16 pages")),
      unit: "times faster than comparing, 64 MiB with 16 pages written",
      checks: [
        check("kernels with a store map, most times slower", Math.max(...costs.map(([, cost]) => cost)), {
          atMost: 1.35
        }),
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
        "store map, times slower": Object.fromEntries(costs),
        ...Object.fromEntries(
          rows.flatMap((row) =>
            Object.entries(resetUs[row]).map(([rung, values]) => [`${row}, ${rung}, µs`, distribution(values)])
          )
        )
      }
    }
  }
}
