/**
 * Tasks and what becomes of them, as plain data of a pool.
 *
 * @since 0.1.0
 */
import type { TaskRecord } from "../../services/Tasks.ts"
import type { TaskReply } from "../../src/tasks/protocol.ts"

/**
 * Why a task has no result.
 *
 * @category models
 * @since 0.1.0
 */
export type TaskFailureReason =
  | "thrown"
  | "not-cloneable"
  | "unknown-task"
  | "timeout"
  | "lane-lost"
  | "interrupted"
  | "closed"
  | "unusable"

/**
 * A failure as plain data.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskFailure {
  readonly reason: TaskFailureReason
  readonly name: string
  readonly message: string
  readonly stack: string
}

/**
 * A task of a pool.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolTask {
  readonly id: number
  readonly name: string
  readonly input: unknown
  readonly transfer: ReadonlyArray<ArrayBuffer>
  readonly timeoutMs: number | undefined
  readonly keep: boolean
  readonly submitted: number
  lane: number
  attempts: number
  postMs: number
  batch: number
  decodeMs: number
  reply: TaskReply | undefined
  failure: TaskFailure | undefined
  settled: boolean
  /** Called once, when the task has ended. */
  onSettled: (() => void) | undefined
}

/**
 * The record of a task that has ended.
 *
 * @category formatting
 * @since 0.1.0
 */
export const recordOf = (task: PoolTask): TaskRecord => ({
  id: task.id,
  name: task.name,
  lane: task.lane,
  submitted: task.submitted,
  start: task.reply?.start ?? Number.NaN,
  end: task.reply?.end ?? Number.NaN,
  cpuMicroseconds: task.reply?.cpu,
  postMs: task.postMs,
  decodeMs: task.decodeMs,
  batch: task.batch,
  attempts: task.attempts
})

/**
 * A queue that takes from the front without moving the rest.
 *
 * @category models
 * @since 0.1.0
 */
export class Fifo<A> {
  #items: Array<A> = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: A): void {
    this.#items.push(item)
  }

  /** Puts items in front of all others, in their order. */
  unshift(items: ReadonlyArray<A>): void {
    this.#items = [...items, ...this.#items.slice(this.#head)]
    this.#head = 0
  }

  shift(): A | undefined {
    if (this.#head === this.#items.length) return undefined
    const item = this.#items[this.#head++]
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}
