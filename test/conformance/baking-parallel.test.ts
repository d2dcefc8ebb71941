/**
 * Images and lanes: a baked module runs on several cores like any other.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { readFileSync } from "node:fs"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import * as NodeFolio from "../../layers/node/NodeFolio.ts"
import { Baking } from "../../services/Baking.ts"
import { Folio } from "../../services/Folio.ts"

const kernel = readFileSync(new URL("../../bench/fixtures/kernels/loops-o2.wasm", import.meta.url))
const WORK = 65_536
const COUNT = 50_000
/** `saxpy(y, x, a, n)` over floats. */
const saxpy = [10 * WORK, 2 * WORK, 3, COUNT] as const

const bytesOf = (memory: WebAssembly.Memory): Buffer => Buffer.from(memory.buffer)

const layer = Layer.merge(NodeBaking.layer, NodeFolio.layer({ workers: 2, minimumWorkNs: 0 }))

describe("a baked module", () => {
  it("runs in parallel, with the bytes of the original", () =>
    Effect.gen(function*() {
      const baking = yield* Baking
      const module = yield* baking.prepare(kernel, "loops")
      const source = yield* baking.instantiate(module)
      const memory = source.exports["memory"] as WebAssembly.Memory
      const missing = 14 * WORK - memory.buffer.byteLength
      if (missing > 0) memory.grow(missing / WORK)
      new Float32Array(memory.buffer, 2 * WORK, COUNT).forEach((_, at, all) => all[at] = at / 3)
      const baked = yield* baking.bake(module, yield* baking.capture(module, source))
      ;(source.exports["saxpy"] as (...args: ReadonlyArray<number>) => void)(...saxpy)
      const session = yield* Folio.open(baked)
      yield* session.awaitLanes
      yield* session.run("saxpy", saxpy)
      assert.isTrue(bytesOf(session.memory!).equals(bytesOf(memory)))
      assert.isAbove(session.report().dispatches, 0)
    }).pipe(Effect.scoped, Effect.provide(layer), Effect.runPromise))
})
