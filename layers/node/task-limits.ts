/**
 * Time limits of tasks. One counts from its task's start, which the lane writes down: however long a task waits for its
 * lane, it has all of its time.
 *
 * @since 0.1.0
 */
import type { TaskLane } from "./task-lane.ts"
import type { PoolTask } from "./task-queue.ts"

/**
 * The limits of the tasks of one pool.
 *
 * @category models
 * @since 0.1.0
 */
export class TimeLimits {
  readonly #timers = new Map<PoolTask, ReturnType<typeof setTimeout>>()
  readonly #laneOf: (task: PoolTask) => TaskLane
  readonly #read: () => void
  readonly #over: (task: PoolTask, message: string) => void

  /**
   * @param laneOf the lane that has a task
   * @param read reads replies: a task may have ended in time
   * @param over called with a task that has not ended in time
   */
  constructor(
    laneOf: (task: PoolTask) => TaskLane,
    read: () => void,
    over: (task: PoolTask, message: string) => void
  ) {
    this.#laneOf = laneOf
    this.#read = read
    this.#over = over
  }

  /** Begins to watch a task that a lane was given. */
  watch(task: PoolTask): void {
    if (task.timeoutMs !== undefined) this.#wait(task, task.timeoutMs)
  }

  /** Ends watching a task. */
  forget(task: PoolTask): void {
    if (task.timeoutMs === undefined) return
    clearTimeout(this.#timers.get(task))
    this.#timers.delete(task)
  }

  /** Looks after tasks for an owner that blocks, whose timers stand still. */
  check(tasks: ReadonlyArray<PoolTask>): void {
    for (const task of tasks) if (task.timeoutMs !== undefined && this.#left(task) <= 0) this.#end(task)
  }

  #wait(task: PoolTask, milliseconds: number): void {
    this.#timers.set(task, setTimeout(() => this.#look(task), Math.max(1, milliseconds)))
  }

  #look(task: PoolTask): void {
    this.#timers.delete(task)
    this.#read()
    if (task.settled) return
    const left = this.#left(task)
    if (left > 0) this.#wait(task, left)
    else this.#end(task)
  }

  /** Milliseconds that the task may still take. */
  #left(task: PoolTask): number {
    const lane = this.#laneOf(task)
    const ran = lane.has(task) ? performance.now() - lane.startOf(task) : 0
    return task.timeoutMs! - (ran > 0 ? ran : 0)
  }

  #end(task: PoolTask): void {
    this.#over(task, `the task took longer than ${task.timeoutMs} ms`)
  }
}
