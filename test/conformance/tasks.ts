/**
 * What every backend of {@link Tasks} must do.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { type Task, Tasks } from "../../services/Tasks.ts"
import { assemble } from "../support/wat.ts"

/** Runs the suite over a layer that serves `test/fixtures/tasks/sums.ts`, with eight credits. */
export const suite = (name: string, layer: Layer.Layer<Tasks, unknown>): void => {
  const live = (title: string, body: Effect.Effect<void, unknown, Tasks>): void => {
    it.live(title, () => Effect.provide(body, layer))
  }

  describe(`tasks, ${name}`, () => {
    live(
      "joins in the order of the caller, whatever ends first",
      Effect.gen(function*() {
        const tasks = yield* Tasks
        assert.deepStrictEqual(yield* tasks.map("next", Array.from({ length: 500 }, (_, i) => i)), [
          ...Array.from({ length: 500 }, (_, i) => i + 1)
        ])
        const slow = yield* tasks.submit("sleep", 20)
        const fast = yield* tasks.submit("next", 1)
        assert.strictEqual(yield* tasks.join(fast), 2)
        assert.strictEqual(yield* tasks.join(slow), 20)
        assert.strictEqual(yield* tasks.join(slow), 20)
        assert.strictEqual(yield* Effect.flatMap(tasks.submit("later", 21), tasks.join), 42)
      })
    )

    live(
      "posts values of every kind",
      Effect.gen(function*() {
        const tasks = yield* Tasks
        const values = [undefined, null, -0, 2n ** 70n, "é", [1, [2]], { a: new Date(5) }, new Map([[1, new Set([2])]])]
        assert.deepStrictEqual(yield* tasks.map("echo", values), values)
        const bytes = (yield* Effect.flatMap(tasks.submit("bytes", 65_536), tasks.join)) as Uint8Array
        assert.strictEqual(bytes.length, 65_536)
        assert.isTrue(bytes.every((byte) => byte === 7))
      })
    )

    live(
      "says what was thrown, with its name, message and frames",
      Effect.gen(function*() {
        const tasks = yield* Tasks
        const error = yield* Effect.flip(Effect.flatMap(tasks.submit("throws", "out of it"), tasks.join))
        assert(error._tag === "TaskFailed")
        assert.deepStrictEqual([error.reason, error.errorName, error.detail], ["thrown", "RangeError", "out of it"])
        assert.match(error.frames, /sums\.ts:\d+/)
        const unknown = yield* Effect.flip(Effect.flatMap(tasks.submit("nothing", 1), tasks.join))
        assert(unknown._tag === "TaskFailed" && unknown.reason === "unknown-task")
        assert.match(unknown.message, /there is no task "nothing"; there are next, /)
        assert.strictEqual(yield* Effect.flatMap(tasks.submit("next", 1), tasks.join), 2)
      })
    )

    live(
      "names the first failure of a map in the order of its inputs",
      Effect.gen(function*() {
        const tasks = yield* Tasks
        const error = yield* Effect.flip(tasks.map("throws", ["first", "second"]))
        assert.strictEqual(error._tag === "TaskFailed" && error.detail, "first")
        assert.deepStrictEqual(yield* tasks.map("next", [1]), [2])
      })
    )

    live(
      "joins from plain code",
      Effect.gen(function*() {
        const tasks = yield* Tasks
        const some = [1, 2, 3].map((input) => tasks.unsafeSubmit("next", input))
        assert.deepStrictEqual(some.map((task) => tasks.unsafeJoin(task)), [2, 3, 4])
        assert.throws(() => tasks.unsafeJoin(tasks.unsafeSubmit("throws", "here")), /RangeError: here/)
      })
    )

    live(
      "joins from a host import, inside a guest",
      Effect.gen(function*() {
        const tasks = yield* Tasks
        const bytes = yield* Effect.promise(() =>
          assemble(`(module
            (import "host" "submit" (func $submit (param i32) (result i32)))
            (import "host" "join" (func $join (param i32) (result i32)))
            (func (export "both") (param i32) (result i32) (local $one i32) (local $other i32)
              (local.set $one (call $submit (local.get 0)))
              (local.set $other (call $submit (i32.mul (local.get 0) (i32.const 10))))
              (i32.add (call $join (local.get $one)) (call $join (local.get $other)))))`)
        )
        const open: Array<Task> = []
        const host = {
          submit: (input: number) => open.push(tasks.unsafeSubmit("next", input)) - 1,
          join: (at: number) => tasks.unsafeJoin(open[at])
        }
        const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host })
        assert.strictEqual((exports["both"] as (input: number) => number)(7), 79)
      })
    )

    live(
      "records each task that has ended",
      Effect.gen(function*() {
        const tasks = yield* Tasks
        yield* tasks.map("sleep", [2, 2, 2])
        const records = tasks.records().slice(-3)
        assert.deepStrictEqual(records.map(({ name }) => name), ["sleep", "sleep", "sleep"])
        for (const { attempts, end, lane, start, submitted } of records) {
          assert.isAtLeast(end - start, 1.5)
          assert.isAtLeast(start, submitted - 1)
          assert.isTrue(lane >= 0 && lane < tasks.lanes)
          assert.strictEqual(attempts, 1)
        }
      })
    )
  })
}

/** What a backend with audits must do besides. */
export const auditSuite = (name: string, layer: Layer.Layer<Tasks, unknown>): void => {
  describe(`audits, ${name}`, () => {
    it.live("catch a task that depends on the thread it runs in, and no other one", () =>
      Effect.gen(function*() {
        const tasks = yield* Tasks
        const error = yield* Effect.flip(Effect.flatMap(tasks.submit("thread", 1), tasks.join))
        assert.strictEqual(error._tag, "AuditMismatch")
        assert.match(error.message, /"thread": its result differs from byte \d+ on/)
        assert.throws(() => tasks.unsafeJoin(tasks.unsafeSubmit("thread", 1)), /differs from byte/)
        const bytes = new Uint8Array([1, 2, 3])
        // The buffer is handed over, and empty here; the audit has its own copy.
        const task = yield* tasks.submit("echo", [1, [2], "é", bytes], { transfer: [bytes.buffer] })
        assert.deepStrictEqual(yield* tasks.join(task), [1, [2], "é", new Uint8Array([1, 2, 3])])
        assert.strictEqual(bytes.length, 0)
      }).pipe(Effect.provide(layer)))
  })
}
