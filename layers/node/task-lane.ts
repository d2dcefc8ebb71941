/**
 * One lane of a task pool as its owner sees it.
 *
 * @since 0.1.0
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads"
import { encodeTasks, type LaneReply, taskLaneBase, type TaskMessage, TaskWord } from "../../src/tasks/protocol.ts"
import { threadStatus } from "./liveness.ts"
import { moduleUrl } from "./require.ts"
import type { ResetModule } from "./reset-instance.ts"
import { TASK_LANE, type TaskLaneData } from "./task-server.ts"

/**
 * What the lanes of a pool run.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskSource {
  /** URL of an ES module that exports `tasks`. */
  readonly program?: string | undefined
  /** URL of a worker script of the caller's own, which calls `serveTasks`. */
  readonly script?: string | undefined
  readonly module?: ResetModule | undefined
}

/** Milliseconds that a thread is given to end. */
const END_MILLISECONDS = 2_000

/**
 * A worker thread and its words.
 *
 * @category models
 * @since 0.1.0
 */
export class TaskLane {
  readonly index: number
  /** When its thread was started, by `performance.now()`. */
  readonly startedAt = performance.now()
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #base: number
  readonly #worker: Worker
  readonly #port: MessagePort
  /** Tasks that it was given and has not answered, in their order. */
  readonly inFlight = new Map<number, unknown>()
  #ended = false
  #reason = "its thread ended"

  constructor(
    index: number,
    words: Int32Array<SharedArrayBuffer>,
    source: TaskSource,
    onEnd: (lane: TaskLane) => void
  ) {
    this.index = index
    this.#words = words
    this.#base = taskLaneBase(index)
    for (const word of Object.values(TaskWord)) {
      if (word !== TaskWord.RETIRED) Atomics.store(words, this.#base + word, 0)
    }
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    const data: TaskLaneData = { lane: index, words, port: port2, program: source.program, module: source.module }
    const entry = source.script === undefined ? moduleUrl("./task-worker") : new URL(source.script)
    this.#worker = new Worker(entry, {
      workerData: { [TASK_LANE]: data },
      transferList: [port2],
      name: "folio-task"
    })
    this.#worker.unref()
    port1.unref()
    this.#worker.once("error", (error: unknown) => {
      this.#reason = error instanceof Error ? error.message : String(error)
    })
    this.#worker.once("exit", (code) => {
      if (this.#reason === "its thread ended") this.#reason = `its thread ended with code ${code}`
      this.#ended = true
      onEnd(this)
    })
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Why it ended. */
  get reason(): string {
    return this.#reason
  }

  /** The task that it began last. */
  get started(): number {
    return Atomics.load(this.#words, this.#base + TaskWord.STARTED)
  }

  get ready(): boolean {
    return Atomics.load(this.#words, this.#base + TaskWord.READY) !== 0
  }

  /** Bytes that its newest reset copied. */
  get resetBytes(): number {
    return Atomics.load(this.#words, this.#base + TaskWord.RESET_BYTES)
  }

  /** Posts a batch. Throws what `postMessage` throws, and the lane then has got nothing. */
  post(batch: ReadonlyArray<TaskMessage>, transfer: ReadonlyArray<ArrayBuffer>): void {
    this.#port.postMessage(encodeTasks(batch), transfer as Array<ArrayBuffer>)
    Atomics.add(this.#words, this.#base + TaskWord.POSTED, 1)
    Atomics.notify(this.#words, this.#base + TaskWord.POSTED)
  }

  /** The next message of the lane, if there is one. */
  receive(): LaneReply | undefined {
    return receiveMessageOnPort(this.#port)?.message as LaneReply | undefined
  }

  /** Whether the thread is gone, asked by an owner that blocks and so hears of no event. */
  isGone(): boolean {
    if (this.#ended) return true
    const thread = Atomics.load(this.#words, this.#base + TaskWord.THREAD)
    return thread !== 0 && threadStatus(thread) === undefined
  }

  /** Whether the process stays alive for it. */
  hold(alive: boolean): void {
    if (alive) this.#worker.ref()
    else this.#worker.unref()
  }

  /** Ends the thread, whatever it does. Resolves when it has ended, or after a while all the same. */
  async end(reason: string): Promise<void> {
    this.#reason = reason
    let timer: ReturnType<typeof setTimeout> | undefined
    const deadline = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, END_MILLISECONDS)
    })
    await Promise.race([this.#worker.terminate().then(() => {}), deadline])
    clearTimeout(timer)
  }
}
