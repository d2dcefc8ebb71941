/**
 * Whether a thread of this process is there and gets on, asked by an owner that waits for it and so cannot listen to
 * the events of its worker.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"

/**
 * What `/proc` says of a thread.
 *
 * @category models
 * @since 0.1.0
 */
export interface ThreadStatus {
  /** Runs, or would if it got a CPU. */
  readonly runnable: boolean
  /** CPU time used so far, in clock ticks (10 ms). */
  readonly ticks: number
  /** Clock tick of its start: with the thread id, an identity that is not used again. */
  readonly startedAt: number
}

/**
 * Status of a thread of this process; `undefined` when there is none of that id.
 *
 * @category probes
 * @since 0.1.0
 */
export const threadStatus = (thread: number): ThreadStatus | undefined => {
  let stat: string
  try {
    stat = Fs.readFileSync(`/proc/self/task/${thread}/stat`, "latin1")
  } catch {
    return undefined
  }
  // The name in parentheses may itself hold spaces and parentheses. Behind it: state is field 3 of the manual page.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const field = (number: number): string => fields[number - 3]
  if (field(3) === "Z" || field(3) === "X") return undefined
  return {
    runnable: field(3) === "R",
    ticks: Number(field(14)) + Number(field(15)),
    startedAt: Number(field(22))
  }
}

/**
 * Whether this host tells about threads at all. Where it does not, nobody could tell a dead lane from a busy one.
 *
 * @category probes
 * @since 0.1.0
 */
export const canSeeThreads = (): boolean => {
  const thread = currentThread()
  return thread !== undefined && threadStatus(thread) !== undefined
}

/**
 * Operating-system id of the calling thread; `undefined` where the host does not tell.
 *
 * @category probes
 * @since 0.1.0
 */
export const currentThread = (): number | undefined => {
  try {
    const thread = Number(Fs.readlinkSync("/proc/thread-self").split("/").at(-1))
    return Number.isInteger(thread) ? thread : undefined
  } catch {
    return undefined
  }
}

/**
 * How a watched thread stands: it may still get on, it stands still, or it is gone.
 *
 * @category models
 * @since 0.1.0
 */
export type Verdict = "alive" | "still" | "gone"

/**
 * Watches one thread while somebody waits for it. Time is counted in polls and not by the clock: while the whole
 * process is stopped nobody polls, so a stopped and continued process has lost nothing. A thread that waits for a CPU
 * never stands still, however long it waits.
 *
 * @category models
 * @since 0.1.0
 */
export class ThreadWatch {
  readonly #thread: number
  readonly #startedAt: number
  readonly #patience: number
  #ticks = -1
  #idlePolls = 0

  /** @param patience polls without progress after which the thread counts as standing still */
  constructor(thread: number, startedAt: number, patience: number) {
    this.#thread = thread
    this.#startedAt = startedAt
    this.#patience = patience
  }

  poll(): Verdict {
    const status = threadStatus(this.#thread)
    if (status === undefined || status.startedAt !== this.#startedAt) return "gone"
    if (status.runnable || status.ticks !== this.#ticks) {
      this.#ticks = status.ticks
      this.#idlePolls = 0
      return "alive"
    }
    return ++this.#idlePolls >= this.#patience ? "still" : "alive"
  }

  /** Begins a new wait. */
  reset(): void {
    this.#ticks = -1
    this.#idlePolls = 0
  }
}
