import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { BumpArena } from "../../../src/tasks/arena.ts"

describe("a bump arena", () => {
  it("begins at its start again when nothing is in use", () => {
    const arena = new BumpArena(64, 1_024, 8)
    for (let round = 0; round < 100; round++) {
      assert.strictEqual(arena.reserve(700), 64)
      arena.take(64, 64 + 700)
      assert.strictEqual(arena.reserve(700), -1)
      arena.release()
    }
  })

  it("holds both sides to count alike", () => {
    const arena = new BumpArena(0, 1_024, 2)
    assert.throws(() => arena.release(), RangeError)
    arena.take(-1, -1)
    arena.take(arena.reserve(8), 8)
    assert.throws(() => arena.take(-1, -1), RangeError)
    arena.release()
    arena.release()
    assert.throws(() => arena.release(), RangeError)
  })

  it("gives no byte twice, and finds its way around", () => {
    const sizes = FastCheck.array(FastCheck.integer({ min: -3, max: 300 }), { minLength: 50, maxLength: 400 })
    FastCheck.assert(FastCheck.property(sizes, (steps) => {
      const arena = new BumpArena(8, 1_000, 16)
      const used: Array<readonly [number, number]> = []
      for (const step of steps) {
        if (step < 0 || used.length === 16) {
          if (used.length > 0) arena.release()
          used.shift()
          continue
        }
        const at = arena.reserve(step)
        const end = at < 0 ? at : at + step
        arena.take(at, end)
        assert.isTrue(at === -1 || (at >= 8 && end <= 1_008 && at % 8 === 0))
        for (const [other, its] of used) assert.isTrue(end <= other || at >= its)
        used.push([at, end])
        assert.strictEqual(arena.count, used.length)
      }
      while (used.length > 0) {
        arena.release()
        used.shift()
      }
      assert.strictEqual(arena.reserve(1_000), 8)
    }))
  })
})
