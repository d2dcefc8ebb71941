import { assert, describe, it } from "@effect/vitest"
import { bar, labelled } from "../../../programs/demo/paint.ts"
import { timeline } from "../../../programs/demo/timeline.ts"

const dispatch = (start: number, ownerEnd: number, end: number, participants = 2, aborted = false) => ({
  plan: 0,
  iterations: 10,
  start,
  ownerEnd,
  end,
  participants,
  aborted
})

/** The cells of a row behind its name. */
const cells = (row: string) => row.slice(11)
const call = { startMs: 100, endMs: 200 }

describe("timeline", () => {
  it("draws the owner's chunks and each lane's where they were in the call", () => {
    const [owner, lane, axis] = timeline(call, [dispatch(100, 150, 150), dispatch(175, 200, 200)])
    const half = Math.floor(69 / 2)
    assert.match(cells(owner!), /^█+▁+█+$/)
    assert.match(cells(lane!), /^█+·+█+$/)
    assert.closeTo(cells(owner!).indexOf("▁"), half, 1)
    assert.include(axis!, "100.0 ms")
  })

  it("leaves out what was not in the call, and what was undone", () => {
    const rows = timeline(call, [dispatch(50, 60, 60), dispatch(120, 180, 180, 2, true)])
    assert.lengthOf(rows, 2)
    assert.match(cells(rows[0]!), /^▁+$/)
  })

  it("has a row for each lane that took part", () => {
    const rows = timeline(call, [dispatch(100, 200, 200, 4)])
    assert.deepStrictEqual(rows.slice(0, -1).map((row) => row.slice(2, 8)), ["owner ", "lane 1", "lane 2", "lane 3"])
  })

  it("fits 80 columns", () => {
    for (const row of timeline(call, [dispatch(100, 200, 200, 3)])) assert.isAtMost(row.length, 80)
  })
})

describe("lines of the demo", () => {
  it("are broken between words and fit 80 columns", () => {
    const text = labelled("label", "word ".repeat(60).trim())
    const rows = text.split("\n")
    assert.isAbove(rows.length, 3)
    for (const row of rows) assert.isAtMost(row.length, 80)
    assert.strictEqual(text.match(/word/g)?.length, 60)
  })

  it("draw a share to an eighth of a column", () => {
    assert.strictEqual(bar(0.5, 4), "██")
    assert.strictEqual(bar(1, 3), "███")
    assert.strictEqual(bar(0.5, 1), "▌")
    assert.strictEqual(bar(0, 5), "")
  })
})
