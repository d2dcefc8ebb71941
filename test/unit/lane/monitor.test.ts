/**
 * The profit monitor by an injected clock.
 */
import { assert, describe, it } from "@effect/vitest"
import { defaultPolicy, ProfitMonitor } from "../../../src/lane/monitor.ts"

/** Units that are taken to last so many milliseconds, before anything was timed. */
const unitsOf = (ms: number): number => ms * 1e6 / new ProfitMonitor(defaultPolicy, 1, false, false).expect(1)

describe("a loop that may end early", () => {
  it("is credited with no more than there was time for", () => {
    const whole = new ProfitMonitor(defaultPolicy, 1, false, false)
    const early = new ProfitMonitor(defaultPolicy, 1, false, true)
    assert.isTrue(whole.observe(unitsOf(50), 0))
    for (let k = 0; k <= 10; k++) assert.isFalse(early.observe(unitsOf(50), 1000 + k / 10))
    assert.approximately(early.evidence, 1e6, 1e3)
    assert.isTrue(early.observe(unitsOf(50), 1060))
  })

  it("is suspended when it ends far earlier than its bounds say, again and again", () => {
    const early = new ProfitMonitor(defaultPolicy, 1, false, true)
    const asks = Array.from({ length: 20 }, (_, k) => {
      early.observe(unitsOf(1), k / 100)
      return early.endsEarly(k / 100)
    })
    assert.strictEqual(asks.indexOf(true), 8)
    assert.isAbove(early.suspendedUntil, 99)
  })

  it("is not when it does what its bounds say", () => {
    const honest = new ProfitMonitor(defaultPolicy, 1, false, true)
    for (let k = 0; k < 100; k++) {
      honest.observe(unitsOf(1), k / 2)
      assert.isFalse(honest.endsEarly(k / 2))
    }
  })
})
