/**
 * Compiled C loops with their iterations out of order: forward, backward and shuffled, on one thread. Return values and
 * every byte of memory are those of the original, whether ranges are apart, touch or overlap.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { type KernelArgument, type KernelCall, kernelModules } from "../../bench/fixtures/kernels/catalogue.ts"
import * as MemoryFolio from "../../layers/memory/MemoryFolio.ts"
import type { Order } from "../../layers/memory/permutation.ts"
import { Folio } from "../../services/Folio.ts"

const fixture = (name: string) =>
  new Uint8Array(readFileSync(new URL(`../../bench/fixtures/kernels/${name}.wasm`, import.meta.url)))

const PAGES = 6
const BASE = 4 * 65536
const BYTES = PAGES * 65536 - BASE

/** How far apart ranges begin, given the size of the one before. */
const LAYOUTS: Readonly<Record<string, (size: number) => number>> = {
  apart: (size) => (size + 64) & ~15,
  touching: (size) => size,
  "shifted by 4": () => 4,
  "half over each other": (size) => (size >>> 1) & ~3,
  "in the same place": () => 0
}

const generator = (seed: number) => {
  let state = seed >>> 0
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0)
}

/** Contents for a range: bytes, floats that are finite and mostly small, or indices. */
const contents = (argument: KernelArgument, n: number, random: () => number): Uint8Array => {
  if (argument.kind === "indices") {
    const order = Array.from({ length: n }, (_, at) => at)
    return new Uint8Array(
      Uint32Array.from(order, (at) => argument.distinct ? n - 1 - at : random() % Math.max(1, n)).buffer
    )
  }
  if (argument.kind !== "destination" && argument.kind !== "source") return new Uint8Array()
  const size = argument.bytes(n)
  if (argument.holds === "f32") {
    return new Uint8Array(Float32Array.from({ length: size / 4 }, () => random() / 2 ** 20 - 2048).buffer)
  }
  if (argument.holds === "f64") {
    return new Uint8Array(Float64Array.from({ length: size / 8 }, () => random() / 2 ** 20 - 2048).buffer)
  }
  return Uint8Array.from({ length: size }, () => random() >>> 24)
}

interface Call {
  readonly args: ReadonlyArray<number>
  readonly image: Uint8Array
}

const callFor = (kernel: KernelCall, n: number, distance: (size: number) => number, seed: number): Call => {
  const random = generator(seed)
  const image = new Uint8Array(BYTES)
  let at = 0
  const args = kernel.arguments.map((argument) => {
    if (argument.kind === "count") return argument.of(n)
    if (argument.kind === "value") return argument.value
    const bytes = contents(argument, n, random)
    image.set(bytes, at)
    const here = BASE + at
    at += distance(bytes.length)
    return here
  })
  return { args, image }
}

const ending = (call: () => unknown): { readonly value: unknown } | { readonly trap: string } => {
  try {
    return { value: call() }
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) throw error
    return { trap: error.message }
  }
}

const SIZES = [0, 1, 3, 5, 64, 1037]
const ORDERS: ReadonlyArray<Order> = ["forward", "reverse", 1, 2]

/**
 * Parallel loops that are not split, or not yet: an index that is loaded, rows of a variable length, vectors of addresses,
 * a counter that is a float, tables with too many loads, a frame that is filled while it is read.
 */
const UNPLANNED: Readonly<Record<string, ReadonlyArray<string>>> = {
  "loops-o2": ["gather", "rows"],
  "loops-o3": ["gather", "rows"],
  "loops-simd": ["gather", "rows", "norm_f64", "mix_i64"],
  "work-o2": ["mandelbrot", "aes", "sha256"],
  "work-o3": ["mandelbrot", "aes", "sha256"],
  "work-simd": ["blur", "mandelbrot", "chacha", "aes", "sha256"]
}

for (const { file, kernels } of kernelModules) {
  const unplanned = UNPLANNED[file] ?? []
  describe(`${file} out of order`, () => {
    const bytes = fixture(file)
    /** Loops that were split, over all orders. */
    const split = new Map<string, number>()

    for (const [seed, order] of ORDERS.entries()) {
      it.live(`${order}`, () =>
        Effect.scoped(Effect.gen(function*() {
          const oracle = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports
          const memory = oracle["memory"] as WebAssembly.Memory
          memory.grow(Math.max(0, PAGES - memory.buffer.byteLength / 65536))
          const session = yield* Folio.open(bytes, { name: file })
          const mine = session.memory!
          mine.grow(Math.max(0, PAGES - mine.buffer.byteLength / 65536))
          for (const kernel of kernels) {
            const before = session.report().dispatches
            for (const [layout, distance] of Object.entries(LAYOUTS)) {
              for (const n of SIZES) {
                const { args, image } = callFor(kernel, n, distance, seed * 1000 + n)
                const label = `${kernel.name}(${args.join(", ")}), ranges ${layout}`
                for (const { buffer } of [memory, mine]) new Uint8Array(buffer).set(image, BASE)
                const expected = ending(() =>
                  (oracle[kernel.name] as (...args: ReadonlyArray<number>) => unknown)(...args)
                )
                const actual = ending(() =>
                  (session.exports[kernel.name] as (...args: ReadonlyArray<number>) => unknown)(...args)
                )
                assert.deepStrictEqual(actual, expected, label)
                const [a, b] = [Buffer.from(mine.buffer), Buffer.from(memory.buffer)]
                if (!a.equals(b)) {
                  assert.fail(`${label}: memory differs at ${a.findIndex((byte, at) => byte !== b[at])}`)
                }
              }
            }
            split.set(kernel.name, (split.get(kernel.name) ?? 0) + session.report().dispatches - before)
          }
        })).pipe(Effect.provide(MemoryFolio.layer({ order, width: 3 }))))
    }

    it("and loops without a dependence were split", () => {
      const whole = kernels.filter(({ kind, name }) => kind === "parallel" && (split.get(name) ?? 0) === 0)
      assert.deepStrictEqual(whole.map(({ name }) => name).filter((name) => !unplanned.includes(name)), [])
    })
  })
}
