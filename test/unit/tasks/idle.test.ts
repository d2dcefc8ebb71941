import { assert, describe, it } from "@effect/vitest"
import { PollHabit } from "../../../layers/node/task-idle.ts"

describe("polling", () => {
  it("is left off where it is in vain, twice as long each time, and taken up where it is worth it", () => {
    const habit = new PollHabit()
    let looks = 0
    const polls = (waits: number): string =>
      Array.from({ length: waits }, () => {
        looks = 0
        assert.isFalse(habit.poll(() => ++looks < 0))
        return looks > 0 ? "p" : "."
      }).join("")
    assert.isTrue(habit.poll(() => true))
    assert.strictEqual(polls(14), "p.p...p.......")
    assert.isTrue(habit.poll(() => true))
    assert.strictEqual(polls(3), "p.p")
    assert.match(polls(400), /^\.{3}p\.{7}p\.{15}p\.{31}p\.{63}p(?:\.{64}p)+\.*$/)
  })
})
