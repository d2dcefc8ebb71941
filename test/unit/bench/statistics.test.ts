import { assert, describe, it } from "@effect/vitest"
import { pairedRounds } from "../../../bench/lib/rounds.ts"
import { distribution, median, percentile, ratios, significant } from "../../../programs/measure/statistics.ts"

describe("statistics", () => {
  it("a percentile lies between neighbours", () => {
    assert.strictEqual(median([3, 1, 2]), 2)
    assert.strictEqual(median([4, 1, 2, 3]), 2.5)
    assert.strictEqual(percentile([10, 20, 30, 40, 50], 5), 12)
    assert.strictEqual(percentile([10, 20], 100), 20)
    assert.isNaN(median([]))
  })

  it("a distribution names its extremes and its noise", () => {
    assert.deepStrictEqual(distribution([1, 2, 3, 4, 5]), { count: 5, median: 3, low: 1, high: 5, spread: 1 / 3 })
  })

  it("ratios are taken pair by pair", () => {
    assert.deepStrictEqual(ratios([1, 4], [2, 2]), [0.5, 2])
    assert.strictEqual(significant(1234.5678, 6), 1234.57)
  })
})

describe("pairedRounds", () => {
  it("rotates the arms, leaves warm-ups out, and runs set-up and check around each turn", async () => {
    const order: Array<string> = []
    const arm = (name: string) => ({
      prepare: () => void order.push(`${name}<`),
      run: () => void order.push(name),
      verify: () => void order.push(`>${name}`)
    })
    const samples = await pairedRounds({ a: arm("a"), b: arm("b") }, { rounds: 2, warmups: 1 })
    assert.strictEqual(order.join(" "), "a< a >a b< b >b b< b >b a< a >a a< a >a b< b >b")
    assert.strictEqual(samples.a.wallMs.length, 2)
    assert.strictEqual(samples.b.cpuMs.length, 2)
  })
})
