/**
 * A lane of a task pool, from inside: a worker thread that takes tasks one after the other. Nothing of Effect is
 * loaded.
 *
 * Without work the thread sleeps on a shared word, its event loop too. A task that returns a promise is awaited, and
 * the event loop runs meanwhile.
 *
 * @since 0.1.0
 */
import { type MessagePort, receiveMessageOnPort, workerData } from "node:worker_threads"
import { TaskContext, type TaskProgram } from "../../src/tasks/context.ts"
import {
  describeError,
  encodeReplies,
  type LaneReply,
  REPLIES,
  TASK_ELEMENTS,
  taskAt,
  taskLaneBase,
  type TaskMessage,
  type TaskOutcome,
  type TaskReply,
  TaskWord
} from "../../src/tasks/protocol.ts"
import { runTask } from "../../src/tasks/run.ts"
import { currentThread } from "./liveness.ts"
import { resetInstance, type ResetModule } from "./reset-instance.ts"

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
  readonly port: MessagePort
  readonly program: string | undefined
  readonly module: ResetModule | undefined
}

/** Milliseconds that a finished task waits at most for the next one of its batch, so that both go in one message. */
const HOLD_MILLISECONDS = 0.2

/** Milliseconds of work from which its CPU time is looked at. */
const MEASURED_MILLISECONDS = 0.05

/** Bytes from which the buffer of a result is transferred and not copied: below, copying is as fast. */
const TRANSFER_BYTES = 16_384

const now = (): number => performance.timeOrigin + performance.now()
const cpuNow = (): number | undefined => {
  const usage = process.threadCpuUsage?.()
  return usage === undefined ? undefined : usage.user + usage.system
}

/** Buffers that may be handed over: whole ones of plain byte arrays. A guest's memory cannot be detached. */
const transferable = (value: unknown, guest: WebAssembly.Memory | undefined): ReadonlyArray<ArrayBuffer> => {
  if (!(value instanceof Uint8Array) || value.byteLength < TRANSFER_BYTES) return []
  const { buffer } = value
  const whole = buffer instanceof ArrayBuffer && buffer.byteLength === value.byteLength && buffer !== guest?.buffer
  return whole ? [buffer] : []
}

const openContext = (module: ResetModule, program: TaskProgram): Promise<TaskContext> =>
  TaskContext.open((imports) => resetInstance(module, imports), program)

class TaskServer {
  readonly #data: TaskLaneData
  readonly #base: number
  readonly #program: TaskProgram
  #context: TaskContext | undefined
  #held: Array<TaskReply> = []
  #heldSince = 0
  #cpu = cpuNow()

  constructor(data: TaskLaneData, program: TaskProgram, context: TaskContext | undefined) {
    this.#data = data
    this.#base = taskLaneBase(data.lane)
    this.#program = program
    this.#context = context
  }

  async serve(): Promise<never> {
    const { port, words } = this.#data
    for (;;) {
      const posted = Atomics.load(words, this.#base + TaskWord.POSTED)
      const received = receiveMessageOnPort(port)
      if (received === undefined) {
        Atomics.wait(words, this.#base + TaskWord.POSTED, posted)
        continue
      }
      const batch = received.message as ReadonlyArray<unknown>
      for (let index = 0; index < batch.length; index += TASK_ELEMENTS) {
        const taken = this.#take(taskAt(batch, index))
        if (taken !== undefined) await taken
      }
      this.#flush()
    }
  }

  /** One task; a promise only where the task returns one, or its context has to be opened anew. */
  #take(task: TaskMessage): undefined | Promise<void> {
    if (this.#held.length > 0 && now() - this.#heldSince > HOLD_MILLISECONDS) this.#flush()
    Atomics.store(this.#data.words, this.#base + TaskWord.STARTED, task.id)
    const start = now()
    const outcome = runTask(this.#program, task.name, task.input, this.#context?.guest)
    return outcome instanceof Promise
      ? outcome.then((settled) => this.#ended(task, settled, start))
      : this.#ended(task, outcome, start)
  }

  #ended(task: TaskMessage, outcome: TaskOutcome, start: number): undefined | Promise<void> {
    const end = now()
    if (this.#held.length === 0) this.#heldSince = end
    this.#held.push({ id: task.id, outcome, start, end, cpu: undefined })
    if (this.#context === undefined) return undefined
    // Posted before the reset: the result may hold views of the memory, and nobody waits for the reset.
    this.#flush()
    return task.keep ? undefined : this.#reset()
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

  #flush(): void {
    const replies = this.#held
    if (replies.length === 0) return
    this.#held = []
    const memory = this.#context?.guest.memory
    const transfer: Array<ArrayBuffer> = []
    for (const { outcome } of replies) if (outcome.ok) transfer.push(...transferable(outcome.value, memory))
    // A look costs 2 µs: tasks that are hardly longer are not measured, and the one behind the message delays nobody.
    const length = replies[replies.length - 1].end - replies[0].start
    const cpu = length < MEASURED_MILLISECONDS ? undefined : cpuNow()
    const used = cpu === undefined || this.#cpu === undefined ? undefined : cpu - this.#cpu
    try {
      send(this.#data, encodeReplies(replies, used), transfer)
    } catch {
      // One of them cannot be posted: each goes by itself, so that only that one fails.
      for (const reply of replies) this.#sendOne(reply)
    }
    this.#cpu = cpuNow()
  }

  #sendOne(reply: TaskReply): void {
    try {
      send(this.#data, encodeReplies([reply], undefined))
    } catch (error) {
      const outcome: TaskOutcome = { ok: false, reason: "not-cloneable", ...describeError(error) }
      send(this.#data, encodeReplies([{ ...reply, outcome }], undefined))
    }
  }
}

const send = ({ port, words }: TaskLaneData, reply: LaneReply, transfer: Array<ArrayBuffer> = []): void => {
  port.postMessage(reply, transfer)
  Atomics.add(words, REPLIES, 1)
  Atomics.notify(words, REPLIES)
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
    send(data, { kind: "ready" })
    await new TaskServer(data, program, context).serve()
  } catch (error) {
    const { message, stack } = describeError(error)
    send(data, { kind: "failed", message, stack })
  }
}
