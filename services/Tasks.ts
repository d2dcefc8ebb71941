/**
 * Tasks: functions of a program that run in lanes, each on private state, and are joined in order.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { AuditMismatch, TaskFailed } from "./TaskErrors.ts"

/**
 * A task that was submitted.
 *
 * @category models
 * @since 0.1.0
 */
export interface Task {
  readonly id: number
  readonly name: string
}

/**
 * How a task is run.
 *
 * @category options
 * @since 0.1.0
 */
export interface TaskOptions {
  /** Milliseconds from its start after which the task, and only it, is ended. */
  readonly timeoutMs?: number | undefined
  /** Buffers of the input that are handed over and not copied. The caller's become empty. */
  readonly transfer?: ReadonlyArray<ArrayBuffer> | undefined
}

/**
 * What was measured of a task's input or result on its way from thread to thread.
 *
 * @category models
 * @since 0.1.0
 */
export interface Transit {
  /** In shared memory, as a message, or handed over without a copy. */
  readonly way: "arena" | "message" | "transfer"
  /** Bytes that went; `undefined` where the host does not tell. Of what is handed over, only the buffers count. */
  readonly bytes: number | undefined
  /** Milliseconds of turning the value into bytes. Tasks that went together share their time. */
  readonly encodeMs: number
  /** Milliseconds of handing the bytes over, and of waking the other thread. */
  readonly postMs: number
  /** Milliseconds of turning the bytes into the value again. */
  readonly decodeMs: number
}

/**
 * What was measured of one task. Times are milliseconds since the epoch, so those of different lanes compare.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskRecord {
  readonly id: number
  readonly name: string
  /** Lane that ran it; -1 where none did. */
  readonly lane: number
  readonly submitted: number
  /** NaN for a task that was not run to its end, as is `end`. */
  readonly start: number
  readonly end: number
  /** CPU microseconds of the lane's thread; `undefined` below 50 µs of work, and where the host does not tell. */
  readonly cpuMicroseconds: number | undefined
  readonly input: Transit | undefined
  readonly result: Transit | undefined
  /** Tasks that were given to the lane at once with it, itself counted. */
  readonly batch: number
  /** How often it was begun. */
  readonly attempts: number
}

/**
 * How tasks overlapped.
 *
 * @category models
 * @since 0.1.0
 */
export interface Overlap {
  /** Milliseconds in which at least one task ran. */
  readonly busyMs: number
  /** The lengths of all tasks together. */
  readonly workMs: number
  /** Most tasks that ran at one moment. */
  readonly most: number
}

/**
 * Computes from records how their tasks overlapped: `workMs / busyMs` is how many ran at a time in the mean. Tasks that
 * were not run to their end do not count.
 *
 * @category measuring
 * @since 0.1.0
 */
export const overlapOf = (records: ReadonlyArray<TaskRecord>): Overlap => {
  const run = records.filter(({ end, start }) => end >= start)
  const borders = run.flatMap(({ end, start }) => [[start, 1], [end, -1]] as const)
  // At the same moment one ends before the other begins.
  const sorted = borders.sort(([at, step], [other, its]) => at - other || step - its)
  let [now, most, busyMs, since] = [0, 0, 0, 0]
  for (const [at, step] of sorted) {
    if (now === 0) since = at
    now += step
    most = Math.max(most, now)
    if (now === 0) busyMs += at - since
  }
  return { busyMs, workMs: run.reduce((sum, { end, start }) => sum + end - start, 0), most }
}

/**
 * The operations of {@link Tasks}.
 *
 * @category models
 * @since 0.1.0
 */
export interface TasksShape {
  /** Lanes that tasks run in; 1 where they run on the caller's own thread. */
  readonly lanes: number
  /**
   * Queues a task. Waits while as many tasks as there are credits have not ended. The input is copied when a lane takes
   * the task: leave it as it is until the task is joined.
   */
  readonly submit: (name: string, input: unknown, options?: TaskOptions) => Effect.Effect<Task>
  /** The task's result. An interruption ends the task, and only it. */
  readonly join: (task: Task) => Effect.Effect<unknown, TaskFailed | AuditMismatch>
  /** Submits a task for each input and joins them in order. The first one that fails, in order, ends the others. */
  readonly map: (
    name: string,
    inputs: ReadonlyArray<unknown>,
    options?: TaskOptions
  ) => Effect.Effect<ReadonlyArray<unknown>, TaskFailed | AuditMismatch>
  /** Queues a task from plain code, such as a host import. Throws a `TaskFailed` without credit. */
  readonly unsafeSubmit: (name: string, input: unknown, options?: TaskOptions) => Task
  /** Blocks the thread until the task has ended; lanes run on. Throws `TaskFailed` or `AuditMismatch`. */
  readonly unsafeJoin: (task: Task) => unknown
  /** What was measured of the newest tasks that have ended, at most {@link RECORDS} of them, in the order of their end. */
  readonly records: () => ReadonlyArray<TaskRecord>
}

/**
 * Most records that are kept.
 *
 * @category constants
 * @since 0.1.0
 */
export const RECORDS = 4_096

/**
 * Runs tasks.
 *
 * @category services
 * @since 0.1.0
 */
export class Tasks extends Context.Tag("folio/services/Tasks")<Tasks, TasksShape>() {}
