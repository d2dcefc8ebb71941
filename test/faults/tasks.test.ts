/**
 * Tasks that do not end as tasks should, on real threads: each fails by itself, and what comes behind runs.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import * as NodeTasks from "../../layers/node/NodeTasks.ts"
import type { TaskFailed } from "../../services/TaskErrors.ts"
import { type TaskOptions, Tasks } from "../../services/Tasks.ts"
import { assemble } from "../support/wat.ts"

const program = new URL("../fixtures/tasks/sums.ts", import.meta.url)

const failure = (name: string, input: unknown, options?: TaskOptions) =>
  Effect.flatMap(Tasks, (tasks) =>
    Effect.flatMap(tasks.submit(name, input, options), tasks.join).pipe(
      Effect.flip,
      Effect.map((error) => error as TaskFailed)
    ))

const next = (input: number) =>
  Effect.flatMap(Tasks, (tasks) => Effect.flatMap(tasks.submit("next", input), tasks.join))

/** Threads of this process that a pool has started, where the host tells. */
const taskThreads = (): number =>
  !existsSync("/proc/self/task") ? 0 : readdirSync("/proc/self/task").filter((id) => {
    try {
      return readFileSync(`/proc/self/task/${id}/comm`, "utf8").startsWith("folio-task")
    } catch {
      return false
    }
  }).length

const two = NodeTasks.layer({ program, lanes: 2 })

describe("a task", () => {
  it.live("that ends its thread fails alone", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      const neighbour = yield* tasks.submit("sleep", 100)
      const error = yield* failure("exits", 3)
      assert.deepStrictEqual([error.reason, error.task], ["lane-lost", "exits"])
      assert.match(error.message, /ended with code 3.*onLaneLost/)
      assert.strictEqual(yield* tasks.join(neighbour), 100)
      assert.strictEqual(yield* next(1), 2)
      assert.strictEqual(tasks.records().find(({ name }) => name === "sleep")?.attempts, 1)
    }).pipe(Effect.provide(two)))

  it.live("is begun again where that was asked for, and not for ever", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      const error = yield* failure("exits", 0)
      assert.strictEqual(error.reason, "lane-lost")
      assert.strictEqual(tasks.records().at(-1)?.attempts, 3)
      assert.strictEqual(yield* next(1), 2)
    }).pipe(Effect.provide(NodeTasks.layer({ program, lanes: 1, onLaneLost: "retry" }))))

  it.live("that never returns is ended by its time limit, and its neighbours and successors run", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      const neighbour = yield* tasks.submit("sleep", 300)
      const stuck = yield* Effect.fork(failure("forever", 0, { timeoutMs: 100 }))
      const successors = yield* Effect.forEach([1, 2, 3, 4], (input) => tasks.submit("next", input))
      const error = yield* Fiber.join(stuck)
      assert.strictEqual(error.reason, "timeout")
      assert.match(error.message, /longer than 100 ms/)
      assert.deepStrictEqual(yield* Effect.forEach(successors, tasks.join), [2, 3, 4, 5])
      assert.strictEqual(yield* tasks.join(neighbour), 300)
    }).pipe(Effect.provide(two)))

  it.live("that is interrupted ends, and spares its neighbours and successors", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      const neighbour = yield* tasks.submit("sleep", 200)
      const stuck = yield* tasks.submit("forever", 0)
      const waiting = yield* Effect.fork(tasks.join(stuck))
      yield* Effect.sleep("50 millis")
      const successor = yield* tasks.submit("next", 9)
      yield* Fiber.interrupt(waiting)
      assert.strictEqual(yield* tasks.join(successor), 10)
      assert.strictEqual(yield* tasks.join(neighbour), 200)
      const error = (yield* Effect.flip(tasks.join(stuck))) as TaskFailed
      assert.strictEqual(error.reason, "interrupted")
    }).pipe(Effect.provide(two)))

  it.live("whose input or result cannot be posted fails alone, in a batch too", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      yield* tasks.map("next", Array.from({ length: 200 }, (_, i) => i))
      const mixed = [1, () => 2, 3, Symbol("s"), 5]
      const submitted = yield* Effect.forEach(mixed, (input) => tasks.submit("echo", input))
      const ends = yield* Effect.forEach(submitted, (task) => Effect.either(tasks.join(task)))
      assert.deepStrictEqual(
        ends.map((end) => end._tag === "Right" ? end.right : (end.left as TaskFailed).reason),
        [1, "not-cloneable", 3, "not-cloneable", 5]
      )
      const results = [
        yield* tasks.submit("next", 1),
        yield* tasks.submit("uncloneable", 1),
        yield* tasks.submit("next", 2)
      ]
      const outcomes = yield* Effect.forEach(results, (task) => Effect.either(tasks.join(task)))
      assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag), ["Right", "Left", "Right"])
    }).pipe(Effect.provide(two)))

  it.live("that was given to a lane behind one that never returns runs in another lane", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      // Short tasks are given to lanes many at a time.
      yield* tasks.map("next", Array.from({ length: 500 }, (_, input) => input))
      const stuck = yield* tasks.submit("forever", 0)
      const inputs = Array.from({ length: 300 }, (_, input) => input)
      assert.deepStrictEqual(yield* tasks.map("next", inputs), inputs.map((input) => input + 1))
      const waiting = yield* Effect.fork(tasks.join(stuck))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(waiting)
      assert.strictEqual(yield* next(1), 2)
    }).pipe(Effect.provide(two)))

  it.live("keeps its bytes, whatever becomes of those around it", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      yield* tasks.map("next", Array.from({ length: 200 }, (_, input) => input))
      const bytesOf = (seed: number) => new Uint8Array(500 + 331 * (seed % 45)).fill(seed)
      for (let round = 0; round < 6; round++) {
        const seeds = Array.from({ length: 120 }, (_, index) => round * 31 + index)
        const slow = yield* tasks.submit("sleep", 20)
        const open = yield* Effect.forEach(seeds, (seed) => tasks.submit("echo", bytesOf(seed)))
        yield* Effect.sleep("1 millis")
        const left = yield* Effect.filter(open, (task) =>
          task.id % 3 === 0
            ? Effect.fork(tasks.join(task)).pipe(
              Effect.tap(() => Effect.yieldNow()),
              Effect.flatMap(Fiber.interrupt),
              Effect.as(false)
            )
            : Effect.succeed(true))
        // The owner does not read while the lanes work on.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60)
        yield* tasks.join(slow)
        for (const task of left) {
          const seed = seeds[open.indexOf(task)]
          assert.deepStrictEqual(yield* tasks.join(task), bytesOf(seed))
        }
      }
    }).pipe(Effect.provide(two)))

  it.live("is not sent anew without the buffers that were handed over with it", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      const bytes = new Uint8Array(100)
      const task = yield* tasks.submit("leaves", bytes, { transfer: [bytes.buffer] })
      const error = (yield* Effect.flip(tasks.join(task))) as TaskFailed
      assert.deepStrictEqual([error.reason, bytes.length], ["lane-lost", 0])
      assert.match(error.message, /handed over/)
      assert.strictEqual(yield* next(1), 2)
    }).pipe(Effect.provide(NodeTasks.layer({ program, lanes: 1, onLaneLost: "retry" }))))

  it.live("of a name that no task can have is unknown", () =>
    Effect.gen(function*() {
      const error = yield* failure("n".repeat(100_000), 1)
      assert.strictEqual(error.reason, "unknown-task")
      assert.match(error.message, /at most 1000 characters/)
      assert.strictEqual((yield* failure("é".repeat(1_000), 1)).reason, "unknown-task")
      assert.strictEqual(yield* next(1), 2)
    }).pipe(Effect.provide(two)))

  it.live("is joined by a blocked owner although it exits or never returns", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      assert.throws(() => tasks.unsafeJoin(tasks.unsafeSubmit("exits", 1)), /lane was lost/)
      const limited = tasks.unsafeSubmit("forever", 0, { timeoutMs: 60 })
      assert.throws(() => tasks.unsafeJoin(limited), /longer than 60 ms/)
      assert.strictEqual(tasks.unsafeJoin(tasks.unsafeSubmit("next", 1)), 2)
    }).pipe(Effect.provide(two)))
})

describe("a pool", () => {
  it.live("holds back who submits more than its credits, and refuses who cannot wait", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      yield* tasks.submit("sleep", 50)
      yield* tasks.submit("sleep", 50)
      assert.throws(() => tasks.unsafeSubmit("next", 1), /credits/)
      const held = yield* Effect.fork(tasks.submit("next", 1))
      yield* Effect.yieldNow()
      assert.isNull(yield* Fiber.poll(held).pipe(Effect.map((exit) => exit._tag === "None" ? null : exit)))
      assert.strictEqual(yield* tasks.join(yield* Fiber.join(held)), 2)
    }).pipe(Effect.provide(NodeTasks.layer({ program, lanes: 1, queue: 2 }))))

  it.live("closed while busy fails what is left, and leaves no thread behind", () =>
    Effect.gen(function*() {
      const left = yield* Effect.gen(function*() {
        const tasks = yield* Tasks
        yield* next(1)
        const running = yield* tasks.submit("forever", 0)
        const waiting = yield* tasks.submit("next", 1)
        const more = yield* tasks.submit("next", 2)
        return { tasks, all: [running, waiting, more] }
      }).pipe(Effect.provide(NodeTasks.layer({ program, lanes: 1 })), Effect.scoped)
      for (const task of left.all) {
        const error = (yield* Effect.flip(left.tasks.join(task))) as TaskFailed
        assert.strictEqual(error.reason, "closed")
      }
      const late = (yield* Effect.flip(Effect.flatMap(left.tasks.submit("next", 1), left.tasks.join))) as TaskFailed
      assert.strictEqual(late.reason, "closed")
      assert.strictEqual(taskThreads(), 0)
    }))

  it.live("of a program that cannot be loaded says why, to every task", () =>
    Effect.gen(function*() {
      const missing = NodeTasks.layer({ program: new URL("nowhere.ts", import.meta.url), lanes: 1 })
      const error = yield* Effect.provide(failure("next", 1), missing)
      assert.strictEqual(error.reason, "unusable")
      assert.match(error.message, /nowhere\.ts/)
      const empty = NodeTasks.layer({ program: new URL("../support/wat.ts", import.meta.url), lanes: 1 })
      assert.match((yield* Effect.provide(failure("next", 1), empty)).message, /exports no "tasks"/)
    }))

  it.live("of a script that ends without serving says so", () =>
    Effect.gen(function*() {
      const idle = NodeTasks.layer({ script: new URL("../fixtures/tasks/idle.ts", import.meta.url), lanes: 2 })
      const error = yield* Effect.provide(failure("next", 1), idle)
      assert.strictEqual(error.reason, "unusable")
      assert.match(error.message, /lanes do not start: its thread ended with code 0/)
    }))

  it.live("refuses a module that cannot be put back, in words", () =>
    Effect.gen(function*() {
      const shared = yield* Effect.promise(() => assemble(`(module (memory 1 1 shared))`))
      const refused = (module: Uint8Array) =>
        Effect.flip(Layer.build(NodeTasks.layer({ program, module, lanes: 1 }))).pipe(Effect.scoped)
      assert.match((yield* refused(shared)).message, /shared-memory: memory 0 is shared/)
      assert.match((yield* refused(new Uint8Array(4))).message, /malformed/)
    }))
})
