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
import { Fifo, type PoolTask } from "./task-queue.ts"

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
    pool.hasten(task)
    if (task.settled) {
      settled()
      return
    }
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

  submit(name: string, input: unknown, options: TaskOptions | undefined): PoolTask {
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

/** Waits until the first `count` tasks have ended, or one of them has failed: one operation, however many there are. */
const settledBefore = (tasks: Fifo<PoolTask>, count: number): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    let at = 0
    const advance = (): void => {
      let task = tasks.at(at)
      while (task?.settled === true && task.failure === undefined && ++at < count) task = tasks.at(at)
      if (task === undefined || task.settled) {
        resume(Effect.void)
        return
      }
      const waited = task
      const before = waited.onSettled
      waited.onSettled = () => {
        before?.()
        advance()
      }
    }
    advance()
  })

/** The tasks of one `map`. Plain loops: what has to wait is said to {@link mapTasks}. */
class Mapping {
  readonly #ledger: Ledger
  readonly #name: string
  readonly #inputs: ReadonlyArray<unknown>
  readonly #options: TaskOptions | undefined
  readonly #open = new Fifo<PoolTask>()
  #submitted = 0
  readonly results: Array<unknown> = []

  constructor(ledger: Ledger, name: string, inputs: ReadonlyArray<unknown>, options: TaskOptions | undefined) {
    this.#ledger = ledger
    this.#name = name
    this.#inputs = inputs
    this.#options = options
  }

  get isDone(): boolean {
    return this.results.length === this.#inputs.length
  }

  /** Submits as many tasks as there are credits for. Waits until some have ended, or until there is a credit. */
  step(): Effect.Effect<void> {
    while (this.#submitted < this.#inputs.length && !this.#ledger.isFull) {
      this.#open.push(this.#ledger.submit(this.#name, this.#inputs[this.#submitted++], this.#options))
    }
    const { length } = this.#open
    if (length === 0) return this.#ledger.room
    // With more to come, half of what is open makes room enough to go on.
    return settledBefore(this.#open, this.#submitted < this.#inputs.length ? Math.ceil(length / 2) : length)
  }

  /** Takes the results of tasks that have ended well. The first other one, which has ended too. */
  take(): PoolTask | undefined {
    for (let task = this.#open.at(0); task?.settled === true; task = this.#open.at(0)) {
      this.#open.shift()
      if (!this.#ledger.isPlain(task)) return task
      this.results.push(taskValue(task))
    }
    return undefined
  }

  endOthers(): void {
    for (let task = this.#open.shift(); task !== undefined; task = this.#open.shift()) {
      if (!task.settled) this.#ledger.pool.interrupt(task)
    }
  }
}

const mapTasks = (
  ledger: Ledger,
  name: string,
  inputs: ReadonlyArray<unknown>,
  options: TaskOptions | undefined
): Effect.Effect<ReadonlyArray<unknown>, TasksError> =>
  Effect.suspend(() => {
    const mapping = new Mapping(ledger, name, inputs, options)
    return Effect.gen(function*() {
      while (!mapping.isDone) {
        yield* mapping.step()
        for (let task = mapping.take(); task !== undefined; task = mapping.take()) {
          mapping.results.push(yield* ledger.conclude(task))
        }
      }
      return mapping.results
    }).pipe(Effect.onExit((exit) => exit._tag === "Success" ? Effect.void : Effect.sync(() => mapping.endOthers())))
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
