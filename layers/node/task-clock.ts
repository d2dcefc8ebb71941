/**
 * CPU time of single tasks in a lane. A look at the thread's clock takes about a microsecond, so there is one a task
 * of some length, behind it, and none for others: what the thread did between two looks besides the task (shorter
 * tasks, resets, polling) counts with its length, for it all computes.
 *
 * @since 0.1.0
 */
/** Milliseconds of work from which CPU time is looked at. */
const MEASURED_MILLISECONDS = 0.05

const threadCpu = (): number | undefined => {
  const usage = (process as Partial<Pick<NodeJS.Process, "threadCpuUsage">>).threadCpuUsage?.()
  return usage === undefined ? undefined : usage.user + usage.system
}

/**
 * The clock of one thread.
 *
 * @category models
 * @since 0.1.0
 */
export class TaskClock {
  readonly #now: () => number
  /** The newest look: CPU microseconds, and when. */
  #cpu = threadCpu()
  #at: number

  /** @param now milliseconds of the clock that tasks are timed by */
  constructor(now: () => number) {
    this.#now = now
    this.#at = now()
  }

  /** Looks anew; to be called when the thread has slept. */
  rebase(): void {
    this.#cpu = threadCpu()
    this.#at = this.#now()
  }

  /** CPU microseconds of a task that has just ended; NaN where it is short, or where the host does not tell. */
  cpuOf(start: number, end: number): number {
    if (end - start < MEASURED_MILLISECONDS || this.#cpu === undefined) return Number.NaN
    const before = this.#cpu
    const besides = (start - this.#at) * 1_000
    this.rebase()
    return Math.max(0, Math.min(this.#cpu - before - besides, (end - start) * 1_000))
  }
}
