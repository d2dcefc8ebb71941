/**
 * Whether lanes pay for a program: simulated programs whose loops gain or lose, by their own clock and for the rest.
 */
import { assert, describe, it } from "@effect/vitest"
import { ProgramTrial } from "../../../src/lane/trial.ts"

interface Simulated {
  /** Milliseconds of one round of the program without lanes, and of its loop in it. */
  readonly round: number
  readonly loop: number
  /** Milliseconds of the loop with lanes, by its own clock. */
  readonly apart: number
  /** Milliseconds that the rest of the round takes longer after lanes have worked. */
  readonly behind: number
}

/** Runs rounds until `ms` of busy time have gone by; the share of them that were handed out in each fifth. */
const run = (trial: ProgramTrial, program: Simulated, ms: number): ReadonlyArray<number> => {
  const shares: Array<number> = []
  let busy = 0
  for (let fifth = 1; fifth <= 5; fifth++) {
    let rounds = 0
    let handedOut = 0
    for (; busy < ms * fifth / 5; rounds++) {
      const admitted = trial.admits(7, 1000, busy)
      if (admitted) {
        handedOut++
        trial.gained(7, program.loop - program.apart)
      }
      busy += program.round + (admitted ? program.apart + program.behind - program.loop : 0)
    }
    shares.push(handedOut / rounds)
  }
  return shares
}

describe("a trial", () => {
  it("is not needed where a program takes half as long", () => {
    const trial = new ProgramTrial()
    const shares = run(trial, { round: 20, loop: 19, apart: 6.5, behind: 0 }, 20_000)
    assert.deepStrictEqual(shares, [1, 1, 1, 1, 1])
    assert.isTrue(trial.pays)
  })

  it("is not needed where next to nothing is gained: the instance rests", () => {
    const trial = new ProgramTrial()
    run(trial, { round: 20, loop: 0.3, apart: 0.1, behind: 0 }, 10_000)
    assert.strictEqual(trial.state, "resting")
    assert.isFalse(trial.pays)
  })

  it("finds a gain that is one", () => {
    const trial = new ProgramTrial()
    const shares = run(trial, { round: 20, loop: 6, apart: 3.2, behind: 0 }, 20_000)
    assert.strictEqual(shares[4], 1)
    assert.isTrue(trial.pays)
  })

  it("finds a gain that the program pays for elsewhere, a large one, too", () => {
    for (const [loop, apart, behind] of [[6, 3.2, 3], [16, 8.2, 9]]) {
      const trial = new ProgramTrial()
      run(trial, { round: 20, loop, apart, behind }, 20_000)
      assert.isFalse(trial.pays)
      assert.strictEqual(trial.state, "resting")
    }
  })

  it("costs little where it finds nothing", () => {
    const program = { round: 20, loop: 6, apart: 3.2, behind: 3.4 }
    const trial = new ProgramTrial()
    let busy = 0
    let lost = 0
    while (busy < 60_000) {
      const admitted = trial.admits(7, 1000, busy)
      if (admitted) trial.gained(7, program.loop - program.apart)
      const took = program.round + (admitted ? program.apart + program.behind - program.loop : 0)
      lost += took - program.round
      busy += took
    }
    assert.isBelow(lost / busy, 0.01)
  })

  it("ends when its loop no longer comes by", () => {
    const trial = new ProgramTrial()
    let busy = 0
    for (; trial.state !== "trying"; busy += 20) if (trial.admits(7, 1000, busy)) trial.gained(7, 3)
    for (; busy < 60_000; busy += 20) trial.admits(8, 1000, busy)
    assert.notStrictEqual(trial.state, "trying")
  })

  it("rests three times as long each time, ten minutes at most", () => {
    const trial = new ProgramTrial()
    let busy = 0
    const rests = Array.from({ length: 6 }, () => {
      for (; trial.state !== "resting"; busy += 20) trial.admits(7, 1000, busy)
      const { restMs } = trial
      trial.resume()
      return restMs
    })
    assert.deepStrictEqual(rests, [20_000, 60_000, 180_000, 540_000, 600_000, 600_000])
  })

  it("trusts an earlier verdict, not for ever", () => {
    const trial = new ProgramTrial()
    trial.trust(0)
    for (let busy = 0; busy < 59_000; busy += 20) assert.isTrue(trial.admits(7, 1000, busy))
    for (let busy = 59_000; busy < 70_000; busy += 20) trial.admits(7, 1000, busy)
    assert.isFalse(trial.pays)
  })
})
