/**
 * How a lane waits for its next task: it polls for a moment where that pays, and then sleeps.
 *
 * It pays where a CPU is free for it, and where polling has been worth it lately: a lane whose tasks come far apart
 * hardly polls at all.
 *
 * @since 0.1.0
 */
import { POLL_MILLISECONDS, taskLaneBase, TaskLaneState, TaskWord } from "../../src/tasks/protocol.ts"
import type { TaskClock } from "./task-clock.ts"

/** Looks between two looks at the clock. */
const LOOKS = 32

/** Tells the CPU that this thread polls, where the engine can. */
const pause: () => void = (Atomics as { readonly pause?: () => void }).pause ?? (() => {})

/**
 * Polls until something holds; false where it does not within `milliseconds`.
 *
 * @category waiting
 * @since 0.1.0
 */
export const pollFor = (milliseconds: number, holds: () => boolean): boolean => {
  const until = performance.now() + milliseconds
  do {
    for (let look = 0; look < LOOKS; look++) {
      if (holds()) return true
      pause()
    }
  } while (performance.now() < until)
  return false
}

/** Most waits without a poll, after which one is tried again. */
const MOST_SKIPPED = 64

/**
 * Whether polling is worth it: after each poll in vain twice as many waits go without.
 *
 * @category models
 * @since 0.1.0
 */
export class PollHabit {
  #skipped = 0
  #toSkip = 0

  /** Polls until something holds, if that has been worth it; false where it does not hold, or was not looked for. */
  poll(holds: () => boolean): boolean {
    if (this.#skipped < this.#toSkip) {
      this.#skipped++
      return false
    }
    const worth = pollFor(POLL_MILLISECONDS, holds)
    this.#toSkip = worth ? 0 : Math.min(MOST_SKIPPED, 2 * this.#toSkip + 1)
    this.#skipped = 0
    return worth
  }
}

/**
 * The wait of one lane.
 *
 * @category models
 * @since 0.1.0
 */
export class LaneIdle {
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #base: number
  readonly #states: ReadonlyArray<number>
  readonly #width: number
  readonly #clock: TaskClock
  readonly #habit = new PollHabit()

  constructor(words: Int32Array<SharedArrayBuffer>, lane: number, lanes: number, width: number, clock: TaskClock) {
    this.#words = words
    this.#base = taskLaneBase(lane)
    this.#states = Array.from({ length: lanes }, (_, other) => other)
      .filter((other) => other !== lane)
      .map((other) => taskLaneBase(other) + TaskWord.STATE)
    this.#width = width
    this.#clock = clock
  }

  /** Waits until other tasks than the first `taken` were posted. */
  wait(taken: number): void {
    const words = this.#words
    const posted = this.#base + TaskWord.POSTED
    if (Atomics.load(words, posted) !== taken) return
    if (!this.#poll(posted, taken)) {
      Atomics.store(words, this.#base + TaskWord.STATE, TaskLaneState.SLEEPS)
      while (Atomics.load(words, posted) === taken) Atomics.wait(words, posted, taken)
      this.#clock.rebase()
    }
    Atomics.store(words, this.#base + TaskWord.STATE, TaskLaneState.WORKS)
  }

  #poll(posted: number, taken: number): boolean {
    if (!this.#hasCpu()) return false
    Atomics.store(this.#words, this.#base + TaskWord.STATE, TaskLaneState.POLLS)
    return this.#habit.poll(() => Atomics.load(this.#words, posted) !== taken)
  }

  /** Whether this thread, the owner and the lanes that do not sleep have a CPU each. */
  #hasCpu(): boolean {
    let busy = 2
    for (const state of this.#states) if (Atomics.load(this.#words, state) !== TaskLaneState.SLEEPS) busy++
    return busy <= this.#width
  }
}
