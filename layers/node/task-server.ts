/**
 * A lane of a task pool, from inside: a worker thread that takes tasks one after the other. Nothing of Effect is
 * loaded.
 *
 * Without work the thread sleeps on a shared word, its event loop too. A task that returns a promise is awaited, and
 * the event loop runs meanwhile.
 *
 * @since 0.1.0
 */
import { type MessagePort, workerData } from "node:worker_threads"
import { TaskContext, type TaskProgram } from "../../src/tasks/context.ts"
import { ARENA_PAYLOAD, Mailbox, resultArena, SlotState, SlotTime, SlotWord } from "../../src/tasks/mailbox.ts"
import {
  callOwner,
  describeError,
  type LaneFailure,
  TASK_LANE_WORDS,
  type TaskFault,
  taskLaneBase,
  type TaskOutcome,
  TaskWord
} from "../../src/tasks/protocol.ts"
import { runTask } from "../../src/tasks/run.ts"
import { currentThread } from "./liveness.ts"
import { resetInstance, type ResetModule } from "./reset-instance.ts"
import { TaskClock } from "./task-clock.ts"
import { LaneIdle } from "./task-idle.ts"
import { clockSince, PayloadReceiver, PayloadSender } from "./task-payload.ts"

/**
 * Key of a worker's data under which a task lane finds its own.
 *
 * @category constants
 * @since 0.1.0
 */
export const TASK_LANE = "folio-wasm/task-lane"

/**
 * What a pool gives to a lane.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskLaneData {
  readonly lane: number
  readonly words: Int32Array<SharedArrayBuffer>
  readonly mailbox: SharedArrayBuffer
  readonly port: MessagePort
  /** Threads that can run at once. */
  readonly width: number
  /** `performance.timeOrigin` of the owner: times of tasks count from there. */
  readonly origin: number
  readonly program: string | undefined
  readonly module: ResetModule | undefined
}

/**
 * Milliseconds that a reply waits at most for those of the tasks behind it, so that the owner is woken once for all: one
 * that is waited for by itself, and one of many.
 */
const HOLD_MILLISECONDS = [4, 0.2] as const

/** Buffers that may be handed over: whole ones of plain byte arrays. */
const transferable = (value: unknown): ReadonlyArray<ArrayBuffer> => {
  if (!(value instanceof Uint8Array) || value.byteLength < ARENA_PAYLOAD) return []
  const { buffer } = value
  return buffer instanceof ArrayBuffer && buffer.byteLength === value.byteLength ? [buffer] : []
}

const openContext = (module: ResetModule, program: TaskProgram): Promise<TaskContext> =>
  TaskContext.open((imports) => resetInstance(module, imports), program)

class TaskServer {
  readonly #data: TaskLaneData
  readonly #base: number
  readonly #program: TaskProgram
  readonly #mailbox: Mailbox
  readonly #sender: PayloadSender
  readonly #receiver: PayloadReceiver
  readonly #names: Array<string> = []
  readonly #now: () => number
  readonly #clock: TaskClock
  #context: TaskContext | undefined
  /** Number of the next task. */
  #next = 0
  /** Replies that the owner has read. */
  #read = 0
  /** When the owner has to be called for replies that it has not read. */
  #callAt = Number.POSITIVE_INFINITY
  /** Replies that the owner had read when it was called last. */
  #readAtCall = -1

  constructor(data: TaskLaneData, program: TaskProgram, context: TaskContext | undefined) {
    this.#data = data
    this.#base = taskLaneBase(data.lane)
    this.#program = program
    this.#context = context
    this.#now = clockSince(data.origin)
    this.#clock = new TaskClock(this.#now)
    this.#mailbox = new Mailbox(data.mailbox)
    this.#sender = new PayloadSender(this.#mailbox, resultArena(), data.port)
    this.#receiver = new PayloadReceiver(this.#mailbox, data.port)
  }

  async serve(): Promise<never> {
    const { words } = this.#data
    const posted = this.#base + TaskWord.POSTED
    const lanes = words.length / TASK_LANE_WORDS - 1
    const idle = new LaneIdle(words, this.#data.lane, lanes, this.#data.width, this.#clock)
    for (;;) {
      idle.wait(this.#next)
      let now = this.#now()
      while (Atomics.load(words, posted) !== this.#next) {
        const taken = this.#take(now)
        now = typeof taken === "number" ? taken : await taken
      }
      this.#call()
    }
  }

  /** One task, begun at `now`. When it is over; a promise only where the task returns one, or its context is opened anew. */
  #take(now: number): number | Promise<number> {
    const number = this.#next
    this.#next = (number + 1) | 0
    const { words, times } = this.#mailbox
    const slot = this.#mailbox.slot(number)
    const nameAt = words[slot + SlotWord.NAME_AT]
    const known = words[slot + SlotWord.NAME]
    const name = nameAt < 0 ? this.#names[known] : this.#receiver.name(nameAt)
    if (nameAt >= 0 && known >= 0) this.#names[known] = name
    const way = words[slot + SlotWord.INPUT_WAY]
    if (!this.#mailbox.advance(number, SlotState.POSTED, SlotState.TAKEN)) {
      this.#receiver.drop(way)
      this.#release()
      this.#sender.skip()
      this.#over(number, SlotState.PASSED, now + HOLD_MILLISECONDS[0])
      return now
    }
    let taken = now
    if (now >= this.#callAt || this.#isLow(number)) {
      this.#call()
      taken = this.#now()
    }
    let input: unknown
    try {
      input = this.#receiver.receive(way, words[slot + SlotWord.INPUT_AT], words[slot + SlotWord.INPUT_BYTES])
    } catch (error) {
      return this.#ended(number, { ok: false, reason: "not-cloneable", ...describeError(error) }, now)
    }
    const start = this.#now()
    const time = this.#mailbox.time(number)
    times[time + SlotTime.INPUT_DECODE] = start - taken
    times[time + SlotTime.START] = start
    const outcome = runTask(this.#program, name, input, this.#context?.guest)
    return outcome instanceof Promise
      ? outcome.then((settled) => this.#ended(number, settled, start))
      : this.#ended(number, outcome, start)
  }

  /** Replies before the reset: the result may hold views of the memory, and nobody waits for the reset. */
  #ended(number: number, outcome: TaskOutcome, start: number): number | Promise<number> {
    const { times, words } = this.#mailbox
    const end = this.#now()
    const time = this.#mailbox.time(number)
    times[time + SlotTime.END] = end
    times[time + SlotTime.CPU] = this.#clock.cpuOf(start, end)
    const slot = this.#mailbox.slot(number)
    const keep = words[slot + SlotWord.KEEP] !== 0
    const callAt = end + HOLD_MILLISECONDS[words[slot + SlotWord.HASTE]]
    this.#send(number, outcome)
    const sent = this.#now()
    times[time + SlotTime.RESULT_ENCODE] = sent - end - this.#sender.postMs
    times[time + SlotTime.RESULT_POST] = this.#sender.postMs
    this.#over(number, SlotState.DONE, callAt)
    if (this.#context === undefined || keep) return sent
    // With nothing behind it, its caller waits for this reply and for no other one.
    if (Atomics.load(this.#data.words, this.#base + TaskWord.POSTED) === this.#next) this.#call()
    const reopened = this.#reset()
    return reopened === undefined ? this.#now() : reopened.then(this.#now)
  }

  #send(number: number, outcome: TaskOutcome): void {
    const { words } = this.#mailbox
    this.#release()
    const fault = outcome.ok ? this.#sendValue(outcome.value) : faultOf(outcome)
    if (fault !== undefined) this.#sender.send(fault, [])
    const slot = this.#mailbox.slot(number)
    words[slot + SlotWord.FAILED] = fault === undefined ? 0 : 1
    words[slot + SlotWord.RESULT_WAY] = this.#sender.way
    words[slot + SlotWord.RESULT_AT] = this.#sender.at
    words[slot + SlotWord.RESULT_BYTES] = this.#sender.bytes
  }

  /** Takes back the room of results that the owner has read. */
  #release(): void {
    const read = Atomics.load(this.#data.words, this.#base + TaskWord.READ)
    for (; this.#read !== read; this.#read = (this.#read + 1) | 0) this.#sender.release()
  }

  /** Sends a value; answers why it cannot be sent. */
  #sendValue(value: unknown, transfer = transferable(value)): TaskFault | undefined {
    try {
      this.#sender.send(value, transfer)
      return undefined
    } catch (error) {
      // A buffer that cannot be handed over, as that of a memory, can still be copied.
      return transfer.length > 0
        ? this.#sendValue(value, [])
        : { reason: "not-cloneable", ...describeError(error) }
    }
  }

  #over(number: number, state: number, callAt: number): void {
    this.#mailbox.setState(number, state)
    this.#callAt = Math.min(this.#callAt, callAt)
  }

  /** Whether the owner has more to do and half of what it gave is done: it can bring more before all is. */
  #isLow(number: number): boolean {
    const { words } = this.#data
    if (Atomics.load(words, this.#base + TaskWord.MORE) === 0) return false
    const read = Atomics.load(words, this.#base + TaskWord.READ)
    const posted = Atomics.load(words, this.#base + TaskWord.POSTED)
    return read !== this.#readAtCall && ((number - read) | 0) >= ((posted - number) | 0)
  }

  /** Calls the owner, unless it has read all that there is. */
  #call(): void {
    if (this.#callAt === Number.POSITIVE_INFINITY) return
    this.#callAt = Number.POSITIVE_INFINITY
    const read = Atomics.load(this.#data.words, this.#base + TaskWord.READ)
    this.#readAtCall = read
    if (read !== this.#next) callOwner(this.#data.words)
  }

  /** Puts the context back, or opens a new one where it cannot be put back. */
  #reset(): undefined | Promise<void> {
    const { words } = this.#data
    if (this.#context!.reset() !== undefined) return this.#reopen()
    Atomics.store(words, this.#base + TaskWord.RESET_BYTES, this.#context!.copiedBytes)
    return undefined
  }

  async #reopen(): Promise<void> {
    Atomics.add(this.#data.words, this.#base + TaskWord.RETIRED, 1)
    this.#context!.release()
    this.#context = await openContext(this.#data.module!, this.#program)
  }
}

const faultOf = ({ message, name, reason, stack }: TaskFault): TaskFault => ({ reason, name, message, stack })

/**
 * Tells the owner why this lane cannot work.
 *
 * @category serving
 * @since 0.1.0
 */
export const failLane = ({ lane, port, words }: TaskLaneData, error: unknown): void => {
  const { message, stack } = describeError(error)
  port.postMessage({ failure: { message, stack } satisfies LaneFailure })
  Atomics.store(words, taskLaneBase(lane) + TaskWord.FAILED, 1)
  callOwner(words)
}

/**
 * Serves the tasks of a program from this worker thread, until the pool ends it. For the entry of a worker script of
 * the caller's own; a pool that is given a program does this by itself. Throws where this thread is no lane of a pool.
 *
 * @category serving
 * @since 0.1.0
 */
export const serveTasks = async (program: TaskProgram): Promise<void> => {
  const data = (workerData as Record<string, unknown> | null)?.[TASK_LANE] as TaskLaneData | undefined
  if (data === undefined) throw new Error("this thread is no lane of a task pool: serveTasks is for its worker script")
  try {
    const context = data.module === undefined ? undefined : await openContext(data.module, program)
    const base = taskLaneBase(data.lane)
    Atomics.store(data.words, base + TaskWord.THREAD, currentThread() ?? 0)
    Atomics.store(data.words, base + TaskWord.READY, 1)
    callOwner(data.words)
    await new TaskServer(data, program, context).serve()
  } catch (error) {
    failLane(data, error)
  }
}
