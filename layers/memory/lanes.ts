/**
 * Lanes without threads: the chunks of all lanes run on the owner's thread, in an order that is chosen.
 *
 * What a chunk does depends on its inputs only, when the plan is right. So the same chunks in another order are the
 * test of a plan that needs no luck: a dependence between iterations that the compiler overlooked changes bytes here
 * each time, where with threads it would once in a while.
 *
 * The owner runs the last chunk of a loop between the last `fork` and the first `join`. A chunk that runs at its fork
 * comes before that one, a chunk that waits comes after it:
 *
 *     fork 0   fork 1   fork 2   owner   join 0     join 1   join 2
 *              1                 3       2, then 0
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

interface Chunk {
  readonly lane: number
  readonly run: Run
  readonly ticket: number
  readonly piece: number
  readonly out: number
}

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
  #waiting: Array<Chunk> = []
  #closed = false

  constructor(count: number, permutation: Permutation) {
    this.count = count
    this.control = makeControl(count)
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
    const chunk: Chunk = { lane, run, ticket, piece, out }
    if (this.#permutation.early()) this.#run(chunk)
    else this.#waiting.push(chunk)
  }

  join(lane: number): JoinResult {
    while (this.#waiting.length > 0) {
      const [chunk] = this.#waiting.splice(this.#permutation.pick(this.#waiting.length), 1)
      this.#run(chunk)
    }
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

  #run({ lane, out, piece, run, ticket }: Chunk): void {
    try {
      run(ticket, piece, out)
      this.#outcomes.set(lane, "done")
    } catch {
      this.#outcomes.set(lane, "trap")
    }
  }
}
