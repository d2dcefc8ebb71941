import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as contexts from "../../programs/examples/contexts.ts"
import * as tasks from "../../programs/examples/tasks.ts"

/** The kernel `compute` of `compute.c`. */
const mixed = (word: number, mixes: number): number => {
  let x = word
  for (let mix = 0; mix < mixes; mix++) {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
  }
  return x >>> 0
}

describe("the examples of private state", () => {
  it.live("mix every input apart", () =>
    Effect.gen(function*() {
      const inputs = Array.from(
        { length: 10 },
        (_, seed) => Uint32Array.from({ length: 300 }, (_, at) => at * 31 + seed)
      )
      const done = yield* tasks.mixAll(inputs)
      for (const [index, input] of inputs.entries()) {
        const bytes = done[index] as Uint8Array<ArrayBuffer>
        assert.deepStrictEqual(new Uint32Array(bytes.buffer), input.map((word) => mixed(word, 100)))
      }
    }).pipe(Effect.provide(tasks.layer)))

  it.live("give every user the first state", () =>
    Effect.gen(function*() {
      const ends = yield* Effect.forEach([1, 2, 3, 4, 5], (word) => contexts.work(word, 2), { concurrency: 5 })
      assert.deepStrictEqual(ends, [1, 2, 3, 4, 5].map((word) => ({ before: 0, after: mixed(word, 6) })))
    }).pipe(Effect.provide(contexts.layer)))
})
