/**
 * Contexts on the caller's own thread: private instances as in lanes, one task at a time.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Contexts, type ContextsShape, type PrivateContext } from "../../services/Contexts.ts"
import type { ContextRefused } from "../../services/TaskErrors.ts"
import type { ResetPolicy } from "../../src/reset/policy.ts"
import type { TaskProgram } from "../../src/tasks/context.ts"
import { concluded, LocalContext, prepareLocal } from "./local-context.ts"

/**
 * What contexts are made of.
 *
 * @category options
 * @since 0.1.0
 */
export interface MemoryContextsOptions {
  readonly program: TaskProgram
  readonly module: Uint8Array
  readonly reset?: ResetPolicy
  /** How many contexts (1). */
  readonly size?: number
}

const contextOf = (local: LocalContext): PrivateContext => ({
  run: (name, input) =>
    Effect.flatMap(Effect.promise(async () => local.run(name, input)), (outcome) => concluded(name, outcome)),
  reset: Effect.promise(async () => local.reset())
})

/**
 * Contexts on this thread.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: MemoryContextsOptions): Effect.Effect<ContextsShape, ContextRefused> =>
  Effect.gen(function*() {
    const { module, program, reset = "auto", size = 1 } = options
    const contexts = yield* prepareLocal(module, reset)
    const free: Array<LocalContext> = []
    for (let index = 0; index < size; index++) {
      free.push(yield* Effect.promise(() => LocalContext.open(program, contexts)))
    }
    const credits = yield* Effect.makeSemaphore(size)
    const giveBack = (local: LocalContext): Effect.Effect<void> =>
      Effect.promise(async () => local.reset()).pipe(
        Effect.zipRight(Effect.sync(() => void free.push(local))),
        Effect.zipRight(credits.release(1)),
        Effect.asVoid
      )
    const acquire: Effect.Effect<PrivateContext, never, Scope.Scope> = Effect.uninterruptibleMask((restore) =>
      restore(credits.take(1)).pipe(
        Effect.map(() => free.pop()!),
        Effect.tap((local) => Effect.addFinalizer(() => giveBack(local))),
        Effect.map(contextOf)
      )
    )
    return { size, choice: contexts.choice, acquire }
  })

/**
 * {@link Contexts} on this thread.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: MemoryContextsOptions): Layer.Layer<Contexts, ContextRefused> =>
  Layer.effect(Contexts, make(options))
