/**
 * A pool of lanes that run tasks one at a time each, in plain code: nothing here is an Effect.
 *
 *     submit ── queue ──> batches ──> lanes ──> replies ──> settled tasks ──> join, in the order of the caller
 *
 * Small tasks go in batches: as many as a lane is expected to do in {@link BATCH_MILLISECONDS}, by the mean of the
 * tasks so far, and never more than its share of the queue. A task of unknown length goes alone.
 *
 * Owners that may wait for a promise are woken by `Atomics.waitAsync`; {@link TaskPool.joinSync} blocks the thread and
 * reads the replies itself, so a host import can wait for a task while the guest that called it stands still.
 *
 * @since 0.1.0
 */
import {
  decodeReplies,
  type LaneReply,
  makeTaskWords,
  REPLIES,
  type TaskMessage,
  type TaskReply
} from "../../src/tasks/protocol.ts"
import { TaskLane, type TaskSource } from "./task-lane.ts"
import { Fifo, type PoolTask, type TaskFailure, type TaskFailureReason } from "./task-queue.ts"

/**
 * How a pool works.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskPoolOptions extends TaskSource {
  readonly lanes: number
  /** What becomes of a task whose lane ended under it: `retry` runs it again, at most `maximumAttempts` times. */
  readonly onLaneLost: "retry" | "fail"
  readonly maximumAttempts: number
}

/**
 * How one task is run.
 *
 * @category models
 * @since 0.1.0
 */
export interface SubmitOptions {
  /** Milliseconds from its start after which the task, and only it, is ended. */
  readonly timeoutMs?: number | undefined
  /** Buffers of the input that are handed over and not copied. */
  readonly transfer?: ReadonlyArray<ArrayBuffer> | undefined
  /** The lease whose lane must run it, and whether the context keeps the state that it leaves. */
  readonly lease?: Lease | undefined
  readonly keep?: boolean | undefined
}

/**
 * A lane that takes the tasks of its holder only.
 *
 * @category models
 * @since 0.1.0
 */
export interface Lease {
  readonly lane: number
  readonly queue: Fifo<PoolTask>
}

/** Milliseconds of work that a lane is given at once. */
const BATCH_MILLISECONDS = 0.5

/** Most tasks of one message. */
const MAXIMUM_BATCH = 128

/** Milliseconds that a blocked owner sleeps between two looks at the lanes. */
const SLICE_MILLISECONDS = 20

/** Lanes in a row that end before they are ready, after which the pool gives up. */
const MAXIMUM_FAILED_STARTS = 3

/** Milliseconds that a blocked owner, who hears of no event, waits for a lane to come up. */
const START_MILLISECONDS = 30_000

const unusable = (message: string): TaskFailure => ({ reason: "unusable", name: "Error", message, stack: message })

const epoch = (): number => performance.timeOrigin + performance.now()

/**
 * The pool.
 *
 * @category models
 * @since 0.1.0
 */
export class TaskPool {
  readonly #options: TaskPoolOptions
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #lanes: Array<TaskLane>
  readonly #queue = new Fifo<PoolTask>()
  /** Lanes that are taken: acquired contexts. */
  readonly #leased = new Map<number, Lease>()
  readonly #timers = new Map<number, ReturnType<typeof setTimeout>>()
  readonly #inFlight = new Map<number, PoolTask>()
  #nextId = 1
  #meanMs = Number.NaN
  #scheduled = false
  #listening = false
  #held = false
  #failedStarts = 0
  #unusable: TaskFailure | undefined
  #closed = false

  constructor(options: TaskPoolOptions) {
    this.#options = options
    this.#words = makeTaskWords(options.lanes)
    this.#lanes = Array.from({ length: options.lanes }, (_, index) => this.#start(index))
  }

  /** Tasks that have not ended. */
  get pending(): number {
    let leased = 0
    for (const { queue } of this.#leased.values()) leased += queue.length
    return this.#queue.length + leased + this.#inFlight.size
  }

  /** Id of the task that is submitted next. */
  get nextId(): number {
    return this.#nextId
  }

  /** Lanes that are up. */
  get ready(): number {
    return this.#lanes.filter((lane) => lane.ready && !lane.ended).length
  }

  /** Bytes that the newest reset of a lane copied. */
  resetBytes(lane: number): number {
    return this.#lanes[lane].resetBytes
  }

  /** Queues a task. It runs when a lane is free; nobody needs to wait for it. */
  submit(name: string, input: unknown, options: SubmitOptions = {}): PoolTask {
    const task: PoolTask = {
      id: this.#nextId++,
      name,
      input,
      transfer: options.transfer ?? [],
      timeoutMs: options.timeoutMs,
      keep: options.keep ?? false,
      submitted: epoch(),
      lane: -1,
      attempts: 0,
      postMs: 0,
      batch: 0,
      decodeMs: 0,
      reply: undefined,
      failure: undefined,
      settled: false,
      onSettled: undefined
    }
    if (this.#closed) this.#fail(task, "closed", "the pool is closed")
    else if (this.#unusable !== undefined) this.#settle(task, this.#unusable)
    else if (options.lease !== undefined && this.#leased.get(options.lease.lane) !== options.lease) {
      this.#fail(task, "closed", "the context was given back")
    } else {
      const queue = options.lease?.queue ?? this.#queue
      queue.push(task)
      this.#schedule()
    }
    return task
  }

  /** Takes a lane out of the common queue; `undefined` where all are taken. */
  lease(): Lease | undefined {
    const lane = this.#lanes.find(({ index }) => !this.#leased.has(index))
    if (lane === undefined) return undefined
    const lease = { lane: lane.index, queue: new Fifo<PoolTask>() }
    this.#leased.set(lane.index, lease)
    return lease
  }

  /** Gives a lane back. Tasks of its holder that have not begun fail. */
  giveBack({ lane, queue }: Lease): void {
    this.#leased.delete(lane)
    for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
      this.#fail(task, "closed", "the context was given back")
    }
    this.#schedule()
  }

  /** Blocks the thread until the task has ended. */
  joinSync(task: PoolTask): void {
    const started = new Map<number, number>()
    while (!task.settled) {
      const seen = Atomics.load(this.#words, REPLIES)
      this.#dispatch()
      if (this.#drain() > 0 || task.settled) continue
      for (const lane of this.#lanes) {
        if (lane.isGone()) this.#lost(lane)
        else if (!lane.ready && performance.now() - lane.startedAt > START_MILLISECONDS) {
          this.#giveUp(unusable(`a lane did not come up within ${START_MILLISECONDS} ms`))
        } else this.#expire(lane, started)
      }
      if (!task.settled) Atomics.wait(this.#words, REPLIES, seen, SLICE_MILLISECONDS)
    }
  }

  /** Ends a task that nobody waits for any more. Its neighbours are not touched, and its lane is replaced if it ran. */
  interrupt(task: PoolTask): void {
    this.#stop(task, "interrupted", "the task was interrupted")
  }

  /** Ends all lanes. Tasks that have not ended fail. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const timer of this.#timers.values()) clearTimeout(timer)
    const rest = [...this.#inFlight.values()]
    for (const queue of this.#queues()) {
      for (let task = queue.shift(); task !== undefined; task = queue.shift()) rest.push(task)
    }
    this.#inFlight.clear()
    for (const task of rest) this.#fail(task, "closed", "the pool was closed before the task ended")
    await Promise.all(this.#lanes.map((lane) => lane.end("the pool was closed")))
  }

  #start(index: number): TaskLane {
    const lane = new TaskLane(index, this.#words, this.#options, (ended) => this.#lost(ended))
    if (this.#held && index === 0) lane.hold(true)
    return lane
  }

  #queues(): ReadonlyArray<Fifo<PoolTask>> {
    return [this.#queue, ...Array.from(this.#leased.values(), ({ queue }) => queue)]
  }

  /** Hands out what is queued once the caller's own turn is over, so that a loop of submits makes batches. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.#dispatch()
      this.#listen()
    })
  }

  #dispatch(): void {
    if (this.#closed) return
    for (const lane of this.#lanes) {
      if (lane.ended || lane.inFlight.size > 0) continue
      const queue = this.#leased.get(lane.index)?.queue ?? this.#queue
      const batch = this.#take(queue)
      if (batch.length > 0) this.#post(lane, batch)
    }
    const busy = this.#inFlight.size > 0
    if (busy === this.#held) return
    this.#held = busy
    // One of them is enough to keep the process.
    this.#lanes[0].hold(busy)
  }

  #take(queue: Fifo<PoolTask>): Array<PoolTask> {
    const share = Math.ceil(queue.length / this.#lanes.length)
    const fitting = this.#meanMs > 0 ? Math.floor(BATCH_MILLISECONDS / this.#meanMs) : 1
    const most = Math.max(1, Math.min(share, fitting, MAXIMUM_BATCH))
    const batch: Array<PoolTask> = []
    while (batch.length < most) {
      const task = queue.shift()
      if (task === undefined) break
      if (!task.settled) batch.push(task)
      // A task with a time limit goes alone: only then is its lane's start its own.
      if (task.timeoutMs !== undefined) break
    }
    return batch
  }

  #post(lane: TaskLane, batch: ReadonlyArray<PoolTask>): void {
    const messages = batch.map(({ id, input, keep, name }): TaskMessage => ({ id, input, keep, name }))
    const before = performance.now()
    try {
      lane.post(messages, batch.flatMap(({ transfer }) => transfer))
    } catch (error) {
      // What cannot be posted fails; what was with it goes again, each by itself.
      if (batch.length > 1) {
        for (const task of batch) this.#post(lane, [task])
        return
      }
      const { message, name, stack } = error as Error
      this.#settle(batch[0], { reason: "not-cloneable", name, message, stack: stack ?? message })
      return
    }
    const postMs = performance.now() - before
    for (const task of batch) {
      task.lane = lane.index
      task.attempts++
      task.postMs = postMs
      task.batch = batch.length
      this.#inFlight.set(task.id, task)
      lane.inFlight.set(task.id, task)
      if (task.timeoutMs !== undefined) {
        this.#timers.set(task.id, setTimeout(() => this.#timeOut(task), task.timeoutMs))
      }
    }
  }

  /** Reads all replies that are there. Answers how many messages. */
  #drain(): number {
    let messages = 0
    for (const lane of this.#lanes) {
      for (;;) {
        const before = performance.now()
        const reply = lane.receive()
        if (reply === undefined) break
        messages++
        this.#hear(lane, reply, performance.now() - before)
      }
    }
    return messages
  }

  #hear(lane: TaskLane, reply: LaneReply, decodeMs: number): void {
    if (!("kind" in reply)) {
      for (const done of decodeReplies(reply)) this.#done(lane, done, decodeMs)
    } else if (reply.kind === "ready") {
      this.#failedStarts = 0
    } else {
      if (lane.ready) {
        void lane.end(reply.message)
        return
      }
      this.#giveUp({ reason: "unusable", name: "Error", message: reply.message, stack: reply.stack })
    }
  }

  #done(lane: TaskLane, reply: TaskReply, decodeMs: number): void {
    const task = this.#inFlight.get(reply.id)
    lane.inFlight.delete(reply.id)
    this.#forget(reply.id)
    const ms = reply.end - reply.start
    this.#meanMs = Number.isNaN(this.#meanMs) ? ms : this.#meanMs + (ms - this.#meanMs) / 16
    if (task === undefined || task.settled) return
    task.reply = reply
    task.decodeMs = decodeMs
    const { outcome } = reply
    this.#settle(task, outcome.ok ? undefined : outcome)
  }

  #forget(id: number): void {
    this.#inFlight.delete(id)
    const timer = this.#timers.get(id)
    if (timer === undefined) return
    clearTimeout(timer)
    this.#timers.delete(id)
  }

  #settle(task: PoolTask, failure: TaskFailure | undefined): void {
    if (task.settled) return
    task.settled = true
    task.failure = failure
    task.onSettled?.()
  }

  #fail(task: PoolTask, reason: TaskFailureReason, message: string): void {
    this.#settle(task, { reason, name: "Error", message, stack: message })
  }

  /** Waits for replies without blocking, as long as there is something to wait for. */
  #listen(): void {
    if (this.#listening || this.#closed || this.#inFlight.size === 0) return
    const seen = Atomics.load(this.#words, REPLIES)
    if (this.#drain() > 0) this.#dispatch()
    if (this.#inFlight.size === 0) return
    this.#listening = true
    const waiting = Atomics.waitAsync(this.#words, REPLIES, seen)
    const woken = (): void => {
      this.#listening = false
      this.#drain()
      this.#dispatch()
      this.#listen()
    }
    if (waiting.async) void waiting.value.then(woken)
    else queueMicrotask(woken)
  }

  /** A time limit counts from the task's start: while its lane is still coming up, it has none. */
  #timeOut(task: PoolTask): void {
    this.#timers.delete(task.id)
    this.#drain()
    if (task.settled) return
    if (this.#lanes[task.lane].started !== task.id) {
      this.#timers.set(task.id, setTimeout(() => this.#timeOut(task), task.timeoutMs))
      return
    }
    this.#stop(task, "timeout", `the task took longer than ${task.timeoutMs} ms`)
  }

  /** The same for an owner that blocks, whose timers stand still. */
  #expire(lane: TaskLane, started: Map<number, number>): void {
    const id = lane.started
    const task = this.#inFlight.get(id)
    if (task?.timeoutMs === undefined) return
    const since = started.get(id)
    if (since === undefined) started.set(id, performance.now())
    else if (performance.now() - since > task.timeoutMs) {
      this.#stop(task, "timeout", `the task took longer than ${task.timeoutMs} ms`)
    }
  }

  #stop(task: PoolTask, reason: "timeout" | "interrupted", message: string): void {
    this.#drain()
    if (task.settled) return
    this.#fail(task, reason, message)
    const lane = this.#lanes[task.lane] as TaskLane | undefined
    // One that has not begun is passed over: its result, if it comes, is dropped.
    if (lane === undefined || !lane.inFlight.has(task.id) || (lane.ready && lane.started !== task.id)) return
    void lane.end(message)
    this.#lost(lane)
  }

  /** A lane has ended, or is being ended: its tasks go elsewhere, and another one takes its place. */
  #lost(lane: TaskLane): void {
    if (this.#lanes[lane.index] !== lane || this.#closed) return
    this.#drain()
    const { started } = lane
    if (!lane.ready && ++this.#failedStarts >= MAXIMUM_FAILED_STARTS) {
      this.#giveUp(unusable(`lanes do not start: ${lane.reason}`))
      return
    }
    const again: Array<PoolTask> = []
    for (const id of lane.inFlight.keys()) {
      const task = this.#inFlight.get(id)
      this.#forget(id)
      if (task === undefined || task.settled) continue
      // Ids rise, so what lies behind the one that was begun last has not begun.
      const begun = lane.ready && id <= started
      const retries = this.#options.onLaneLost === "retry" && task.attempts < this.#options.maximumAttempts
      if (!begun) task.attempts--
      if (!begun || retries) again.push(task)
      else this.#fail(task, "lane-lost", `the lane was lost under the task: ${lane.reason}`)
    }
    lane.inFlight.clear()
    const queue = this.#leased.get(lane.index)?.queue ?? this.#queue
    queue.unshift(again)
    this.#lanes[lane.index] = this.#start(lane.index)
    this.#schedule()
  }

  /** No lane can work: everything fails with the reason. */
  #giveUp(failure: TaskFailure): void {
    this.#unusable ??= failure
    const waiting = [...this.#inFlight.values()]
    for (const queue of this.#queues()) {
      for (let task = queue.shift(); task !== undefined; task = queue.shift()) waiting.push(task)
    }
    for (const { id } of waiting) this.#forget(id)
    for (const task of waiting) this.#settle(task, failure)
  }
}
