/**
 * Where lanes run. A woken lane often lands on the CPU of its owner, who waits there for it, and the two then take
 * turns: slower than one thread. So each lane is bound to an allowed CPU of its own. The owner is never bound: its
 * threads and child processes would inherit that.
 *
 * @since 0.1.0
 */
import type { NativeCalls } from "./ffi.ts"

/**
 * Bindings of the lanes of one owner.
 *
 * @category models
 * @since 0.1.0
 */
export class Placement {
  readonly #calls: NativeCalls
  readonly #allowed: ReadonlyArray<number>
  /** CPU of each lane, by lane. */
  readonly #taken = new Map<number, number>()

  constructor(calls: NativeCalls, allowed: ReadonlyArray<number>) {
    this.#calls = calls
    this.#allowed = allowed
  }

  /** CPU on which the owner runs at this moment. */
  ownerCpu(): number {
    return this.#calls.currentCpu()
  }

  /** CPU that a lane is bound to, or -1. */
  cpuOf(lane: number): number {
    return this.#taken.get(lane) ?? -1
  }

  /**
   * Binds a lane's thread to the allowed CPU that carries the fewest lanes and is not the owner's present one.
   * False when there is no other CPU or the system refuses.
   */
  place(lane: number, thread: number): boolean {
    const owner = this.ownerCpu()
    this.#taken.delete(lane)
    const load = new Map(this.#allowed.map((cpu) => [cpu, 0]))
    for (const cpu of this.#taken.values()) load.set(cpu, (load.get(cpu) ?? 0) + 1)
    load.delete(owner)
    let best = -1
    for (const [cpu, lanes] of load) if (best < 0 || lanes < load.get(best)!) best = cpu
    if (best < 0 || !this.#calls.setAffinity(thread, [best])) return false
    this.#taken.set(lane, best)
    return true
  }

  /** Forgets a lane that has ended. */
  release(lane: number): void {
    this.#taken.delete(lane)
  }
}
