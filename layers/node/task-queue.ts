/**
 * Tasks and what becomes of them, as plain data of a pool.
 *
 * @since 0.1.0
 */
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
  /** By `performance.now()`. */
  readonly submitted: number
  /** Lane that has it, and which of the lane's tasks it is. */
  lane: number
  number: number
  attempts: number
  /** Tasks that were posted together with it. */
  batch: number
  /** Whether somebody waits for it by itself, and not for many. */
  awaited: boolean
  /** Whether it has ended in a lane. */
  ran: boolean
  value: unknown
  failure: TaskFailure | undefined
  settled: boolean
  /** Called once, when the task has ended. */
  onSettled: (() => void) | undefined
}

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

  /** The item with so many before it. */
  at(index: number): A | undefined {
    return this.#items[this.#head + index]
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
