/**
 * Tasks on the caller's own thread, one after the other: the same answers without threads, on every host.
 *
 * A task runs when it is submitted. Its time limit has no effect, because nobody could end it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type ContextRefused, TaskFailed } from "../../services/TaskErrors.ts"
import { RECORDS, type Task, type TaskRecord, Tasks, type TasksShape } from "../../services/Tasks.ts"
import type { ResetPolicy } from "../../src/reset/policy.ts"
import type { TaskProgram } from "../../src/tasks/context.ts"
import type { TaskOutcome } from "../../src/tasks/protocol.ts"
import { concluded, failureOf, LocalContext, prepareLocal } from "./local-context.ts"

/**
 * What tasks are run, and on what.
 *
 * @category options
 * @since 0.1.0
 */
export interface MemoryTasksOptions {
  readonly program: TaskProgram
  /** Bytes of a module; its one instance is put back behind every task. */
  readonly module?: Uint8Array
  readonly reset?: ResetPolicy
}

interface LocalTask extends Task {
  outcome: TaskOutcome | Promise<TaskOutcome>
}

const now = (): number => performance.timeOrigin + performance.now()

class LocalTasks {
  readonly #context: LocalContext
  readonly #records: Array<TaskRecord> = []
  /** What the next task has to wait for: a reset that opens a new instance, or a task that returned a promise. */
  #before: Promise<unknown> | undefined
  #nextId = 1

  constructor(context: LocalContext) {
    this.#context = context
  }

  submit(name: string, input: unknown): LocalTask {
    const id = this.#nextId++
    const submitted = now()
    const before = this.#before
    if (before !== undefined) {
      const outcome = before.then(() => this.#run(id, name, input, submitted))
      this.#wait(outcome)
      return { id, name, outcome }
    }
    return { id, name, outcome: this.#run(id, name, input, submitted) }
  }

  #run(id: number, name: string, input: unknown, submitted: number): TaskOutcome | Promise<TaskOutcome> {
    const start = now()
    const outcome = this.#context.run(name, input)
    const ended = (settled: TaskOutcome): TaskOutcome => {
      const times = { submitted, start, end: now(), cpuMicroseconds: undefined }
      // Values are copied in this thread: nothing is on its way.
      this.#records.push({ id, name, lane: 0, batch: 1, attempts: 1, input: undefined, result: undefined, ...times })
      if (this.#records.length > 2 * RECORDS) this.#records.splice(0, RECORDS)
      return settled
    }
    const settled = outcome instanceof Promise ? outcome.then(ended) : ended(outcome)
    const reset = settled instanceof Promise ? settled.then(() => this.#context.reset()) : this.#context.reset()
    if (reset !== undefined) this.#wait(reset)
    return settled
  }

  #wait(promise: Promise<unknown>): void {
    const mine = promise.finally(() => {
      if (this.#before === mine) this.#before = undefined
    })
    this.#before = mine
  }

  records(): ReadonlyArray<TaskRecord> {
    return this.#records.slice(-RECORDS)
  }
}

const blocked = (task: string): TaskFailed =>
  new TaskFailed({
    task,
    reason: "unusable",
    errorName: "Error",
    detail: "it waits for a promise of the thread that would be blocked",
    frames: ""
  })

/**
 * Tasks on this thread.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = ({ module, program, reset }: MemoryTasksOptions): Effect.Effect<TasksShape, ContextRefused> =>
  Effect.gen(function*() {
    const contexts = module === undefined ? undefined : yield* prepareLocal(module, reset ?? "auto")
    const context = yield* Effect.promise(() => LocalContext.open(program, contexts))
    const local = new LocalTasks(context)
    const join = (task: Task): Effect.Effect<unknown, TaskFailed> =>
      Effect.suspend(() => {
        const { name, outcome } = task as LocalTask
        return outcome instanceof Promise
          ? Effect.flatMap(Effect.promise(() => outcome), (settled) => concluded(name, settled))
          : concluded(name, outcome)
      })
    return {
      lanes: 1,
      submit: (name, input) => Effect.sync(() => local.submit(name, input)),
      join,
      map: (name, inputs) => Effect.forEach(inputs, (input) => Effect.suspend(() => join(local.submit(name, input)))),
      unsafeSubmit: (name, input) => local.submit(name, input),
      unsafeJoin: (task) => {
        const { name, outcome } = task as LocalTask
        if (outcome instanceof Promise) throw blocked(name)
        if (!outcome.ok) throw failureOf(name, outcome)
        return outcome.value
      },
      records: () => local.records()
    }
  })

/**
 * {@link Tasks} on this thread.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: MemoryTasksOptions): Layer.Layer<Tasks, ContextRefused> =>
  Layer.effect(Tasks, make(options))
