/**
 * One lane as its owner sees it: a worker thread, its control words, its message port, and what it has loaded.
 *
 * @since 0.1.0
 */
import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  type ResourceLimits,
  Worker
} from "node:worker_threads"
import { LaneError, LaneState, laneWord, Opcode, Word } from "../../src/lane/control.ts"
import type { JoinResult, LaneReport } from "../../src/lane/lanes.ts"
import type { LaneMessage } from "../../src/lane/runner.ts"
import { LANE_MARKER, type LaneData } from "./lane-host.ts"
import { threadStatus, ThreadWatch } from "./liveness.ts"
import { clock } from "./original.ts"

/**
 * How a lane's thread is started and waited for.
 *
 * @category models
 * @since 0.1.0
 */
export interface LaneSettings {
  /** Program of the worker. */
  readonly source: string
  /** Microseconds that lane and owner poll before they sleep; 0 never. */
  readonly spinMicroseconds: number
  /** Milliseconds after which a thread that does not come up is given up. */
  readonly startMilliseconds: number
  readonly resourceLimits: ResourceLimits | undefined
}

/** Milliseconds that an owner sleeps between two looks at the thread that it waits for. */
const sliceMilliseconds = 10

/** Looks without progress after which a thread counts as standing still: 5 s in which it neither ran nor wanted to. */
const patience = 500

/** Looks after which a thread that was told to end and does not is given up. */
const endPatience = 200

/** Polls between two looks at the clock. */
const pollsPerLook = 32

const pause: () => void = (Atomics as { pause?: () => void }).pause ?? (() => {})

/**
 * The owner's side of one lane.
 *
 * @category models
 * @since 0.1.0
 */
export class Lane {
  readonly index: number
  /** Resolves when the thread has ended. */
  readonly ended: Promise<void>
  /** Kernels in the lane: slot to module and memory. */
  readonly kernels = new Map<number, { readonly module: WebAssembly.Module; readonly memory: number }>()
  /** Memories in the lane: identity to bytes attached. */
  readonly memories = new Map<number, number>()
  readonly #control: WebAssembly.Memory
  readonly #words: Int32Array
  readonly #spinMilliseconds: number
  readonly #deadline: number
  readonly #port: MessagePort
  readonly #worker: Worker | undefined
  readonly #base: number
  #watch: ThreadWatch | undefined
  #sequence = 0
  #state: LaneReport["state"] = "starting"
  #reason: string | undefined

  constructor(index: number, control: WebAssembly.Memory, settings: LaneSettings) {
    this.index = index
    this.#control = control
    this.#words = new Int32Array(control.buffer)
    this.#base = laneWord(index, 0)
    this.#spinMilliseconds = settings.spinMicroseconds / 1000
    this.#deadline = clock.now() + settings.startMilliseconds
    this.#words[this.#base + Word.SPIN_US] = Math.min(settings.spinMicroseconds, 0x7fff_ffff)
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    try {
      this.#worker = this.#spawn(port2, settings)
    } catch (error) {
      this.fail(`the thread cannot be started: ${error instanceof Error ? error.message : String(error)}`)
    }
    const worker = this.#worker
    this.ended = worker === undefined
      ? Promise.resolve()
      : new Promise((resolve) => worker.once("exit", () => resolve()))
  }

  /**
   * The lane's environment and arguments are empty so that nothing is preloaded into it, and its output is not piped:
   * connecting it would make the owner's own `process.stdout` come into being.
   */
  #spawn(port: MessagePort, settings: LaneSettings): Worker {
    const workerData: LaneData = { [LANE_MARKER]: true, lane: this.index, control: this.#control, port }
    const worker = new Worker(settings.source, {
      eval: true,
      name: "folio-lane",
      argv: [],
      execArgv: [],
      env: {},
      stdout: true,
      stderr: true,
      workerData,
      transferList: [port],
      ...(settings.resourceLimits === undefined ? {} : { resourceLimits: settings.resourceLimits })
    })
    worker.on("error", (error: unknown) => this.fail(error instanceof Error ? error.message : String(error)))
    worker.on("exit", (code) => this.fail(`the thread ended with code ${code}`))
    worker.unref()
    return worker
  }

  get state(): LaneReport["state"] {
    return this.#state
  }

  /** Operating-system id of the lane's thread; 0 before it is up. */
  get thread(): number {
    return this.#words[this.#base + Word.TID]
  }

  /** CPU that the lane ran on last; -1 unknown. */
  get cpu(): number {
    return this.#words[this.#base + Word.CPU]
  }

  /** Whether the lane polls for a command at this moment. */
  get isHot(): boolean {
    return Atomics.load(this.#words, this.#base + Word.STATE) === LaneState.SPINNING
  }

  /** Whether the newest command is finished. */
  get isIdle(): boolean {
    return Atomics.load(this.#words, this.#base + Word.DONE) === this.#sequence
  }

  /** Index of the word that changes when the lane comes up. */
  get stateWord(): number {
    return this.#base + Word.STATE
  }

  report(): LaneReport {
    return { state: this.#state, cpu: this.cpu, reason: this.#reason }
  }

  /** Marks a lane that will not be used again; the first reason stays. */
  fail(reason: string): void {
    if (this.#state === "starting") this.#state = "refused"
    else if (this.#state === "ready") this.#state = "lost"
    else return
    this.#reason = reason
    this.#port.close()
    void this.#worker?.terminate()
  }

  /** Looks at a thread that is starting: true when it has come up just now; one that is overdue is given up. */
  pollStart(): boolean {
    if (Atomics.load(this.#words, this.stateWord) === LaneState.STARTING) {
      if (clock.now() > this.#deadline) this.fail("the thread did not come up in time")
      return false
    }
    const startedAt = threadStatus(this.thread)?.startedAt
    if (startedAt === undefined) {
      this.fail("the thread ended before it was used")
      return false
    }
    this.#watch = new ThreadWatch(this.thread, startedAt, patience)
    this.#state = "ready"
    return true
  }

  /** Starts a chunk. The lane must be idle. */
  run(kernel: number, start: number, count: number, out: number): void {
    const words = this.#words
    const base = this.#base
    words[base + Word.KERNEL] = kernel
    words[base + Word.START] = start
    words[base + Word.COUNT] = count
    words[base + Word.OUT] = out
    this.#command(Opcode.RUN)
  }

  /** Sends a message. The lane must be idle. */
  load(message: LaneMessage): void {
    this.#port.postMessage(message)
    this.#command(Opcode.LOAD)
  }

  /** Why the newest LOAD failed, as the lane tells it. */
  explanation(): string {
    const received = receiveMessageOnPort(this.#port)
    return received === undefined ? "the lane refused a kernel" : String(received.message)
  }

  #command(opcode: number): void {
    const words = this.#words
    const base = this.#base
    words[base + Word.OPCODE] = opcode
    this.#sequence = (this.#sequence + 1) | 0
    Atomics.store(words, base + Word.SEQUENCE, this.#sequence)
    if (Atomics.load(words, base + Word.STATE) === LaneState.SLEEPING) Atomics.notify(words, base + Word.SEQUENCE)
  }

  /** Waits for the newest command. */
  join(): JoinResult {
    if (!this.#spin() && !this.#sleep()) return "lost"
    return this.#words[this.#base + Word.ERROR] === LaneError.NONE ? "done" : "trap"
  }

  #spin(): boolean {
    const words = this.#words
    const done = this.#base + Word.DONE
    const expected = this.#sequence
    if (Atomics.load(words, done) === expected) return true
    if (this.#spinMilliseconds === 0) return false
    const deadline = clock.now() + this.#spinMilliseconds
    do {
      for (let poll = 0; poll < pollsPerLook; poll++) {
        if (Atomics.load(words, done) === expected) return true
        pause()
      }
    } while (clock.now() < deadline)
    return false
  }

  #sleep(): boolean {
    const words = this.#words
    const base = this.#base
    Atomics.store(words, base + Word.OWNER_WAITING, 1)
    const watch = this.#watch
    watch?.reset()
    let endPolls = 0
    try {
      for (;;) {
        const seen = Atomics.load(words, base + Word.DONE)
        if (seen === this.#sequence) return true
        if (Atomics.wait(words, base + Word.DONE, seen, sliceMilliseconds) !== "timed-out") continue
        Atomics.notify(words, base + Word.SEQUENCE)
        const verdict = watch === undefined ? "gone" : watch.poll()
        if (verdict === "gone") {
          // It may have finished and then ended.
          if (Atomics.load(words, base + Word.DONE) === this.#sequence) return true
          this.fail("the thread is gone")
          return false
        }
        // A thread that may wake up again must not write behind the owner's back: it counts as lost once it has ended.
        if (verdict === "still") {
          this.fail("the thread stands still")
          if (++endPolls > endPatience) return false
        }
      }
    } finally {
      Atomics.store(words, base + Word.OWNER_WAITING, 0)
    }
  }

  /** Tells the lane to leave and ends its thread. */
  stop(): void {
    if (this.#state === "starting" || this.#state === "ready") {
      this.#state = "stopped"
      this.#command(Opcode.STOP)
    }
    this.#port.close()
    // Somebody waits for the end of the thread now, so it must keep the process alive.
    this.#worker?.ref()
    void this.#worker?.terminate()
  }

  /** Stops waiting for the end of the thread. */
  abandon(): void {
    this.#worker?.unref()
  }
}
