/**
 * One lane of a task pool as its owner sees it.
 *
 * @since 0.1.0
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads"
import { inputArena, Mailbox, makeMailbox, SLOTS, SlotState, SlotTime, SlotWord } from "../../src/tasks/mailbox.ts"
import {
  describeError,
  type LaneFailure,
  type TaskFault,
  taskLaneBase,
  TaskLaneState,
  TaskWord
} from "../../src/tasks/protocol.ts"
import { compact } from "../../src/tasks/run.ts"
import { threadStatus } from "./liveness.ts"
import { moduleUrl } from "./require.ts"
import type { ResetModule } from "./reset-instance.ts"
import { PayloadReceiver, PayloadSender } from "./task-payload.ts"
import type { PoolTask } from "./task-queue.ts"
import type { TaskRecords } from "./task-records.ts"
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
  /** Threads that can run at once. */
  readonly width: number
}

/**
 * Milliseconds that a lane is given to come up.
 *
 * @category constants
 * @since 0.1.0
 */
export const START_MILLISECONDS = 30_000

/**
 * What a lane tells its pool: that it has ended, or that it has not come up in time.
 *
 * @category models
 * @since 0.1.0
 */
export interface LaneEvents {
  readonly onEnd: (lane: TaskLane) => void
  readonly onLate: (lane: TaskLane) => void
}

/** Milliseconds that a thread is given to end. */
const END_MILLISECONDS = 2_000

/** Most names that a lane knows by number; others are sent each time. */
const MOST_NAMES = 1_024

/**
 * A worker thread and its mailbox. Tasks are numbered in the order in which the lane gets them.
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
  readonly #mailbox: Mailbox
  readonly #sender: PayloadSender
  readonly #receiver: PayloadReceiver
  readonly #names = new Map<string, number>()
  /** Tasks by their slots; `undefined` for those that were withdrawn. */
  readonly #tasks: Array<PoolTask | undefined> = new Array<PoolTask | undefined>(SLOTS).fill(undefined)
  /** Number of the oldest task that the owner has not heard of, and of the next one that is posted. */
  #oldest = 0
  #next = 0
  #ended = false
  #reason = "its thread ended"

  constructor(
    index: number,
    words: Int32Array<SharedArrayBuffer>,
    source: TaskSource,
    { onEnd, onLate }: LaneEvents
  ) {
    this.index = index
    this.#words = words
    this.#base = taskLaneBase(index)
    for (const word of Object.values(TaskWord)) {
      if (word !== TaskWord.RETIRED) Atomics.store(words, this.#base + word, 0)
    }
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    const buffer = makeMailbox()
    this.#mailbox = new Mailbox(buffer)
    this.#sender = new PayloadSender(this.#mailbox, inputArena(), port1)
    this.#receiver = new PayloadReceiver(this.#mailbox, port1)
    const { module, program, script, width } = source
    const { timeOrigin: origin } = performance
    const data: TaskLaneData = { lane: index, words, mailbox: buffer, port: port2, width, origin, program, module }
    const entry = script === undefined ? moduleUrl("./task-worker") : new URL(script)
    this.#worker = new Worker(entry, {
      workerData: { [TASK_LANE]: data },
      transferList: [port2],
      name: "folio-task"
    })
    this.#worker.unref()
    port1.unref()
    const late = setTimeout(() => onLate(this), START_MILLISECONDS).unref()
    this.#worker.once("error", (error: unknown) => {
      this.#reason = error instanceof Error ? error.message : String(error)
    })
    this.#worker.once("exit", (code) => {
      if (this.#reason === "its thread ended") this.#reason = `its thread ended with code ${code}`
      this.#ended = true
      clearTimeout(late)
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

  get ready(): boolean {
    return this.#word(TaskWord.READY) !== 0
  }

  /** Whether it polls for its next task, and so begins it at once. */
  get isPolling(): boolean {
    return this.#word(TaskWord.STATE) === TaskLaneState.POLLS
  }

  /** Bytes that its newest reset copied. */
  get resetBytes(): number {
    return this.#word(TaskWord.RESET_BYTES)
  }

  /** Tasks that it has and that the owner has not heard of, those that were withdrawn counted. */
  get backlog(): number {
    return this.#next - this.#oldest
  }

  /** Whether somebody waits for its oldest task. */
  get isAwaited(): boolean {
    return this.#tasks[this.#oldest % SLOTS]?.awaited === true
  }

  /** When it began with its oldest task, by `performance.now()`; NaN where it has not. */
  get oldestStart(): number {
    return this.#mailbox.times[this.#mailbox.time(this.#oldest) + SlotTime.START]
  }

  /** Whether it can be given one more task. */
  get hasRoom(): boolean {
    return this.backlog < SLOTS && this.#sender.hasRoom
  }

  /** Whether the oldest task has ended, and its reply can be read. */
  get hasReply(): boolean {
    return this.backlog > 0 && isOver(this.#mailbox.state(this.#oldest))
  }

  /**
   * Puts a task into the next slot; the lane does not look at it before {@link TaskLane.publish}. Throws what
   * `postMessage` throws, and the lane has then got nothing.
   */
  put(task: PoolTask): void {
    const number = this.#next
    const { words } = this.#mailbox
    const slot = this.#mailbox.slot(number)
    const { keep, name, transfer } = task
    const input = transfer.length === 0 ? compact(task.input) : task.input
    const known = this.#names.get(name)
    if (known === undefined) this.#sender.sendNamed(name, input, transfer)
    else this.#sender.send(input, transfer)
    const { at, bytes, nameAt, way } = this.#sender
    words[slot + SlotWord.NAME] = known ?? this.#remember(name)
    words[slot + SlotWord.NAME_AT] = nameAt
    words[slot + SlotWord.KEEP] = keep ? 1 : 0
    words[slot + SlotWord.HASTE] = task.awaited ? 1 : 0
    words[slot + SlotWord.INPUT_WAY] = way
    words[slot + SlotWord.INPUT_AT] = at
    words[slot + SlotWord.INPUT_BYTES] = bytes
    this.#mailbox.times[this.#mailbox.time(number) + SlotTime.START] = Number.NaN
    this.#mailbox.setState(number, SlotState.POSTED)
    this.#tasks[number % SLOTS] = task
    this.#next++
    task.lane = this.index
    task.number = number
  }

  /**
   * Lets the lane look at the newest `count` tasks, which were put since `began` by `performance.now()`. With `more` to
   * come, it calls for them before it is through with these.
   */
  publish(count: number, began: number, more: boolean): void {
    const encoded = performance.now()
    Atomics.store(this.#words, this.#base + TaskWord.MORE, more ? 1 : 0)
    Atomics.store(this.#words, this.#base + TaskWord.POSTED, this.#next)
    if (this.#word(TaskWord.STATE) === TaskLaneState.SLEEPS) {
      Atomics.notify(this.#words, this.#base + TaskWord.POSTED)
    }
    const posted = performance.now()
    for (let number = this.#next - count; number < this.#next; number++) {
      const time = this.#mailbox.time(number)
      this.#mailbox.times[time + SlotTime.INPUT_ENCODE] = (encoded - began) / count
      this.#mailbox.times[time + SlotTime.INPUT_POST] = (posted - encoded) / count
    }
  }

  /** Milliseconds that the tasks took which were read last. */
  readMs = 0

  /** Reads all replies that are there, and frees their slots. Returns the tasks that have ended, oldest first. */
  read(records: TaskRecords): ReadonlyArray<PoolTask> {
    const first = this.#oldest
    let number = first
    const tasks: Array<PoolTask> = []
    const began = performance.now()
    for (; number < this.#next; number++) {
      if (!isOver(this.#mailbox.state(number))) break
      const task = this.#tasks[number % SLOTS]
      if (task === undefined) continue
      this.#open(task, number)
      task.ran = true
      tasks.push(task)
    }
    this.readMs = 0
    const decodeMs = tasks.length === 0 ? 0 : (performance.now() - began) / tasks.length
    for (const task of tasks) {
      const ms = this.#mailbox.times[this.#mailbox.time(task.number) + SlotTime.END] - this.startOf(task)
      if (ms > 0) this.readMs += ms
      records.add(task, this.#mailbox, decodeMs)
    }
    for (let freed = first; freed < number; freed++) {
      this.#tasks[freed % SLOTS] = undefined
      this.#sender.release()
    }
    this.#oldest = number
    if (number > first) Atomics.store(this.#words, this.#base + TaskWord.READ, number)
    return tasks
  }

  /** Takes a task back that the lane has not begun; false where it has. */
  withdraw(task: PoolTask): boolean {
    if (!this.#mailbox.advance(task.number, SlotState.POSTED, SlotState.WITHDRAWN)) return false
    this.#tasks[task.number % SLOTS] = undefined
    return true
  }

  /** Takes back up to `count` of the newest tasks that it has not begun, and that another lane can be given. */
  withdrawNewest(count: number): ReadonlyArray<PoolTask> {
    const tasks: Array<PoolTask> = []
    for (let number = this.#next - 1; number >= this.#oldest && tasks.length < count; number--) {
      const task = this.#tasks[number % SLOTS]
      if (task === undefined) continue
      if (task.transfer.length > 0 || !this.withdraw(task)) break
      tasks.push(task)
    }
    return tasks.reverse()
  }

  /** Tasks that it was given, that were not withdrawn and whose replies are not read, oldest first. */
  outstanding(): ReadonlyArray<PoolTask> {
    const tasks: Array<PoolTask> = []
    for (let number = this.#oldest; number < this.#next; number++) {
      const task = this.#tasks[number % SLOTS]
      if (task !== undefined) tasks.push(task)
    }
    return tasks
  }

  /** Whether the task is one of those that the lane has. */
  has(task: PoolTask): boolean {
    return this.#tasks[task.number % SLOTS] === task
  }

  /** Has the reply of a task that it has not held back. */
  hasten({ number }: PoolTask): void {
    this.#mailbox.words[this.#mailbox.slot(number) + SlotWord.HASTE] = 1
  }

  /** Whether it has begun with a task that it has. */
  hasBegun({ number }: PoolTask): boolean {
    return this.#mailbox.state(number) !== SlotState.POSTED
  }

  /** When it began with a task, by `performance.now()`; NaN where it has not. */
  startOf({ number }: PoolTask): number {
    return this.#mailbox.times[this.#mailbox.time(number) + SlotTime.START]
  }

  /** Why it has given up, if it has. */
  failure(): LaneFailure | undefined {
    if (this.#word(TaskWord.FAILED) === 0) return undefined
    for (;;) {
      const received = receiveMessageOnPort(this.#port)
      if (received === undefined) return undefined
      const message = received.message as { readonly failure?: LaneFailure } | undefined
      if (message?.failure !== undefined) return message.failure
    }
  }

  /** Whether the thread is gone, asked by an owner that blocks and so hears of no event. */
  isGone(): boolean {
    if (this.#ended) return true
    const thread = this.#word(TaskWord.THREAD)
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

  #word(word: number): number {
    return Atomics.load(this.#words, this.#base + word)
  }

  #remember(name: string): number {
    const number = this.#names.size
    if (number >= MOST_NAMES) return -1
    this.#names.set(name, number)
    return number
  }

  #open(task: PoolTask, number: number): void {
    const { words } = this.#mailbox
    const slot = this.#mailbox.slot(number)
    try {
      const value = this.#receiver.receive(
        words[slot + SlotWord.RESULT_WAY],
        words[slot + SlotWord.RESULT_AT],
        words[slot + SlotWord.RESULT_BYTES]
      )
      if (words[slot + SlotWord.FAILED] === 0) task.value = value
      else task.failure = value as TaskFault
    } catch (error) {
      task.failure = { reason: "not-cloneable", ...describeError(error) }
    }
  }
}

const isOver = (state: number): boolean => state === SlotState.DONE || state === SlotState.PASSED
