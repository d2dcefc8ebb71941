/**
 * A task's end as its caller sees it, and the audit of it.
 *
 * @since 0.1.0
 */
import { deserialize, serialize } from "node:v8"
import { AuditMismatch, TaskFailed } from "../../services/TaskErrors.ts"
import type { TaskContext, TaskProgram } from "../../src/tasks/context.ts"
import type { TaskFault, TaskOutcome } from "../../src/tasks/protocol.ts"
import { runTask } from "../../src/tasks/run.ts"
import type { PoolTask } from "./task-queue.ts"

/**
 * The error of a task that has failed, or `undefined`.
 *
 * @category conversions
 * @since 0.1.0
 */
export const taskError = ({ failure, name }: PoolTask): TaskFailed | undefined =>
  failure === undefined ? undefined : new TaskFailed({
    task: name,
    reason: failure.reason,
    errorName: failure.name,
    detail: failure.message,
    frames: failure.stack
  })

/**
 * The value of a task that has ended well.
 *
 * @category conversions
 * @since 0.1.0
 */
export const taskValue = ({ value }: PoolTask): unknown => value

/**
 * A result as bytes. Failures compare by what the caller sees of them: stacks name the thread's own files. One that
 * was posted is encoded a little differently from one that was not (an array's holes are), so each takes that way once.
 */
const encoded = (value: unknown, failure: Pick<TaskFault, "name" | "message"> | undefined): Uint8Array => {
  const seen = failure === undefined ? { value } : { name: failure.name, message: failure.message }
  return serialize(deserialize(serialize(seen)))
}

const firstDifference = (one: Uint8Array, other: Uint8Array): number | undefined => {
  const length = Math.min(one.length, other.length)
  for (let at = 0; at < length; at++) if (one[at] !== other[at]) return at
  return one.length === other.length ? undefined : length
}

/**
 * Runs tasks again in this thread, on a context of its own.
 *
 * @category models
 * @since 0.1.0
 */
export class TaskAudit {
  readonly #program: TaskProgram
  readonly #open: () => Promise<TaskContext | undefined>
  readonly #every: number
  readonly #inputs = new Map<number, unknown>()
  #context: TaskContext | undefined

  private constructor(
    program: TaskProgram,
    open: () => Promise<TaskContext | undefined>,
    every: number,
    context: TaskContext | undefined
  ) {
    this.#program = program
    this.#open = open
    this.#every = every
    this.#context = context
  }

  static async make(
    program: TaskProgram,
    open: () => Promise<TaskContext | undefined>,
    every: number
  ): Promise<TaskAudit> {
    return new TaskAudit(program, open, every, await open())
  }

  /** Keeps the input of a task that will run again as it is now: its own may be handed over, or changed. */
  keep(id: number, input: unknown): void {
    if (id % this.#every !== 0) return
    try {
      this.#inputs.set(id, structuredClone(input))
    } catch {
      // It cannot be posted either: the task fails.
    }
  }

  /** Whether this task is one of those that run again. */
  includes(task: PoolTask): boolean {
    return this.#inputs.has(task.id) && task.ran
  }

  /** Runs the task again. Answers how the results differ, if they do; a promise only for a task that returns one. */
  check(task: PoolTask): AuditMismatch | undefined | Promise<AuditMismatch | undefined> {
    const input = this.#inputs.get(task.id)
    this.#inputs.delete(task.id)
    const outcome = runTask(this.#program, task.name, input, this.#context?.guest)
    return outcome instanceof Promise
      ? outcome.then((settled) => this.#compare(task, settled))
      : this.#compare(task, outcome)
  }

  /** Opens a new context where the present one cannot be put back. */
  async renew(): Promise<void> {
    if (this.#context !== undefined) return
    this.#context = await this.#open()
  }

  #compare(task: PoolTask, outcome: TaskOutcome): AuditMismatch | undefined {
    // Encoded before the reset: it may hold views of the memory.
    const lane = encoded(task.value, task.failure)
    const audit = outcome.ok ? encoded(outcome.value, undefined) : encoded(undefined, outcome)
    if (this.#context !== undefined && this.#context.reset() !== undefined) this.#context = undefined
    const byte = firstDifference(lane, audit)
    return byte === undefined
      ? undefined
      : new AuditMismatch({ task: task.name, byte, laneBytes: lane.length, auditBytes: audit.length })
  }
}
