import { assert, describe, it } from "@effect/vitest"
import { overlapOf, type TaskRecord } from "../../../services/Tasks.ts"
import { describeError } from "../../../src/tasks/protocol.ts"

const ran = (start: number, end: number): TaskRecord => ({
  id: 1,
  name: "",
  lane: 0,
  submitted: 0,
  start,
  end,
  cpuMicroseconds: undefined,
  input: undefined,
  result: undefined,
  batch: 1,
  attempts: 1
})

describe("overlap", () => {
  it("is computed from where tasks begin and end", () => {
    assert.deepStrictEqual(overlapOf([]), { busyMs: 0, workMs: 0, most: 0 })
    assert.deepStrictEqual(overlapOf([ran(0, 4), ran(1, 3), ran(2, 6), ran(8, 9), ran(9, 10)]), {
      busyMs: 8,
      workMs: 12,
      most: 3
    })
    assert.deepStrictEqual(overlapOf([ran(5, 5), ran(Number.NaN, Number.NaN), ran(5, 7)]), {
      busyMs: 2,
      workMs: 2,
      most: 1
    })
  })
})

describe("errors", () => {
  it("are described, whatever is thrown", () => {
    assert.strictEqual(describeError(new RangeError("x")).name, "RangeError")
    assert.deepStrictEqual(describeError(3), { name: "Error", message: "3", stack: "3" })
    assert.strictEqual(describeError(null).message, "null")
  })
})
