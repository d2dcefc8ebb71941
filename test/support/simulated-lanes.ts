/**
 * A machine of one lane with a clock that only the simulation moves: real plans, guards, chunks, dispatcher and monitor, and
 * times that a test chooses. How long the lane takes for a piece is a function, so that a slow lane and a core that
 * somebody else takes are what they are said to be, each time.
 */
import { InProcessMemory } from "../../layers/memory/lanes.ts"
import { Attachment } from "../../src/lane/attachment.ts"
import { makeControl } from "../../src/lane/control.ts"
import { Dispatcher, type DispatcherHost } from "../../src/lane/dispatcher.ts"
import type { JoinResult, Kernel, LaneGroup, LanesReport, MappedMemory } from "../../src/lane/lanes.ts"
import { defaultPolicy, type Policy } from "../../src/lane/monitor.ts"
import { Ticket } from "../../src/plan/frame.ts"
import { memoryName } from "../../src/plan/hidden.ts"
import type { Prepared } from "../../src/plan/prepare.ts"

type Run = (ticket: number, piece: number, out: number) => void

/** Milliseconds of polling, of handing over to a lane that polls, of waking one that sleeps. */
const POLLING_MS = 0.05
const HOT_MS = 0.001
const WAKE_MS = 0.05

/** What is simulated. Times in milliseconds. */
export interface Machine {
  /** One iteration, by the owner. */
  readonly iterationMs: number
  /** When the lane ends a piece that it begins at `start` and the owner would take `work` for. */
  readonly laneEnd: (start: number, work: number) => number
}

/** One call: when it began, what it took, and what it takes natively. */
export interface SimulatedCall {
  readonly start: number
  readonly took: number
  readonly native: number
}

/** A prepared module on the simulated machine. */
export class Simulation implements LaneGroup {
  readonly count = 1
  readonly control = makeControl(1)
  readonly exports: WebAssembly.Exports
  readonly attachment: Attachment
  now = 0
  readonly #machine: Machine
  readonly #words: Int32Array
  readonly #runs = new Map<number, Run>()
  #timers: Array<{ readonly at: number; readonly run: () => void }> = []
  #forked: { readonly run: Run; readonly out: number; readonly from: number } | undefined
  #laneIdle = Number.NEGATIVE_INFINITY

  constructor(prepared: Prepared, machine: Machine, policy: Partial<Policy> = {}) {
    this.#machine = machine
    this.#words = new Int32Array(this.control.buffer)
    const host: DispatcherHost = {
      now: () => this.now,
      busy: () => this.now,
      compile: (bytes) => new WebAssembly.Module(bytes as BufferSource),
      instantiate: (module, imports) => this.#instantiate(module, imports),
      later: (milliseconds, run) => void this.#timers.push({ at: this.now + milliseconds, run })
    }
    const dispatcher = new Dispatcher(this, { ...defaultPolicy, ...policy }, host)
    this.exports = new WebAssembly.Instance(new WebAssembly.Module(prepared.guest as BufferSource)).exports
    const memory = this.exports[memoryName] as WebAssembly.Memory
    this.attachment = new Attachment(dispatcher, this.exports, prepared, memory, new InProcessMemory(memory))
  }

  /** Calls an export whose loop has so many iterations; natively that takes as long as the owner alone. */
  call(name: string, args: ReadonlyArray<number>, iterations: number): SimulatedCall {
    for (const { run } of this.#timers.filter(({ at }) => at <= this.now)) run()
    this.#timers = this.#timers.filter(({ at }) => at > this.now)
    const native = iterations * this.#machine.iterationMs
    const start = this.now
    const before = this.dispatches()
    ;(this.exports[name] as (...args: ReadonlyArray<number>) => void)(...args)
    if (this.dispatches() === before) this.now += native
    return { start, took: this.now - start, native }
  }

  /** Executions that were handed out, or timed in pieces, so far. */
  dispatches(): number {
    return this.attachment.counts.loops.reduce((sum, { dispatches }) => sum + dispatches, 0)
  }

  start(): void {}

  ready(): number {
    return 1
  }

  hot(): number {
    return this.now - this.#laneIdle < POLLING_MS ? 1 : 0
  }

  load({ module, slot }: Kernel, memory: MappedMemory): boolean {
    if (!this.#runs.has(slot) && memory instanceof InProcessMemory) {
      const imports = { folio: { memory: memory.memory, control: this.control } }
      this.#runs.set(slot, new WebAssembly.Instance(module, imports).exports["run"] as unknown as Run)
    }
    return this.#runs.has(slot)
  }

  unload(): void {}

  fork(_: number, kernel: number, _ticket: number, _piece: number, out: number): void {
    const asleep = this.hot() === 0
    this.now += HOT_MS
    this.#forked = { run: this.#runs.get(kernel)!, out, from: this.now + (asleep ? WAKE_MS : 0) }
  }

  join(): JoinResult {
    return "done"
  }

  replace(): boolean {
    return false
  }

  report(): LanesReport {
    return { asked: 1, count: 1, ready: 1, spins: true, placed: true, reasons: [], lanes: [] }
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #instantiate(module: WebAssembly.Module, imports: WebAssembly.Imports): WebAssembly.Instance {
    const instance = new WebAssembly.Instance(module, imports)
    const own = instance.exports["run"] as unknown as Run | undefined
    if (own === undefined) return instance
    const run: Run = (ticket, piece, out) => this.#share(own, ticket, piece, out)
    return { exports: { run } } as unknown as WebAssembly.Instance
  }

  /** Owner and, where it was told to, the lane take pieces: whoever is free first takes the next. */
  #share(own: Run, ticket: number, piece: number, out: number): void {
    const word = (field: number): number => (ticket + field) >> 2
    const [next, limit, total] = [word(Ticket.NEXT), word(Ticket.LIMIT), word(Ticket.TOTAL)]
    const words = this.#words
    const pieces = words[limit]
    const lane = this.#forked
    this.#forked = undefined
    let owner = this.now
    let other = lane?.from ?? Number.POSITIVE_INFINITY
    while (words[next] < pieces) {
      const work = Math.min(piece, words[total] - words[next] * piece) * this.#machine.iterationMs
      // One piece and no more: the limit is moved along.
      words[limit] = words[next] + 1
      if (lane !== undefined && other < owner) {
        lane.run(ticket, piece, lane.out)
        other = this.#machine.laneEnd(other, work)
      } else {
        own(ticket, piece, out)
        owner += work
      }
      words[next] = words[limit]
      words[limit] = pieces
    }
    if (lane !== undefined) this.#laneIdle = Math.max(other, lane.from)
    this.now = lane === undefined ? owner : Math.max(owner, other)
  }
}
