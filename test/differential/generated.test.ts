/**
 * Two thousand generated functions beside themselves: chunks in chosen orders, dispatches that are all undone, dispatches
 * that are all refused, and real lanes. `npm run bench -- fuzz` goes on where this ends.
 */
import { assert, describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { addCounts, compareSeed, type Counts, type Mode, noCounts } from "../../bench/fuzz/campaign.ts"
import type { Prepared } from "../../src/plan/prepare.ts"
import { OnLanes, openLanes } from "../support/differential-lanes.ts"

/** Compares seeds 1 … `seeds`; what differs, and counts. */
const compareSeeds = (
  seeds: number,
  mode: Mode,
  provide?: (prepared: Prepared) => OnLanes
): { readonly counts: Counts; readonly failures: ReadonlyArray<string> } => {
  let counts = noCounts
  const failures: Array<string> = []
  for (let seed = 1; seed <= seeds; seed++) {
    let twin: OnLanes | undefined
    const one = compareSeed(seed, mode, provide === undefined ? undefined : (prepared) => twin = provide(prepared))
    twin?.close()
    counts = addCounts(counts, one.counts)
    failures.push(...one.failures)
  }
  return { counts, failures }
}

const lanes = await openLanes()
afterAll(() => typeof lanes === "string" ? undefined : lanes.close())

describe("generated functions", () => {
  it("leave the same behind, whatever the order of chunks", () => {
    const { counts, failures } = compareSeeds(500, "order")
    console.log(`${counts.apart} of ${counts.calls} calls ran apart (${counts.dispatches} dispatches)`)
    assert.deepStrictEqual(failures, [])
    assert.strictEqual(counts.functions, 2_000)
    assert.isAtLeast(counts.apart / counts.calls, 0.5)
  })

  it("leave the same behind when every dispatch is undone", () => {
    const { counts, failures } = compareSeeds(150, "abort")
    assert.deepStrictEqual(failures, [])
    assert.isAbove(counts.aborts, 500)
  })

  it("leave the same behind when every dispatch is refused", () => {
    const { counts, failures } = compareSeeds(100, "refuse")
    assert.deepStrictEqual(failures, [])
    assert.strictEqual(counts.dispatches + counts.aborts, 0)
  })

  it.skipIf(typeof lanes === "string")("leave the same behind on real lanes", () => {
    if (typeof lanes === "string") return
    const { counts, failures } = compareSeeds(100, "order", (prepared) => new OnLanes(lanes, prepared))
    console.log(`${counts.apart} of ${counts.calls} calls ran on lanes (${counts.dispatches} dispatches)`)
    assert.deepStrictEqual(failures, [])
    assert.isAtLeast(counts.apart / counts.calls, 0.3)
  })
})
