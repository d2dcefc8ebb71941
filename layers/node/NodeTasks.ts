/**
 * Tasks on Node.js: lanes are worker threads, each with a private context where there is a module.
 *
 * ```ts
 * import { NodeTasks, Tasks } from "folio-wasm/tasks"
 *
 * const program = Effect.gen(function*() {
 *   const tasks = yield* Tasks
 *   return yield* tasks.map("render", pages)
 * })
 *
 * await program.pipe(Effect.provide(NodeTasks.layer({ program: new URL("./render.js", import.meta.url) })), Effect.runPromise)
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { ContextRefused, TaskFailed } from "../../services/TaskErrors.ts"
import { type Task, type TaskOptions, Tasks, type TasksShape } from "../../services/Tasks.ts"
import { TaskContext, type TaskProgram } from "../../src/tasks/context.ts"
import { cpuBudget } from "./cpu.ts"
import { NotResettable, resetInstance, type ResetModule, resetModule } from "./reset-instance.ts"
import { TaskAudit, taskError, taskValue } from "./task-outcome.ts"
import { TaskPool } from "./task-pool.ts"
import type { PoolTask } from "./task-queue.ts"

/**
 * How tasks run. One of `program` and `script` is needed.
 *
 * @category options
 * @since 0.1.0
 */
export const NodeTasksOptions = Schema.Struct({
  /** ES module that exports `tasks`, and `imports` and `begin` where the module needs them. */
  program: Schema.optional(Schema.Union(Schema.String, Schema.instanceOf(URL))),
  /** Worker script of the caller's own, which calls `serveTasks`. */
  script: Schema.optional(Schema.Union(Schema.String, Schema.instanceOf(URL))),
  /** Bytes of a module: each lane has an instance of its own, put back behind every task. */
  module: Schema.optional(Schema.Uint8ArrayFromSelf),
  reset: Schema.optionalWith(Schema.Literal("auto", "tracked", "checkpoint", "whole", "pages"), {
    default: () => "auto" as const
  }),
  /** Lanes: 1 to 32. Default: as many threads as this process can run at once. */
  lanes: Schema.optional(Schema.Int.pipe(Schema.between(1, 32))),
  /** Tasks that may wait or run at a time; whoever submits more waits. */
  queue: Schema.optionalWith(Schema.Int.pipe(Schema.positive()), { default: () => 1_024 }),
  /** What becomes of a task whose lane ends under it. A task that is run again may have begun twice. */
  onLaneLost: Schema.optionalWith(Schema.Literal("retry", "fail"), { default: () => "fail" as const }),
  /** How often a task is begun at most. */
  maximumAttempts: Schema.optionalWith(Schema.Int.pipe(Schema.positive()), { default: () => 3 }),
  /** Every so many tasks one runs again in the joining thread, and must give the same bytes; 0 none. */
  audit: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 0 })
})

/**
 * @category options
 * @since 0.1.0
 */
export type NodeTasksOptions = typeof NodeTasksOptions.Encoded

type Decoded = typeof NodeTasksOptions.Type

/**
 * Prepares a module for contexts, its refusals in the error channel.
 *
 * @category constructors
 * @since 0.1.0
 */
export const prepareModule = (
  bytes: Uint8Array,
  policy: Decoded["reset"]
): Effect.Effect<ResetModule, ContextRefused> =>
  Effect.try({
    try: () => resetModule(bytes, { policy, touches: false }),
    catch: (error) =>
      new ContextRefused({
        reason: error instanceof NotResettable ? error.code : "malformed",
        detail: error instanceof Error ? error.message : String(error)
      })
  })

/**
 * A pool as a scoped resource.
 *
 * @category constructors
 * @since 0.1.0
 */
export const acquirePool = (
  options: Decoded,
  module: ResetModule | undefined
): Effect.Effect<TaskPool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() =>
      new TaskPool({
        lanes: options.lanes ?? cpuBudget().width,
        program: options.program === undefined ? undefined : String(options.program),
        script: options.script === undefined ? undefined : String(options.script),
        module,
        width: cpuBudget().width,
        onLaneLost: options.onLaneLost,
        maximumAttempts: options.maximumAttempts
      })
    ),
    (pool) => Effect.promise(() => pool.close())
  )

/**
 * Waits for a task; an interruption ends it.
 *
 * @category waiting
 * @since 0.1.0
 */
export const awaitTask = (pool: TaskPool, task: PoolTask): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const settled = (): void => resume(Effect.void)
    if (task.settled) {
      settled()
      return
    }
    task.awaited = true
    const before = task.onSettled
    task.onSettled = () => {
      before?.()
      settled()
    }
    return Effect.sync(() => pool.interrupt(task))
  })

/** The tasks of one layer: credits, records and audits around a pool. */
class Ledger {
  readonly #pool: TaskPool
  readonly #limit: number
  readonly #audit: TaskAudit | undefined
  readonly #waiting: Array<() => void> = []
  #open = 0

  constructor(pool: TaskPool, limit: number, audit: TaskAudit | undefined) {
    this.#pool = pool
    this.#limit = limit
    this.#audit = audit
  }

  get pool(): TaskPool {
    return this.#pool
  }

  get isFull(): boolean {
    return this.#open >= this.#limit
  }

  submit(name: string, input: unknown, options: TaskOptions = {}): PoolTask {
    this.#open++
    this.#audit?.keep(this.#pool.nextId, input)
    const task = this.#pool.submit(name, input, options)
    if (task.settled) this.#ended()
    else task.onSettled = this.#ended
    return task
  }

  /** Resolves when there may be a credit. */
  readonly room: Effect.Effect<void> = Effect.async((resume) => {
    const wake = (): void => resume(Effect.void)
    this.#waiting.push(wake)
    return Effect.sync(() => void this.#waiting.splice(this.#waiting.indexOf(wake), 1))
  })

  readonly #ended = (): void => {
    this.#open--
    this.#waiting.shift()?.()
  }

  /** Whether the task has ended well and is not audited. */
  isPlain(task: PoolTask): boolean {
    return task.failure === undefined && this.#audit?.includes(task) !== true
  }

  /** The result of a task that has ended; an audit that has to wait is a promise. */
  conclude(task: PoolTask): Effect.Effect<unknown, TasksError> {
    const error = taskError(task)
    const audit = this.#audit
    const result: Effect.Effect<unknown, TasksError> = error === undefined
      ? Effect.succeed(taskValue(task))
      : Effect.fail(error)
    if (audit === undefined || !audit.includes(task)) return result
    return Effect.flatMap(
      Effect.promise(async () => {
        await audit.renew()
        return audit.check(task)
      }),
      (mismatch): Effect.Effect<unknown, TasksError> => mismatch === undefined ? result : Effect.fail(mismatch)
    )
  }

  concludeSync(task: PoolTask): unknown {
    const error = taskError(task)
    const mismatch = this.#audit?.includes(task) === true ? this.#audit.check(task) : undefined
    if (mismatch !== undefined && !(mismatch instanceof Promise)) throw mismatch
    if (error !== undefined) throw error
    return taskValue(task)
  }
}

type TasksError = Effect.Effect.Error<ReturnType<TasksShape["join"]>>

/** Waits until the tasks before `end` have ended, or one of them has failed: one operation, however many there are. */
const settledBefore = (tasks: ReadonlyArray<PoolTask>, from: number, end: number): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    let at = from
    const advance = (): void => {
      while (at < end && tasks[at].settled && tasks[at].failure === undefined) at++
      if (at === end || tasks[at].settled) {
        resume(Effect.void)
        return
      }
      tasks[at].awaited = true
      const before = tasks[at].onSettled
      tasks[at].onSettled = () => {
        before?.()
        advance()
      }
    }
    advance()
  })

const mapTasks = (
  ledger: Ledger,
  name: string,
  inputs: ReadonlyArray<unknown>,
  options: TaskOptions | undefined
): Effect.Effect<ReadonlyArray<unknown>, TasksError> =>
  Effect.suspend(() => {
    const tasks: Array<PoolTask> = []
    const results: Array<unknown> = []
    const endOthers = Effect.sync(() => {
      for (const task of tasks) if (!task.settled) ledger.pool.interrupt(task)
    })
    return Effect.gen(function*() {
      while (results.length < inputs.length) {
        while (tasks.length < inputs.length && !ledger.isFull) {
          tasks.push(ledger.submit(name, inputs[tasks.length], options))
        }
        if (tasks.length === results.length) {
          yield* ledger.room
          continue
        }
        // With more to come, half of what is open makes room enough to go on.
        const open = tasks.length - results.length
        const end = tasks.length < inputs.length ? results.length + Math.ceil(open / 2) : tasks.length
        yield* settledBefore(tasks, results.length, end)
        while (results.length < end) {
          const task = tasks[results.length]
          results.push(ledger.isPlain(task) ? taskValue(task) : yield* ledger.conclude(task))
        }
      }
      return results
    }).pipe(Effect.onExit((exit) => exit._tag === "Success" ? Effect.void : endOthers))
  })

const shapeOf = (ledger: Ledger, lanes: number): TasksShape => {
  const { pool } = ledger
  const submitted = (task: Task): PoolTask => task as PoolTask
  const submit = (name: string, input: unknown, options?: TaskOptions): Effect.Effect<PoolTask> =>
    Effect.suspend(() =>
      ledger.isFull
        ? Effect.flatMap(ledger.room, () => submit(name, input, options))
        : Effect.succeed(ledger.submit(name, input, options))
    )
  const join = (task: PoolTask): Effect.Effect<unknown, TasksError> =>
    Effect.suspend(() =>
      task.settled
        ? ledger.conclude(task)
        : Effect.flatMap(awaitTask(pool, task), () => ledger.conclude(task))
    )
  return {
    lanes,
    submit,
    join: (task) => join(submitted(task)),
    map: (name, inputs, options) => mapTasks(ledger, name, inputs, options),
    unsafeSubmit: (name, input, options) => {
      if (!ledger.isFull) return ledger.submit(name, input, options)
      const detail = "as many tasks as there are credits have not ended"
      throw new TaskFailed({ task: name, reason: "no-credit", errorName: "Error", detail, frames: "" })
    },
    unsafeJoin: (task) => {
      pool.joinSync(submitted(task))
      return ledger.concludeSync(submitted(task))
    },
    records: () => pool.records.list()
  }
}

const loadAudit = (options: Decoded, module: ResetModule | undefined): Effect.Effect<TaskAudit | undefined> => {
  const { audit, program } = options
  if (audit === 0 || program === undefined) return Effect.succeed(undefined)
  return Effect.promise(async () => {
    const loaded = await import(String(program)) as TaskProgram
    const open = async (): Promise<TaskContext | undefined> =>
      module === undefined ? undefined : TaskContext.open((imports) => resetInstance(module, imports), loaded)
    return TaskAudit.make(loaded, open, audit)
  })
}

/**
 * Tasks with the given options, until the scope ends.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: NodeTasksOptions): Effect.Effect<TasksShape, ContextRefused, Scope.Scope> =>
  Effect.gen(function*() {
    const decoded = yield* Effect.orDie(Schema.decode(NodeTasksOptions)(options))
    if ((decoded.program === undefined) === (decoded.script === undefined)) {
      return yield* Effect.dieMessage("tasks need either a program or a script")
    }
    if (decoded.audit > 0 && decoded.program === undefined) {
      return yield* Effect.dieMessage("an audit needs a program: a script runs in its own threads only")
    }
    const module = decoded.module === undefined ? undefined : yield* prepareModule(decoded.module, decoded.reset)
    const audit = yield* loadAudit(decoded, module)
    const pool = yield* acquirePool(decoded, module)
    return shapeOf(new Ledger(pool, decoded.queue, audit), decoded.lanes ?? cpuBudget().width)
  })

/**
 * {@link Tasks} with the given options. Options out of range are a defect.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: NodeTasksOptions): Layer.Layer<Tasks, ContextRefused> =>
  Layer.scoped(Tasks, make(options))
