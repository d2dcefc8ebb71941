/**
 * How a lane waits for its next task: it polls for a moment where that pays, and then sleeps.
 *
 * It pays where a CPU is free for it, and where the wait before this one was short: a lane whose tasks come far apart
 * does not poll at all.
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
  #waitedMs = 0

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
    const began = performance.now()
    if (!this.#poll(posted, taken)) {
      Atomics.store(words, this.#base + TaskWord.STATE, TaskLaneState.SLEEPS)
      while (Atomics.load(words, posted) === taken) Atomics.wait(words, posted, taken)
      this.#clock.rebase()
    }
    Atomics.store(words, this.#base + TaskWord.STATE, TaskLaneState.WORKS)
    this.#waitedMs = performance.now() - began
  }

  #poll(posted: number, taken: number): boolean {
    if (this.#waitedMs > 2 * POLL_MILLISECONDS || !this.#hasCpu()) return false
    Atomics.store(this.#words, this.#base + TaskWord.STATE, TaskLaneState.POLLS)
    return pollFor(POLL_MILLISECONDS, () => Atomics.load(this.#words, posted) !== taken)
  }

  /** Whether this thread, the owner and the lanes that do not sleep have a CPU each. */
  #hasCpu(): boolean {
    let busy = 2
    for (const state of this.#states) if (Atomics.load(this.#words, state) !== TaskLaneState.SLEEPS) busy++
    return busy <= this.#width
  }
}
