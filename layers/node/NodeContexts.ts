/**
 * Contexts on Node.js: each is an instance in a lane of its own.
 *
 * ```ts
 * const program = Effect.gen(function*() {
 *   const contexts = yield* Contexts
 *   const context = yield* contexts.acquire
 *   yield* context.run("load", document)
 *   return yield* context.run("render", options)
 * }).pipe(Effect.scoped)
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { Contexts, type ContextsShape, type PrivateContext } from "../../services/Contexts.ts"
import type { ContextRefused, TaskFailed } from "../../services/TaskErrors.ts"
import type { TaskOptions } from "../../services/Tasks.ts"
import { RESET_TASK } from "../../src/tasks/protocol.ts"
import { cpuBudget } from "./cpu.ts"
import { acquirePool, awaitTask, NodeTasksOptions, prepareModule } from "./NodeTasks.ts"
import { taskError, taskValue } from "./task-outcome.ts"
import type { Lease, TaskPool } from "./task-pool.ts"

/**
 * What contexts are made of.
 *
 * @category options
 * @since 0.1.0
 */
export interface NodeContextsOptions extends Pick<NodeTasksOptions, "program" | "script" | "reset"> {
  /** Bytes of the module. */
  readonly module: Uint8Array
  /** How many contexts. Default: as many threads as this process can run at once. */
  readonly size?: number
}

const run = (
  pool: TaskPool,
  lease: Lease,
  name: string,
  input: unknown,
  options: TaskOptions & { readonly keep: boolean }
): Effect.Effect<unknown, TaskFailed> =>
  Effect.suspend(() => {
    const task = pool.submit(name, input, { ...options, lease })
    return Effect.flatMap(awaitTask(pool, task), () => {
      const error = taskError(task)
      return error === undefined ? Effect.succeed(taskValue(task)) : Effect.fail(error)
    })
  })

const contextOf = (pool: TaskPool, lease: Lease): PrivateContext => ({
  run: (name, input, options) => run(pool, lease, name, input, { ...options, keep: true }),
  reset: Effect.asVoid(run(pool, lease, RESET_TASK, undefined, { keep: false }))
})

/**
 * Contexts with the given options, until the scope ends.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: NodeContextsOptions): Effect.Effect<ContextsShape, ContextRefused, Scope.Scope> =>
  Effect.gen(function*() {
    const { module: bytes, size = cpuBudget().width, ...rest } = options
    const decoded = yield* Effect.orDie(Schema.decode(NodeTasksOptions)({ ...rest, module: bytes, lanes: size }))
    const module = yield* prepareModule(bytes, decoded.reset)
    const pool = yield* acquirePool(decoded, module)
    const free = yield* Effect.makeSemaphore(size)
    const giveBack = (lease: Lease): Effect.Effect<void> =>
      contextOf(pool, lease).reset.pipe(
        // A context that cannot be put back was replaced with its lane; there is nobody left to tell.
        Effect.ignore,
        Effect.zipRight(Effect.sync(() => pool.giveBack(lease))),
        Effect.zipRight(free.release(1))
      )
    const acquire = Effect.uninterruptibleMask((restore) =>
      restore(free.take(1)).pipe(
        Effect.map(() => pool.lease()!),
        Effect.tap((lease) => Effect.addFinalizer(() => giveBack(lease))),
        Effect.map((lease) => contextOf(pool, lease))
      )
    )
    return { size, choice: module.choice, acquire }
  })

/**
 * {@link Contexts} with the given options.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: NodeContextsOptions): Layer.Layer<Contexts, ContextRefused> =>
  Layer.scoped(Contexts, make(options))
