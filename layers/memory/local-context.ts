/**
 * A context and its tasks on the caller's own thread, and their ends as errors and values.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { ContextRefused, TaskFailed } from "../../services/TaskErrors.ts"
import { type PlainContexts, plainContexts } from "../../src/reset/plain.ts"
import type { ResetPolicy } from "../../src/reset/policy.ts"
import { TaskContext, type TaskProgram } from "../../src/tasks/context.ts"
import type { TaskOutcome } from "../../src/tasks/protocol.ts"
import { runTask } from "../../src/tasks/run.ts"

/**
 * Prepares a module, its refusals in the error channel.
 *
 * @category constructors
 * @since 0.1.0
 */
export const prepareLocal = (bytes: Uint8Array, policy: ResetPolicy): Effect.Effect<PlainContexts, ContextRefused> =>
  Effect.try({
    try: () => plainContexts(bytes, policy),
    catch: (error) =>
      new ContextRefused({ reason: "malformed", detail: error instanceof Error ? error.message : String(error) })
  }).pipe(
    Effect.flatMap((prepared): Effect.Effect<PlainContexts, ContextRefused> =>
      "_tag" in prepared
        ? Effect.fail(new ContextRefused({ reason: prepared.code, detail: prepared.detail }))
        : Effect.succeed(prepared)
    )
  )

/**
 * The error of a task, or `undefined`.
 *
 * @category conversions
 * @since 0.1.0
 */
export const failureOf = (task: string, outcome: TaskOutcome): TaskFailed | undefined => {
  if (outcome.ok) return undefined
  const { message, name, reason, stack } = outcome
  return new TaskFailed({ task, reason, errorName: name, detail: message, frames: stack })
}

/**
 * The value of a task, or its error.
 *
 * @category conversions
 * @since 0.1.0
 */
export const concluded = (task: string, outcome: TaskOutcome): Effect.Effect<unknown, TaskFailed> =>
  outcome.ok ? Effect.succeed(outcome.value) : Effect.fail(failureOf(task, outcome)!)

/**
 * One context and the program that runs in it, one task at a time.
 *
 * @category models
 * @since 0.1.0
 */
export class LocalContext {
  readonly #program: TaskProgram
  readonly #contexts: PlainContexts | undefined
  #context: TaskContext | undefined

  private constructor(
    program: TaskProgram,
    contexts: PlainContexts | undefined,
    context: TaskContext | undefined
  ) {
    this.#program = program
    this.#contexts = contexts
    this.#context = context
  }

  static async open(program: TaskProgram, contexts: PlainContexts | undefined): Promise<LocalContext> {
    const context = contexts === undefined ? undefined : await TaskContext.open(contexts.instantiate, program)
    return new LocalContext(program, contexts, context)
  }

  /** Runs a task on copies of its input and its result, as a lane would. A promise only where the task returns one. */
  run(name: string, input: unknown): TaskOutcome | Promise<TaskOutcome> {
    const own = copied({ ok: true, value: input })
    if (!own.ok) return own
    const outcome = runTask(this.#program, name, own.value, this.#context?.guest)
    return outcome instanceof Promise ? outcome.then(copied) : copied(outcome)
  }

  /** Puts the context back; a promise only where a new one is opened. */
  reset(): undefined | Promise<void> {
    return this.#context === undefined || this.#context.reset() === undefined ? undefined : this.#reopen()
  }

  async #reopen(): Promise<void> {
    this.#context = await TaskContext.open(this.#contexts!.instantiate, this.#program)
  }
}

const copied = (outcome: TaskOutcome): TaskOutcome => {
  if (!outcome.ok) return outcome
  try {
    return { ok: true, value: structuredClone(outcome.value) }
  } catch (error) {
    const { message, name, stack } = error as Error
    return { ok: false, reason: "not-cloneable", name, message, stack: stack ?? message }
  }
}
