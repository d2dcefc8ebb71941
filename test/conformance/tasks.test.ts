import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as MemoryTasks from "../../layers/memory/MemoryTasks.ts"
import * as NodeTasks from "../../layers/node/NodeTasks.ts"
import { overlapOf, type TaskOptions, Tasks } from "../../services/Tasks.ts"
import * as sums from "../fixtures/tasks/sums.ts"
import { auditSuite, suite } from "./tasks.ts"

const program = new URL("../fixtures/tasks/sums.ts", import.meta.url)

suite("threads", NodeTasks.layer({ program, lanes: 2, audit: 1, queue: 8 }))
suite("one lane", NodeTasks.layer({ program, lanes: 1, audit: 1, queue: 8 }))
const script = new URL("../fixtures/tasks/worker.ts", import.meta.url)
suite("a script of the caller's own", NodeTasks.layer({ script, lanes: 2, queue: 8 }))
suite("the caller's thread", MemoryTasks.layer({ program: sums }))
auditSuite("threads", NodeTasks.layer({ program, lanes: 2, audit: 1 }))

describe("records", () => {
  it.live("tell overlap and CPU time of tasks in threads", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      yield* tasks.map("sleep", [1, 1])
      yield* tasks.map("sleep", [80, 80])
      yield* tasks.map("spin", [40])
      const [spun, ...sleeps] = tasks.records().toReversed().slice(0, 3)
      const [one, other] = sleeps
      assert.deepStrictEqual([one.name, other.name, spun.name], ["sleep", "sleep", "spin"])
      assert.strictEqual(new Set(sleeps.map(({ lane }) => lane)).size, 2)
      assert.isTrue(one.start < other.end && other.start < one.end)
      const { busyMs, most, workMs } = overlapOf([one, other])
      assert.strictEqual(most, 2)
      assert.isBelow(busyMs, workMs)
      // Sleeping takes time and no CPU; computing takes as much CPU as it says, by the thread's own clock.
      for (const { cpuMicroseconds } of sleeps) assert.isBelow(cpuMicroseconds ?? Number.NaN, 20_000)
      assert.isAtLeast(spun.cpuMicroseconds ?? Number.NaN, 39_000)
    }).pipe(Effect.provide(NodeTasks.layer({ program, lanes: 2 }))))

  it.live("tell how inputs and results went, how many bytes, and how long it took", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      const ways = function*(name: string, input: unknown, options?: TaskOptions) {
        yield* Effect.flatMap(tasks.submit(name, input, options), tasks.join)
        const { end, input: went, result: came, start, submitted } = tasks.records().at(-1)!
        assert.isAtMost(submitted, start + 0.1)
        assert.isAtMost(start, end)
        for (const { decodeMs, encodeMs, postMs } of [went!, came!]) {
          for (const ms of [decodeMs, encodeMs, postMs]) assert.isTrue(ms >= 0 && ms < 60_000, String(ms))
        }
        return [went!.way, went!.bytes, came!.way, came!.bytes]
      }
      assert.deepStrictEqual(yield* ways("echo", 7), ["arena", 5, "arena", 5])
      assert.deepStrictEqual(yield* ways("echo", "seven"), ["arena", 7, "arena", 7])
      const [way, bytes] = yield* ways("echo", new Map([[1, new Set([2])]]))
      assert.isTrue(way === "arena" && bytes !== undefined && bytes as number > 10)
      assert.deepStrictEqual(yield* ways("echo", new Float64Array(3_000)), ["message", 24_000, "message", 24_000])
      const long = "long".repeat(10_000)
      const [by, sent] = yield* ways("echo", [long])
      assert.isTrue(by === "message" && (sent as number) > 40_000 && (sent as number) < 40_020)
      const buffer = new Uint8Array(20_000)
      assert.deepStrictEqual(yield* ways("echo", buffer, { transfer: [buffer.buffer] }), [
        "transfer",
        20_000,
        "transfer",
        20_000
      ])
      const shared = new Int32Array(new SharedArrayBuffer(4))
      assert.deepStrictEqual((yield* ways("echo", [shared]))[0], "message")
      const error = yield* Effect.flip(Effect.flatMap(tasks.submit("nothing", 1), tasks.join))
      assert.strictEqual(error._tag, "TaskFailed")
      assert.strictEqual(tasks.records().at(-1)?.result?.way, "arena")
    }).pipe(Effect.provide(NodeTasks.layer({ program, lanes: 1 }))))
})
