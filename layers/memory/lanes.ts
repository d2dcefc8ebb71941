/**
 * Lanes without threads: the pieces of a loop run on the owner's thread, in an order that is chosen.
 *
 * What a piece does depends on its inputs only, when the plan is right. So the same pieces in another order are the
 * test of a plan that needs no luck: a dependence between iterations that the compiler overlooked changes bytes here
 * each time, where with threads it would once in a while.
 *
 * A ticket of control memory says which pieces are left. Threads race for them; here a lane takes its share as it is
 * forked, from one end of what is left, and runs one piece at a time by setting the ticket to just that piece:
 *
 *     pieces      0  1  2  3  4  5  6  7
 *     lane 0                        6  7     takes two of eight, in some order
 *     lane 1      0  1                       takes two of six
 *     owner             2  3  4  5           finds these left
 *
 * @since 0.1.0
 */
import { makeControl } from "../../src/lane/control.ts"
import type {
  JoinResult,
  Kernel,
  LaneGroup,
  LanesReport,
  MappedMemory,
  MemoryDescriptor
} from "../../src/lane/lanes.ts"
import { Ticket } from "../../src/plan/frame.ts"
import type { Permutation } from "./permutation.ts"

let lastMemoryId = 0

/**
 * A guest's memory as lanes on the same thread see it: the very object, so nothing has to be kept up to date.
 *
 * @category models
 * @since 0.1.0
 */
export class InProcessMemory implements MappedMemory {
  readonly rung = "in-process"
  readonly id = ++lastMemoryId
  readonly reason = undefined
  readonly memory: WebAssembly.Memory

  constructor(memory: WebAssembly.Memory) {
    this.memory = memory
  }

  get mappedBytes(): number {
    return this.memory.buffer.byteLength
  }

  ensure(): boolean {
    return true
  }

  descriptor(): MemoryDescriptor {
    return { rung: "shared", memory: this.memory }
  }

  release(): void {}
}

type Run = (ticket: number, piece: number, out: number) => void

/**
 * Lanes that are turns of the owner's own thread.
 *
 * @category models
 * @since 0.1.0
 */
export class InProcessLanes implements LaneGroup {
  readonly count: number
  readonly control: WebAssembly.Memory
  readonly #permutation: Permutation
  readonly #kernels = new Map<number, { readonly memory: number; readonly run: Run }>()
  readonly #outcomes = new Map<number, JoinResult>()
  readonly #words: Int32Array
  #closed = false

  constructor(count: number, permutation: Permutation) {
    this.count = count
    this.control = makeControl(count)
    this.#words = new Int32Array(this.control.buffer)
    this.#permutation = permutation
  }

  start(): void {}

  ready(): number {
    return this.#closed ? 0 : this.count
  }

  hot(): number {
    return this.ready()
  }

  load(kernel: Kernel, memory: MappedMemory): boolean {
    if (!(memory instanceof InProcessMemory)) return false
    if (this.#kernels.get(kernel.slot)?.memory === memory.id) return true
    const instance = new WebAssembly.Instance(kernel.module, {
      folio: { memory: memory.memory, control: this.control }
    })
    this.#kernels.set(kernel.slot, { memory: memory.id, run: instance.exports["run"] as unknown as Run })
    return true
  }

  unload(slots: ReadonlyArray<number>, memories: ReadonlyArray<number>): void {
    for (const [slot, kernel] of this.#kernels) {
      if (slots.includes(slot) || memories.includes(kernel.memory)) this.#kernels.delete(slot)
    }
  }

  fork(lane: number, kernel: number, ticket: number, piece: number, out: number): void {
    const run = this.#kernels.get(kernel)?.run
    if (run === undefined) throw new Error(`kernel ${kernel} was not loaded`)
    const words = this.#words
    const next = (ticket + Ticket.NEXT) >>> 2
    const limit = (ticket + Ticket.LIMIT) >>> 2
    const [from, to] = [words[next], words[limit]]
    // Lanes are forked in order; those that follow and the owner want as much each.
    const share = Math.ceil(Math.max(0, to - from) / (this.count - lane + 1))
    const pieces = this.#permutation.take(from, to, share)
    let outcome: JoinResult = "done"
    for (const one of pieces) {
      words[next] = one
      words[limit] = one + 1
      try {
        run(ticket, piece, out)
      } catch {
        outcome = "trap"
        break
      }
    }
    const low = pieces.includes(from)
    words[next] = low ? from + share : from
    words[limit] = low ? to : to - share
    this.#outcomes.set(lane, outcome)
  }

  join(lane: number): JoinResult {
    const outcome = this.#outcomes.get(lane)
    if (outcome === undefined) throw new Error(`lane ${lane} has no chunk`)
    this.#outcomes.delete(lane)
    return outcome
  }

  replace(): boolean {
    return false
  }

  report(): LanesReport {
    const state = this.#closed ? "stopped" : "ready"
    return {
      asked: this.count,
      count: this.count,
      ready: this.ready(),
      spins: false,
      placed: false,
      reasons: [],
      lanes: Array.from({ length: this.count }, () => ({ state, cpu: -1, reason: undefined }))
    }
  }

  close(): Promise<void> {
    this.#closed = true
    this.#kernels.clear()
    return Promise.resolve()
  }
}
