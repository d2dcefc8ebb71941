import { assert, describe, it } from "vitest"
import {
  decodeReplies,
  describeError,
  encodeReplies,
  encodeTasks,
  TASK_ELEMENTS,
  taskAt
} from "../../../src/tasks/protocol.ts"

describe("messages of tasks", () => {
  it("say the same when they arrive", () => {
    const tasks = [
      { id: 1, name: "a", input: [undefined], keep: true },
      { id: 2, name: "", input: undefined, keep: false }
    ]
    const flat = structuredClone(encodeTasks(tasks))
    assert.deepStrictEqual(tasks.map((_, index) => taskAt(flat, index * TASK_ELEMENTS)), tasks)
    assert.strictEqual(flat.length, 2 * TASK_ELEMENTS)
  })

  it("tell values from failures, also values that look like one", () => {
    const failure = { ok: false, reason: "thrown", name: "E", message: "m", stack: "s" } as const
    const outcomes = [{ ok: true, value: failure }, failure, { ok: true, value: [1] }, {
      ok: true,
      value: undefined
    }] as const
    const replies = outcomes.map((outcome, id) => ({ id, outcome, start: 10 + id, end: 12 + id, cpu: undefined }))
    assert.deepStrictEqual(decodeReplies(structuredClone(encodeReplies(replies, undefined))), replies)
  })

  it("share CPU time out by the lengths of the tasks", () => {
    const reply = (id: number, start: number, end: number) =>
      ({ id, outcome: { ok: true, value: id }, start, end, cpu: undefined }) as const
    const shared = decodeReplies(encodeReplies([reply(1, 0, 1), reply(2, 1, 4)], 400))
    assert.deepStrictEqual(shared.map(({ cpu }) => cpu), [100, 300])
    assert.deepStrictEqual(decodeReplies(encodeReplies([reply(1, 5, 5), reply(2, 5, 5)], 8)).map(({ cpu }) => cpu), [
      4,
      4
    ])
  })

  it("describe whatever is thrown", () => {
    assert.strictEqual(describeError(new RangeError("x")).name, "RangeError")
    assert.deepStrictEqual(describeError(3), { name: "Error", message: "3", stack: "3" })
    assert.strictEqual(describeError(null).message, "null")
  })
})
