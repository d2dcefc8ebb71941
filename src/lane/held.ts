/**
 * Loops that are kept native until a moment: their tests in the guest are closed.
 *
 * @since 0.1.0
 */
import { NEVER } from "../plan/hidden.ts"
import type { LoopState } from "./attachment.ts"
import type { DispatcherHost } from "./dispatcher.ts"

/**
 * The loops of one thread that are kept native. A loop is let go by the host's timer, or by another loop that comes by
 * after the moment, for a program that never lets timers run.
 *
 * @category models
 * @since 0.1.0
 */
export class HeldLoops {
  readonly #host: DispatcherHost
  readonly #until = new Map<LoopState, number>()

  constructor(host: DispatcherHost) {
    this.#host = host
  }

  /** Keeps loops native until a moment (ms of the host's clock). A later moment replaces an earlier one. */
  hold(states: ReadonlyArray<LoopState>, until: number): void {
    for (const state of states) {
      state.threshold.value = NEVER
      this.#until.set(state, until)
    }
    // A timer may fire a little early by this clock.
    this.#host.later(Math.max(1, until - this.#host.now()), () => this.#letGo(states, until))
  }

  /** Lets go what has been kept long enough. */
  resume(now: number): void {
    for (const [state, until] of this.#until) if (now >= until) this.#release(state)
  }

  /** Forgets loops of a closed instance: their tests stay closed. */
  forget(states: ReadonlyArray<LoopState>): void {
    for (const state of states) this.#until.delete(state)
  }

  #letGo(states: ReadonlyArray<LoopState>, until: number): void {
    for (const state of states) if (this.#until.get(state) === until) this.#release(state)
  }

  #release(state: LoopState): void {
    this.#until.delete(state)
    state.threshold.value = state.resumeAt
  }
}
