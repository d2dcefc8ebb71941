import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { misfit, misfitBits } from "../../../layers/core/arguments.ts"
import { layerArena } from "../../../layers/core/CoreArena.ts"
import { layerCredits } from "../../../layers/core/CoreCredits.ts"
import { Arena } from "../../../services/Arena.ts"
import { Credits } from "../../../services/Credits.ts"

const request = (min: number, max: number | undefined, more: { is64?: boolean; pageSizeLog2?: number } = {}) => ({
  source: "m",
  module: "env",
  name: "memory",
  limits: { min, max, shared: false, is64: false, ...more }
})

describe("credits", () => {
  it.scoped("are taken all or nothing and come back with the scope", () =>
    Effect.gen(function*() {
      const credits = yield* Credits
      yield* Effect.scoped(Effect.gen(function*() {
        yield* credits.take("sessions", 2)
        const error = yield* Effect.flip(credits.take("sessions", 2))
        assert.deepInclude({ ...error }, { credit: "sessions", wanted: 2, available: 1, limit: 3 })
        assert.strictEqual(credits.available("sessions"), 1)
      }))
      assert.strictEqual(credits.available("sessions"), 3)
    }).pipe(Effect.provide(layerCredits({ sessions: 3 }))))
})

describe("arena", () => {
  const layer = Layer.provideMerge(layerArena, layerCredits({ bytes: 4 * 65536 }))

  it.scoped("allocates what is declared and counts it", () =>
    Effect.gen(function*() {
      const arena = yield* Arena
      const credits = yield* Credits
      yield* Effect.scoped(Effect.gen(function*() {
        const memory = yield* arena.allocate(request(3, 5))
        assert.strictEqual(memory.buffer.byteLength, 3 * 65536)
        assert.throws(() => memory.grow(3), RangeError)
        const error = yield* Effect.flip(arena.allocate(request(2, undefined)))
        assert.strictEqual(error._tag, "CreditsExhausted")
      }))
      assert.strictEqual(credits.available("bytes"), 4 * 65536)
    }).pipe(Effect.provide(layer)))

  it.scoped("refuses what it cannot make, and holds nothing for it", () =>
    Effect.gen(function*() {
      const arena = yield* Arena
      const credits = yield* Credits
      for (
        const [wrong, reason] of [
          [request(1, 2, { is64: true }), "limit"],
          [request(1, 2, { pageSizeLog2: 0 }), "limit"],
          [request(2, 1), "allocation"]
        ] as const
      ) {
        const error = yield* Effect.flip(Effect.scoped(arena.allocate(wrong)))
        assert.isTrue(error._tag === "ArenaRefused" && error.reason === reason)
        assert.match(error.message, /"env" "memory"/)
      }
      assert.strictEqual(credits.available("bytes"), 4 * 65536)
    }).pipe(Effect.provide(layer)))
})

describe("arguments", () => {
  const type = { params: ["i32", "i64", "f32", "ref"], results: [] } as const

  it("fit by type, without coercion", () => {
    for (
      const args of [[0, 0n, 0.5, null], [-(2 ** 31), -(2n ** 63n), NaN, {}], [2 ** 32 - 1, 2n ** 64n - 1n, -0, "x"]]
    ) {
      assert.isUndefined(misfit(type, args), String(args))
    }
  })

  it("do not fit otherwise, and the first that does not is named", () => {
    const cases: ReadonlyArray<readonly [ReadonlyArray<unknown>, number]> = [
      [[0, 0n, 0], -1],
      [[0, 0n, 0, null, 0], -1],
      [[0.5, 0n, 0, null], 0],
      [[2 ** 32, 0n, 0, null], 0],
      [["0", 0n, 0, null], 0],
      [[0n, 0n, 0, null], 0],
      [[0, 0, 0, null], 1],
      [[0, 2n ** 64n, 0, null], 1],
      [[0, 0n, 0n, null], 2],
      [[0, 0n, undefined, null], 2]
    ]
    for (const [args, position] of cases) assert.strictEqual(misfit(type, args)?.position, position, String(args))
  })

  it("are counted where there is no signature", () => {
    assert.isUndefined(misfit(2, [1, "anything"]))
    assert.strictEqual(misfit(2, [1])?.reason, "arity")
  })

  it("as bits fit the width", () => {
    const bits = { params: ["f32", "v128"], results: [] } as const
    assert.isUndefined(misfitBits(bits, [2n ** 32n - 1n, 2n ** 128n - 1n]))
    assert.strictEqual(misfitBits(bits, [2n ** 32n, 0n])?.position, 0)
    assert.strictEqual(misfitBits(bits, [-1n, 0n])?.position, 0)
    assert.strictEqual(misfitBits(bits, [0n, 2n ** 128n])?.position, 1)
    assert.strictEqual(misfitBits(bits, [0, 0n])?.position, 0)
  })
})
