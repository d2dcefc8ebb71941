/**
 * How the owner of a task pool waits for replies: it polls for one short task that somebody waits for, has itself woken
 * otherwise, or blocks where its caller must not return before.
 *
 * Before it sleeps it says so, and reads once more: what came in between is not missed.
 *
 * @since 0.1.0
 */
import { OWNER_SLEEPS, POLL_MILLISECONDS, REPLIES } from "../../src/tasks/protocol.ts"
import { pollFor, PollHabit } from "./task-idle.ts"
import type { TaskLane } from "./task-lane.ts"

/** Milliseconds between two looks at lanes that have more tasks than one: one of them may be in front of a long one. */
const LATE_MILLISECONDS = 5

/** Milliseconds that a blocked owner sleeps between two looks at the lanes. */
const SLICE_MILLISECONDS = 20

/**
 * The pool, as far as it is needed to wait for it.
 *
 * @category models
 * @since 0.1.0
 */
export interface WaitingPool {
  /** Reads all replies that are there. Answers how many tasks have ended. */
  readonly read: () => number
  /** Gives lanes what they can take. */
  readonly dispatch: () => void
  /** The lanes that have tasks. */
  readonly busy: () => ReadonlyArray<TaskLane>
}

/**
 * The waits of one pool.
 *
 * @category models
 * @since 0.1.0
 */
export class OwnerWait {
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #width: number
  readonly #pool: WaitingPool
  readonly #habit = new PollHabit()
  #listening = false
  #late: ReturnType<typeof setTimeout> | undefined
  #closed = false

  /** @param width threads that can run at once */
  constructor(words: Int32Array<SharedArrayBuffer>, width: number, pool: WaitingPool) {
    this.#words = words
    this.#width = width
    this.#pool = pool
  }

  /** Polls for the reply of one task that somebody waits for, where tasks are short. Whether nothing is left to wait for. */
  poll(meanMs: number): boolean {
    if (!(meanMs < POLL_MILLISECONDS / 2) || this.#width < 2) return false
    const [lane, other] = this.#pool.busy()
    if (lane === undefined || other !== undefined || lane.backlog > 1 || !lane.isAwaited) return false
    // What comes meanwhile is seen: nobody has to wake this thread.
    this.#sleeps(false)
    this.#habit.poll(() => lane.hasReply)
    this.#sleeps(this.#listening)
    this.#readOn()
    return this.#pool.busy().length === 0
  }

  /** Has the thread woken for replies, as long as there is something to wait for. */
  listen(): void {
    if (this.#listening || this.#closed || this.#pool.busy().length === 0) return
    this.#sleeps(true)
    const seen = Atomics.load(this.#words, REPLIES)
    this.#readOn()
    if (this.#pool.busy().length === 0) {
      this.#sleeps(false)
      return
    }
    this.#listening = true
    this.#lookLater()
    const woken = (): void => {
      this.#listening = false
      this.#sleeps(false)
      this.#pool.read()
      this.#pool.dispatch()
      this.listen()
    }
    const waiting = Atomics.waitAsync(this.#words, REPLIES, seen)
    if (waiting.async) void waiting.value.then(woken)
    else queueMicrotask(woken)
  }

  /**
   * Blocks the thread until something holds.
   *
   * @param watch looks after lanes, because nobody hears of their ends
   */
  block(holds: () => boolean, watch: () => void): void {
    this.#pool.dispatch()
    if (!holds() && this.#pool.busy().length < this.#width) pollFor(POLL_MILLISECONDS, () => this.#pool.read() > 0)
    while (!holds()) {
      this.#sleeps(true)
      const seen = Atomics.load(this.#words, REPLIES)
      this.#pool.dispatch()
      if (this.#pool.read() > 0 || holds()) continue
      watch()
      if (!holds()) Atomics.wait(this.#words, REPLIES, seen, SLICE_MILLISECONDS)
    }
    this.#sleeps(this.#listening)
  }

  /** Waits no more. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#late)
  }

  #sleeps(sleeps: boolean): void {
    Atomics.store(this.#words, OWNER_SLEEPS, sleeps ? 1 : 0)
  }

  #readOn(): void {
    if (this.#pool.read() > 0) this.#pool.dispatch()
  }

  /** Lanes do not call for each reply at once: the next task may be a long one. */
  #lookLater(): void {
    this.#late ??= setTimeout(() => {
      this.#late = undefined
      if (this.#closed || !this.#pool.busy().some(({ backlog }) => backlog > 1)) return
      this.#pool.read()
      this.#pool.dispatch()
      this.#lookLater()
    }, LATE_MILLISECONDS).unref()
  }
}
