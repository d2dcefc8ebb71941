/**
 * What every backend of {@link Contexts} must do.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import { Contexts } from "../../services/Contexts.ts"
import { assemble } from "../support/wat.ts"

/** The module that the suite's layer keeps: a counter in a hidden global and one in memory. */
export const counter = (): Promise<Uint8Array<ArrayBuffer>> =>
  assemble(`(module (memory (export "memory") 1) (global $n (mut i32) (i32.const 0))
    (func $bump (export "bump") (result i32)
      (global.set $n (i32.add (global.get $n) (i32.const 1)))
      (i32.store (i32.const 5000) (i32.add (i32.load (i32.const 5000)) (i32.const 10)))
      (i32.add (global.get $n) (i32.load (i32.const 5000))))
    (func (export "grow") (result i32) (drop (call $bump)) (memory.grow (i32.const 1)))
    (func (export "trap") (param i32) (result i32)
      (drop (call $bump)) (i32.div_s (i32.const 1) (local.get 0))))`)

/** Runs the suite over a layer of two contexts of {@link counter} with the program `test/fixtures/tasks/sums.ts`. */
export const suite = (name: string, layer: Layer.Layer<Contexts, unknown>): void => {
  describe(`contexts, ${name}`, () => {
    it.live("keep their state while they are held, and only then", () =>
      Effect.gen(function*() {
        const contexts = yield* Contexts
        assert.strictEqual(contexts.size, 2)
        for (let round = 0; round < 3; round++) {
          yield* Effect.scoped(Effect.gen(function*() {
            const [one, other] = [yield* contexts.acquire, yield* contexts.acquire]
            assert.strictEqual(yield* one.run("bump", 0), 11)
            assert.strictEqual(yield* one.run("bump", 0), 22)
            assert.strictEqual(yield* other.run("bump", 0), 11)
            yield* one.reset
            assert.strictEqual(yield* one.run("bump", 0), 11)
          }))
        }
      }).pipe(Effect.provide(layer)))

    it.live("are put back after a trap, and opened anew after growth", () =>
      Effect.gen(function*() {
        const contexts = yield* Contexts
        for (let round = 0; round < 3; round++) {
          yield* Effect.scoped(Effect.gen(function*() {
            const context = yield* contexts.acquire
            assert.strictEqual(yield* context.run("bump", 0), 11)
            const error = yield* Effect.flip(context.run("trap", 0))
            assert.deepStrictEqual([error.reason, error.errorName], ["thrown", "RuntimeError"])
            assert.match(error.frames, /wasm[-:]/)
            assert.strictEqual(yield* context.run("bump", 0), 33)
            assert.strictEqual(yield* context.run("grow", 0), 1)
          }))
        }
      }).pipe(Effect.provide(layer)))

    it.live("are waited for when all are held, also in vain", () =>
      Effect.gen(function*() {
        const contexts = yield* Contexts
        const got = yield* Effect.scoped(Effect.gen(function*() {
          yield* contexts.acquire
          yield* contexts.acquire
          const waiting = yield* Effect.forkDaemon(Effect.scoped(contexts.acquire))
          const vain = yield* Effect.forkDaemon(Effect.scoped(contexts.acquire))
          yield* Effect.sleep("10 millis")
          yield* Fiber.interrupt(vain)
          return waiting
        }))
        assert.isDefined(yield* Fiber.join(got))
        assert.strictEqual(yield* Effect.scoped(Effect.flatMap(contexts.acquire, ({ run }) => run("bump", 0))), 11)
      }).pipe(Effect.provide(layer)))
  })
}
