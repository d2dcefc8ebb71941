import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as MemoryTasks from "../../layers/memory/MemoryTasks.ts"
import * as NodeTasks from "../../layers/node/NodeTasks.ts"
import { Tasks } from "../../services/Tasks.ts"
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
      // Sleeping takes time and no CPU; computing takes as much CPU as it says, by the thread's own clock.
      for (const { cpuMicroseconds } of sleeps) assert.isBelow(cpuMicroseconds ?? Number.NaN, 20_000)
      assert.isAtLeast(spun.cpuMicroseconds ?? Number.NaN, 39_000)
    }).pipe(Effect.provide(NodeTasks.layer({ program, lanes: 2 }))))
})
