/**
 * Contexts whose lanes end at bad moments: in the middle of a reset, of a task, of opening.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import type { Worker } from "node:worker_threads"
import * as NodeContexts from "../../layers/node/NodeContexts.ts"
import * as NodeTasks from "../../layers/node/NodeTasks.ts"
import { Contexts } from "../../services/Contexts.ts"
import { Tasks } from "../../services/Tasks.ts"
import { assemble } from "../support/wat.ts"

const program = new URL("../fixtures/tasks/sums.ts", import.meta.url)

/** 64 MiB, so that a reset by copying takes some milliseconds. */
const large = assemble(`(module (memory (export "memory") 1024) (global $n (mut i32) (i32.const 0))
  (func (export "bump") (result i32)
    (global.set $n (i32.add (global.get $n) (i32.const 1)))
    (i32.store (i32.const 50000000) (i32.add (i32.load (i32.const 50000000)) (i32.const 1)))
    (i32.add (global.get $n) (i32.load (i32.const 50000000)))))`)

/** Entries of a folder of `/proc/self` for which something holds; none where the host has no such folder. */
const count = (folder: string, holds: (entry: string) => boolean): number => {
  if (!existsSync(`/proc/self/${folder}`)) return 0
  return readdirSync(`/proc/self/${folder}`).filter((entry) => {
    try {
      return holds(`/proc/self/${folder}/${entry}`)
    } catch {
      return false
    }
  }).length
}

const held = (): { readonly threads: number; readonly descriptors: number } => ({
  threads: count("task", (path) => readFileSync(`${path}/comm`, "utf8").startsWith("folio-task")),
  descriptors: count("fd", (path) => /userfaultfd|pagemap/.test(readlinkSync(path)))
})

for (const reset of ["whole", "checkpoint", "auto"] as const) {
  describe(`contexts, ${reset}`, () => {
    it.live("that are closed in the middle of a reset leave nothing behind", () =>
      Effect.gen(function*() {
        const module = yield* Effect.promise(() => large)
        for (let round = 0; round < 4; round++) {
          yield* Effect.gen(function*() {
            const context = yield* (yield* Contexts).acquire
            yield* context.run("bump", 0)
            yield* Effect.fork(context.reset)
            yield* Effect.sleep(`${round * 2} millis`)
          }).pipe(Effect.provide(NodeContexts.layer({ module, program, reset, size: 1 })), Effect.scoped)
        }
        const { descriptors, threads } = held()
        assert.strictEqual(threads, 0)
        // One of each for the process, if any.
        assert.isAtMost(descriptors, 2)
      }))

    it.live("whose lane is killed in the middle of a reset are opened anew, and later tasks are unharmed", () =>
      Effect.gen(function*() {
        const module = yield* Effect.promise(() => large)
        const workers: Array<Worker> = []
        const seen = (worker: Worker): number => workers.push(worker)
        process.on("worker", seen)
        yield* Effect.gen(function*() {
          const { join, submit } = yield* Tasks
          for (let round = 0; round < 5; round++) {
            // The reset goes on behind the result.
            assert.strictEqual(yield* Effect.flatMap(submit("bump", 0), join), 2)
            if (round > 0) yield* Effect.sleep(`${round} millis`)
            const killed = workers.at(-1)!.terminate()
            // Given to the lane that is being killed, or to the one behind it.
            const next = yield* submit("bump", 0)
            yield* Effect.promise(() => killed)
            assert.strictEqual(yield* join(next), 2)
          }
          assert.isAtLeast(workers.length, 6)
        }).pipe(
          Effect.provide(NodeTasks.layer({ module, program, reset, lanes: 1, onLaneLost: "retry" })),
          Effect.ensuring(Effect.sync(() => process.off("worker", seen)))
        )
        const { descriptors, threads } = held()
        assert.strictEqual(threads, 0)
        assert.isAtMost(descriptors, 2)
      }))

    it.live("whose lane is ended under a task begin again from the first state", () =>
      Effect.gen(function*() {
        const module = yield* Effect.promise(() => large)
        yield* Effect.gen(function*() {
          const contexts = yield* Contexts
          yield* Effect.scoped(Effect.gen(function*() {
            const context = yield* contexts.acquire
            assert.strictEqual(yield* context.run("bump", 0), 2)
            const error = yield* Effect.flip(context.run("forever", 0, { timeoutMs: 30 }))
            assert.strictEqual(error.reason, "timeout")
            assert.strictEqual(yield* context.run("bump", 0), 2)
            assert.strictEqual((yield* Effect.flip(context.run("exits", 4))).reason, "lane-lost")
            assert.strictEqual(yield* context.run("bump", 0), 2)
          }))
          const next = yield* Effect.scoped(Effect.flatMap(contexts.acquire, ({ run }) => run("bump", 0)))
          assert.strictEqual(next, 2)
        }).pipe(Effect.provide(NodeContexts.layer({ module, program, reset, size: 1 })))
        assert.strictEqual(held().threads, 0)
      }))
  })
}

describe("contexts", () => {
  it.live("of a module without memory say so to who wants to write", () =>
    Effect.gen(function*() {
      const module = yield* Effect.promise(() =>
        assemble(`(module (global $n (mut i32) (i32.const 1))
        (func (export "bump") (result i32)
          (global.set $n (i32.add (global.get $n) (i32.const 1)))
          (global.get $n)))`)
      )
      yield* Effect.gen(function*() {
        const context = yield* (yield* Contexts).acquire
        assert.strictEqual(yield* context.run("bump", 0), 2)
        const error = yield* Effect.flip(context.run("write", 0))
        assert.deepStrictEqual([error.reason, error.errorName], ["thrown", "TypeError"])
        assert.match(error.message, /the module has no memory/)
        assert.strictEqual(yield* context.run("bump", 0), 3)
      }).pipe(Effect.scoped, Effect.provide(NodeContexts.layer({ module, program, size: 1 })))
    }))

  it.live("are of no use to who has given them back", () =>
    Effect.gen(function*() {
      const module = yield* Effect.promise(() => large)
      yield* Effect.gen(function*() {
        const contexts = yield* Contexts
        const former = yield* Effect.scoped(contexts.acquire)
        const present = yield* contexts.acquire
        const error = yield* Effect.flip(former.run("bump", 0))
        assert.deepStrictEqual([error.reason, error.detail], ["closed", "the context was given back"])
        assert.strictEqual(yield* present.run("bump", 0), 2)
      }).pipe(Effect.scoped, Effect.provide(NodeContexts.layer({ module, program, size: 1 })))
    }))

  it.live("of a program whose imports do not fit say why", () =>
    Effect.gen(function*() {
      const module = yield* Effect.promise(() => assemble(`(module (import "env" "missing" (func)))`))
      const error = yield* Effect.gen(function*() {
        const context = yield* (yield* Contexts).acquire
        return yield* Effect.flip(context.run("next", 1))
      }).pipe(Effect.scoped, Effect.provide(NodeContexts.layer({ module, program, size: 1 })))
      assert.strictEqual(error.reason, "unusable")
      assert.match(error.message, /env/)
    }))
})
