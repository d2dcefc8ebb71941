/**
 * Lanes that fail on purpose: every dispatch is undone, none is let through, or what must not happen happens.
 */
import type { JoinResult, Kernel, LaneGroup, LanesReport, MappedMemory } from "../../src/lane/lanes.ts"

/**
 * `abort`: chunks run, and are said to have trapped. `refuse`: no lane is ever up. `forgive`: a trap is said to be an
 * end. `late`: a chunk is said to have ended, and runs when the next one is handed over or {@link LaneFault.settle} is
 * called.
 */
export type Fault = "abort" | "refuse" | "forgive" | "late"

/** A group of lanes with a fault. */
export class LaneFault implements LaneGroup {
  readonly #lanes: LaneGroup
  readonly #fault: Fault
  #owed: Array<number> = []

  constructor(lanes: LaneGroup, fault: Fault) {
    this.#lanes = lanes
    this.#fault = fault
  }

  get count(): number {
    return this.#lanes.count
  }

  get control(): WebAssembly.Memory {
    return this.#lanes.control
  }

  start(): void {
    this.#lanes.start()
  }

  ready(): number {
    return this.#fault === "refuse" ? 0 : this.#lanes.ready()
  }

  hot(): number {
    return this.#lanes.hot()
  }

  load(kernel: Kernel, memory: MappedMemory): boolean {
    return this.#lanes.load(kernel, memory)
  }

  unload(slots: ReadonlyArray<number>, memories: ReadonlyArray<number>): void {
    this.#lanes.unload(slots, memories)
  }

  fork(lane: number, kernel: number, ticket: number, piece: number, out: number): void {
    if (this.#owed.includes(lane)) this.settle()
    this.#lanes.fork(lane, kernel, ticket, piece, out)
  }

  join(lane: number): JoinResult {
    if (this.#fault === "late") {
      this.#owed.push(lane)
      return "done"
    }
    const result = this.#lanes.join(lane)
    return this.#fault === "abort" ? "trap" : this.#fault === "forgive" ? "done" : result
  }

  /** Runs what should have run before its `join` returned. */
  settle(): void {
    for (const lane of this.#owed.splice(0)) this.#lanes.join(lane)
  }

  replace(lane: number): boolean {
    return this.#lanes.replace(lane)
  }

  report(): LanesReport {
    return this.#lanes.report()
  }

  close(): Promise<void> {
    return this.#lanes.close()
  }
}
