/**
 * A pool of lanes that run tasks one at a time each, in plain code: nothing here is an Effect.
 *
 *     submit ── queue ──> mailboxes of lanes ──> settled tasks ──> join, in the order of the caller
 *
 * Waking an owner costs more than a small task. So a lane is given as many tasks as it is expected to do in twice
 * {@link BATCH_MILLISECONDS}, by the mean of the tasks so far, and never more than its share of the queue; it calls for
 * more when half of them are done. A lane without work is given what another one has not begun. A task of unknown length
 * goes alone.
 *
 * An owner that waits for one short task polls for it a moment, and is woken by `Atomics.waitAsync` otherwise.
 * {@link TaskPool.joinSync} blocks the thread and reads the replies itself, so a host import can wait for a task while
 * the guest that called it stands still.
 *
 * @since 0.1.0
 */
import { describeError, makeTaskWords } from "../../src/tasks/protocol.ts"
import { START_MILLISECONDS, TaskLane, type TaskSource } from "./task-lane.ts"
import { TimeLimits } from "./task-limits.ts"
import { NAME_CHARACTERS } from "./task-payload.ts"
import { Fifo, type PoolTask, type TaskFailure, type TaskFailureReason } from "./task-queue.ts"
import { TaskRecords } from "./task-records.ts"
import { OwnerWait } from "./task-wait.ts"

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

/** Milliseconds of work after which a lane is given more. */
const BATCH_MILLISECONDS = 4

/** Most tasks after which a lane is given more: a mailbox has room for twice as many. */
const MAXIMUM_BATCH = 128

/** Milliseconds of work for which it pays to take tasks back from a lane. */
const WITHDRAWN_MILLISECONDS = 0.2

/** Milliseconds after which a task counts as long, and what is behind it is taken back however little it is. */
const LONG_MILLISECONDS = 5

/** Lanes in a row that end before they are ready, after which the pool gives up. */
const MAXIMUM_FAILED_STARTS = 3

/** Shared by all tasks without options: a small task should allocate little. */
const AS_USUAL: SubmitOptions = {}
const NOTHING: ReadonlyArray<ArrayBuffer> = []

const unusable = (message: string): TaskFailure => ({ reason: "unusable", name: "Error", message, stack: message })

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
  readonly #limits = new TimeLimits(
    ({ lane }) => this.#lanes[lane],
    () => void this.#drain(),
    (task, message) => this.#stop(task, "timeout", message)
  )
  readonly #wait: OwnerWait
  readonly #records = new TaskRecords()
  #nextId = 1
  #meanMs = Number.NaN
  #scheduled = false
  #held = false
  #failedStarts = 0
  #unusable: TaskFailure | undefined
  #closed = false

  constructor(options: TaskPoolOptions) {
    this.#options = options
    this.#words = makeTaskWords(options.lanes)
    this.#wait = new OwnerWait(this.#words, options.width, {
      read: () => this.#drain(),
      dispatch: () => this.#dispatch(),
      busy: () => this.#busy
    })
    this.#lanes = Array.from({ length: options.lanes }, (_, index) => this.#start(index))
  }

  /** Id of the task that is submitted next. */
  get nextId(): number {
    return this.#nextId
  }

  /** What was measured of the newest tasks. */
  get records(): TaskRecords {
    return this.#records
  }

  /** Bytes that the newest reset of a lane copied. */
  resetBytes(lane: number): number {
    return this.#lanes[lane].resetBytes
  }

  /** Queues a task. It runs when a lane is free; nobody needs to wait for it. */
  submit(name: string, input: unknown, options: SubmitOptions = AS_USUAL): PoolTask {
    const task: PoolTask = {
      id: this.#nextId++,
      name,
      input,
      transfer: options.transfer ?? NOTHING,
      timeoutMs: options.timeoutMs,
      keep: options.keep ?? false,
      submitted: performance.now(),
      lane: -1,
      number: 0,
      attempts: 0,
      batch: 0,
      awaited: false,
      ran: false,
      value: undefined,
      failure: undefined,
      settled: false,
      onSettled: undefined
    }
    if (this.#closed) this.#fail(task, "closed", "the pool is closed")
    else if (this.#unusable !== undefined) this.#settleFailed(task, this.#unusable)
    else if (name.length > NAME_CHARACTERS) {
      this.#fail(task, "unknown-task", `a task's name has at most ${NAME_CHARACTERS} characters`)
    } else if (options.lease !== undefined && this.#leased.get(options.lease.lane) !== options.lease) {
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

  /** Somebody waits for this task by itself: its reply is not held back, and is read if it is there. */
  hasten(task: PoolTask): void {
    task.awaited = true
    const lane = this.#lanes[task.lane] as TaskLane | undefined
    if (lane === undefined || !lane.has(task)) return
    lane.hasten(task)
    if (lane.hasReply && this.#drain() > 0) this.#dispatch()
  }

  /** Blocks the thread until the task has ended. */
  joinSync(task: PoolTask): void {
    this.hasten(task)
    this.#wait.block(() => task.settled, () => this.#lanes.forEach((lane) => this.#watch(lane)))
  }

  /** Ends a task that nobody waits for any more. Its neighbours are not touched, and its lane is replaced if it ran. */
  interrupt(task: PoolTask): void {
    this.#stop(task, "interrupted", "the task was interrupted")
  }

  /** Ends all lanes. Tasks that have not ended fail. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#wait.close()
    for (const task of this.#takeAll()) this.#fail(task, "closed", "the pool was closed before the task ended")
    await Promise.all(this.#lanes.map((lane) => lane.end("the pool was closed")))
  }

  #start(index: number): TaskLane {
    const lane = new TaskLane(index, this.#words, this.#options, {
      onEnd: (ended) => this.#lost(ended),
      onLate: (late) => this.#notUp(late)
    })
    if (this.#held && index === 0) lane.hold(true)
    return lane
  }

  /** All tasks that have not ended, out of queues and lanes. */
  #takeAll(): ReadonlyArray<PoolTask> {
    const tasks = this.#lanes.flatMap((lane) => lane.outstanding())
    for (const queue of [this.#queue, ...Array.from(this.#leased.values(), (lease) => lease.queue)]) {
      for (let task = queue.shift(); task !== undefined; task = queue.shift()) tasks.push(task)
    }
    for (const task of tasks) this.#limits.forget(task)
    return tasks
  }

  /** Hands out what is queued once the caller's own turn is over, so that a loop of submits makes batches. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.#dispatch()
      if (!this.#wait.poll(this.#meanMs)) this.#wait.listen()
    })
  }

  /** The lanes that have tasks. */
  get #busy(): ReadonlyArray<TaskLane> {
    return this.#lanes.filter(({ backlog }) => backlog > 0)
  }

  #dispatch(): void {
    if (this.#closed) return
    // One that polls begins at once.
    const polling = this.#lanes.find((lane) => lane.isPolling)
    if (polling !== undefined && polling.backlog === 0) this.#give(polling)
    for (const lane of this.#lanes) if (lane.backlog === 0) this.#give(lane)
    for (const lane of this.#lanes) this.#give(lane)
    for (const lane of this.#lanes) if (lane.backlog === 0 && lane.ready) this.#share(lane)
    const busy = this.#busy.length > 0
    if (busy === this.#held) return
    this.#held = busy
    // One of them is enough to keep the process.
    this.#lanes[0].hold(busy)
  }

  /** Gives a lane its next tasks, unless it has enough. */
  #give(lane: TaskLane): void {
    const queue = this.#leased.get(lane.index)?.queue ?? this.#queue
    if (queue.length === 0 || lane.ended) return
    const known = !Number.isNaN(this.#meanMs)
    const fitting = known ? Math.max(1, Math.min(BATCH_MILLISECONDS / this.#meanMs, MAXIMUM_BATCH)) : 0.5
    const most = Math.min(Math.ceil(queue.length / this.#lanes.length), Math.floor(2 * fitting) - lane.backlog)
    const batch: Array<PoolTask> = []
    while (batch.length < most) {
      const task = queue.shift()
      if (task === undefined) break
      if (!task.settled) batch.push(task)
    }
    this.#post(lane, batch, queue)
  }

  /** Gives a lane without work what another one has not begun, where that is worth it. */
  #share(lane: TaskLane): void {
    if (this.#leased.has(lane.index) || lane.ended) return
    let from: TaskLane | undefined
    for (const other of this.#lanes) {
      if (other.backlog > 1 && !this.#leased.has(other.index) && other.backlog > (from?.backlog ?? 0)) from = other
    }
    if (from === undefined) return
    const waiting = from.backlog - 1
    const { oldestStart } = from
    if (waiting * this.#meanMs < WITHDRAWN_MILLISECONDS && !(performance.now() - oldestStart > LONG_MILLISECONDS)) {
      return
    }
    const tasks = from.withdrawNewest(Math.ceil(waiting / 2))
    for (const task of tasks) {
      this.#limits.forget(task)
      task.attempts--
    }
    this.#post(lane, tasks, this.#queue)
  }

  #post(lane: TaskLane, batch: ReadonlyArray<PoolTask>, queue: Fifo<PoolTask>): void {
    const began = performance.now()
    let posted = 0
    for (const [index, task] of batch.entries()) {
      if (!lane.hasRoom) {
        queue.unshift(batch.slice(index))
        break
      }
      try {
        lane.put(task)
      } catch (error) {
        this.#settleFailed(task, { reason: "not-cloneable", ...describeError(error) })
        continue
      }
      posted++
      task.attempts++
      task.batch = batch.length
      this.#limits.watch(task)
    }
    if (posted > 0) lane.publish(posted, began, queue.length > 0)
  }

  /** Reads all replies that are there. Answers how many tasks have ended. */
  #drain(): number {
    let ended = 0
    for (const lane of this.#lanes) {
      if (lane.hasReply) {
        const tasks = lane.read(this.#records)
        ended += tasks.length
        this.#learn(lane.readMs, tasks.length)
        for (const task of tasks) {
          this.#limits.forget(task)
          this.#settle(task)
        }
      }
      const failure = lane.failure()
      if (failure === undefined) continue
      if (lane.ready) void lane.end(failure.message)
      else this.#giveUp({ reason: "unusable", name: "Error", ...failure })
    }
    return ended
  }

  /** Follows the mean length of tasks, by about the newest sixteen. */
  #learn(ms: number, tasks: number): void {
    if (tasks === 0) return
    this.#failedStarts = 0
    const mean = ms / tasks
    this.#meanMs = Number.isNaN(this.#meanMs) ? mean : this.#meanMs + (mean - this.#meanMs) * Math.min(1, tasks / 16)
  }

  #settle(task: PoolTask): void {
    if (task.settled) return
    task.settled = true
    task.onSettled?.()
  }

  #settleFailed(task: PoolTask, failure: TaskFailure): void {
    if (task.settled) return
    task.failure = failure
    this.#records.addWithout(task)
    this.#settle(task)
  }

  #fail(task: PoolTask, reason: TaskFailureReason, message: string): void {
    this.#settleFailed(task, { reason, name: "Error", message, stack: message })
  }

  /** Looks after a lane for an owner that blocks, who hears of no event and no timer. */
  #watch(lane: TaskLane): void {
    if (lane.isGone()) {
      this.#lost(lane)
      return
    }
    if (performance.now() - lane.startedAt > START_MILLISECONDS) this.#notUp(lane)
    this.#limits.check(lane.outstanding())
  }

  /** A program whose first steps never end would keep all its tasks waiting. */
  #notUp(lane: TaskLane): void {
    if (lane.ready || this.#closed || this.#lanes[lane.index] !== lane) return
    this.#giveUp(unusable(`a lane did not come up within ${START_MILLISECONDS} ms`))
  }

  #stop(task: PoolTask, reason: "timeout" | "interrupted", message: string): void {
    this.#drain()
    if (task.settled) return
    this.#limits.forget(task)
    this.#fail(task, reason, message)
    const lane = this.#lanes[task.lane] as TaskLane | undefined
    if (lane === undefined || !lane.has(task) || lane.withdraw(task)) return
    void lane.end(message)
    this.#lost(lane)
  }

  /** A lane has ended, or is being ended: its tasks go elsewhere, and another one takes its place. */
  #lost(lane: TaskLane): void {
    if (this.#lanes[lane.index] !== lane || this.#closed) return
    this.#drain()
    if (!lane.ready && ++this.#failedStarts >= MAXIMUM_FAILED_STARTS) {
      this.#giveUp(unusable(`lanes do not start: ${lane.reason}`))
      return
    }
    const again: Array<PoolTask> = []
    for (const task of lane.outstanding()) {
      this.#limits.forget(task)
      if (task.settled) continue
      const begun = lane.hasBegun(task)
      if (!begun) task.attempts--
      const retries = this.#options.onLaneLost === "retry" && task.attempts < this.#options.maximumAttempts
      if (begun && !retries) this.#fail(task, "lane-lost", `the lane was lost under the task: ${lane.reason}`)
      else if (task.transfer.length > 0) {
        this.#fail(task, "lane-lost", `the lane was lost with the buffers handed over to it: ${lane.reason}`)
      } else again.push(task)
    }
    const queue = this.#leased.get(lane.index)?.queue ?? this.#queue
    queue.unshift(again)
    this.#lanes[lane.index] = this.#start(lane.index)
    this.#schedule()
  }

  /** No lane can work: everything fails with the reason. */
  #giveUp(failure: TaskFailure): void {
    this.#unusable ??= failure
    for (const task of this.#takeAll()) this.#settleFailed(task, failure)
  }
}
