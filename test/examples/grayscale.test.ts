import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as MemoryFolio from "../../layers/memory/MemoryFolio.ts"
import * as NodeFolio from "../../layers/node/NodeFolio.ts"
import { grayscale } from "../../programs/examples/grayscale.ts"

const module = new URL("../../bench/fixtures/kernels/loops-o2.wasm", import.meta.url)
const pixels = new Uint8Array(4 * 50_000).map((_, at) => at * 31)
const gray = Uint8Array.from(
  { length: pixels.length / 4 },
  (_, at) => (pixels[4 * at] * 77 + pixels[4 * at + 1] * 151 + pixels[4 * at + 2] * 28) >> 8
)

describe("the grayscale example", () => {
  it.live("works on threads", () =>
    Effect.gen(function*() {
      const done = yield* grayscale(module, pixels)
      assert.deepStrictEqual(done, { how: "in parallel", gray })
    }).pipe(Effect.provide(NodeFolio.layer({ workers: 2, minimumWorkNs: 0 }))))

  it.live("works on one thread, backward, from bytes", () =>
    Effect.gen(function*() {
      const bytes = yield* Effect.promise(async () =>
        new Uint8Array(await (await import("node:fs/promises")).readFile(module))
      )
      assert.deepStrictEqual(yield* grayscale(bytes, pixels), { how: "in parallel", gray })
    }).pipe(Effect.provide(MemoryFolio.layer({ order: "reverse" }))))

  it.live("handles each reason against parallel by its tag", () =>
    Effect.gen(function*() {
      // Four pixels are not worth a lane: they are done natively, once.
      const four = yield* grayscale(module, pixels.subarray(0, 16)).pipe(
        Effect.provide(NodeFolio.layer({ workers: 2, minimumWorkNs: 1e9 }))
      )
      assert.deepStrictEqual(four, { how: "natively", gray: gray.subarray(0, 4) })
      const alone = yield* Effect.provide(grayscale(module, pixels), NodeFolio.layer({ workers: 1 }))
      assert.deepStrictEqual(alone, { how: "natively", gray })
      const late = yield* Effect.provide(
        grayscale(module, pixels),
        NodeFolio.layer({ workers: 2, startTimeoutMs: 1e-6 })
      )
      assert.match(late.how, /^natively: 0 of 1 lanes came up/)
      assert.deepStrictEqual(late.gray, gray)
    }))
})
