/**
 * Contexts: private instances of one module, acquired one at a time, and put back between uses.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ResetChoice } from "../src/reset/policy.ts"
import type { TaskFailed } from "./TaskErrors.ts"
import type { TaskOptions } from "./Tasks.ts"

/**
 * An acquired context. It is its holder's alone until the scope ends.
 *
 * @category models
 * @since 0.1.0
 */
export interface PrivateContext {
  /** Runs a task of the program in the context, which keeps the state that the task leaves. */
  readonly run: (name: string, input: unknown, options?: TaskOptions) => Effect.Effect<unknown, TaskFailed>
  /** Puts the context back now. */
  readonly reset: Effect.Effect<void, TaskFailed>
}

/**
 * The operations of {@link Contexts}.
 *
 * @category models
 * @since 0.1.0
 */
export interface ContextsShape {
  /** How many contexts there are. */
  readonly size: number
  /** How they are put back, and why not faster. */
  readonly choice: ResetChoice
  /** A context in its first state. Waits until one is free; the scope's end puts it back and frees it. */
  readonly acquire: Effect.Effect<PrivateContext, TaskFailed, Scope.Scope>
}

/**
 * Keeps private instances of one module.
 *
 * @category services
 * @since 0.1.0
 */
export class Contexts extends Context.Tag("folio/services/Contexts")<Contexts, ContextsShape>() {}
