/**
 * What it costs to hand a loop to a lane the way programs do it: guest, guard, decision, fork, join. Every execution is
 * handed out, however small, so that the difference from native is the cost; with growing loops it turns into a gain.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { NodeEngine } from "../layers/node/engine.ts"
import { distribution, median } from "../programs/measure/statistics.ts"
import { prepare } from "../src/plan/prepare.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { root } from "./lib/sources.ts"

/**
 * Microseconds of one call at one size, in pairs.
 *
 * @category models
 * @since 0.1.0
 */
export interface SizeSamples {
  readonly words: number
  readonly nativeUs: ReadonlyArray<number>
  readonly folioUs: ReadonlyArray<number>
}

/**
 * Raw samples: calls back to back, whose lane polls, and calls that find it asleep.
 *
 * @category models
 * @since 0.1.0
 */
export interface DispatchSamples {
  readonly polling: ReadonlyArray<SizeSamples>
  readonly sleeping: ReadonlyArray<SizeSamples>
  readonly calls: number
  readonly dispatches: number
  readonly unequalBytes: number
}

const source = join(root, "bench/fixtures/kernels/loops-o2.wasm")
const smallest = 16
const largest = 2 ** 19
const pause = new Int32Array(new SharedArrayBuffer(4))

type Saxpy = (destination: number, source: number, factor: number, count: number) => void

const sizes = (from: number): ReadonlyArray<number> => {
  const all: Array<number> = []
  for (let words = from; words <= largest; words *= 2) all.push(words)
  return all
}

/** Memory of an instance with room for two arrays of the largest size, filled. */
const room = (exports: WebAssembly.Exports): { destination: number; origin: number } => {
  const memory = exports.memory as WebAssembly.Memory
  const base = (exports.__heap_base as WebAssembly.Global).value as number
  memory.grow(Math.ceil((base + 8 * largest - memory.buffer.byteLength) / 65536))
  new Uint32Array(memory.buffer, base, 2 * largest).forEach((_, index, words) => words[index] = index * 2654435761)
  return { destination: base, origin: base + 4 * largest }
}

const microseconds = (run: () => void, times: number): number => {
  const start = performance.now()
  for (let time = 0; time < times; time++) run()
  return (performance.now() - start) * 1000 / times
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<DispatchSamples> = {
  claim: "a loop handed to a lane that polls costs at most 1 µs more than the loop",
  measure: async ({ quick }) => {
    const bytes = new Uint8Array(readFileSync(source))
    const prepared = prepare(bytes)
    const engine = new NodeEngine({ workers: 2, minimumWorkNs: 0 })
    try {
      engine.lanes.start()
      if (engine.lanes.waitUntilReady(10_000) === 0) throw new Error(engine.lanes.report().reasons.join("; "))
      const native = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports
      const guest = new WebAssembly.Instance(new WebAssembly.Module((prepared.guest ?? bytes) as BufferSource))
      const folio = engine.bind(guest, prepared).exports
      const { destination, origin } = room(native)
      room(folio)
      let calls = 0
      const callNative = (words: number) => () => (native.saxpy as Saxpy)(destination, origin, 3, words)
      const callFolio = (words: number) => () => {
        calls++
        ;(folio.saxpy as Saxpy)(destination, origin, 3, words)
      }
      for (let warmup = 0; warmup < 2000; warmup++) {
        callNative(smallest)()
        callFolio(smallest)()
      }

      const rounds = quick ? 15 : 41
      const polling = sizes(smallest).map((words): SizeSamples => {
        const times = Math.max(1, Math.floor(2 ** 16 / words))
        const pairs = Array.from({ length: rounds }, () => ({
          native: microseconds(callNative(words), times),
          folio: microseconds(callFolio(words), times)
        }))
        return { words, nativeUs: pairs.map(({ native }) => native), folioUs: pairs.map(({ folio }) => folio) }
      })
      const asleep = (run: () => void): number => {
        while (engine.lanes.hot() > 0) Atomics.wait(pause, 0, 0, 1)
        return microseconds(run, 1)
      }
      const sleeping = sizes(2 ** 14).map((words): SizeSamples => {
        const pairs = Array.from({ length: rounds }, () => ({
          native: asleep(callNative(words)),
          folio: asleep(callFolio(words))
        }))
        return { words, nativeUs: pairs.map(({ native }) => native), folioUs: pairs.map(({ folio }) => folio) }
      })
      const [left, right] = [native, folio].map(({ memory }) => Buffer.from((memory as WebAssembly.Memory).buffer))
      return {
        polling,
        sleeping,
        calls,
        dispatches: engine.report().dispatches,
        unequalBytes: left!.reduce((count, byte, index) => byte === right![index] ? count : count + 1, 0)
      }
    } finally {
      await engine.close()
    }
  },
  summarise: ({ calls, dispatches, polling, sleeping, unequalBytes }) => {
    const extra = (size: SizeSamples): number =>
      median(size.folioUs.map((value, index) => value - size.nativeUs[index]!))
    const small = polling[0]!
    return {
      figure: extra(small),
      unit: "µs more than native",
      checks: [
        check(`handing out a loop of ${small.words} words, µs`, extra(small), { atMost: 1 }),
        check("calls that were not handed out", calls - dispatches, { atMost: 0 }),
        check("unequal bytes", unequalBytes, { atMost: 0 })
      ],
      rows: {
        [`${small.words} words, native µs`]: distribution(small.nativeUs),
        [`${small.words} words, handed out µs`]: distribution(small.folioUs),
        "pays from, polling lane": breakEven(polling),
        "pays from, sleeping lane": breakEven(sleeping),
        "cost of a sleeping lane, µs": extra(sleeping[0]!) + median(sleeping[0]!.nativeUs) / 2
      }
    }
  }
}

/** The smallest size from which on handing out is faster, and the native time of such a loop. */
const breakEven = (samples: ReadonlyArray<SizeSamples>): string => {
  const gains = ({ folioUs, nativeUs }: SizeSamples): boolean => median(folioUs) < median(nativeUs)
  const last = samples.findLastIndex((size) => !gains(size))
  const first = samples[last + 1]
  return first === undefined ? "none of these sizes" : `${first.words} words, ${median(first.nativeUs).toFixed(1)} µs`
}
