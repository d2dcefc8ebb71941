/**
 * What owner and lanes of a task pool say to each other: words in shared memory to wake and to tell, messages for
 * everything that has a size.
 *
 *     word 0            replies: a lane adds one after each message to the owner, who waits here
 *     words 16·(l+1)…   of lane l: posted, started, thread, ready, bytes of the newest reset, contexts retired
 *
 * The owner posts a batch of tasks and adds one to `posted`; a lane without work waits there. Before each task the lane
 * stores its number in `started`, so that the owner knows which task a lane was at when it ended.
 *
 * @since 0.1.0
 */

/**
 * Word that lanes add to after each reply.
 *
 * @category constants
 * @since 0.1.0
 */
export const REPLIES = 0

/**
 * Words of one lane. Sixteen of them lie in a cache line of their own.
 *
 * @category constants
 * @since 0.1.0
 */
export const TASK_LANE_WORDS = 16

/**
 * Words of a lane, from its first one.
 *
 * @category constants
 * @since 0.1.0
 */
export const TaskWord = { POSTED: 0, STARTED: 1, THREAD: 2, READY: 3, RESET_BYTES: 4, RETIRED: 5 } as const

/**
 * Name of a task that does nothing, behind which a kept context is put back.
 *
 * @category constants
 * @since 0.1.0
 */
export const RESET_TASK = ""

/**
 * First word of a lane.
 *
 * @category layout
 * @since 0.1.0
 */
export const taskLaneBase = (lane: number): number => TASK_LANE_WORDS * (lane + 1)

/**
 * Shared words for some lanes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeTaskWords = (lanes: number): Int32Array<SharedArrayBuffer> =>
  new Int32Array(new SharedArrayBuffer(4 * TASK_LANE_WORDS * (lanes + 1)))

/**
 * One task on its way to a lane.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskMessage {
  readonly id: number
  readonly name: string
  readonly input: unknown
  /** Keep the state that the task leaves: an acquired context resets when it is told to. */
  readonly keep: boolean
}

/**
 * How a task ended.
 *
 * @category models
 * @since 0.1.0
 */
export type TaskOutcome =
  | { readonly ok: true; readonly value: unknown }
  | {
    readonly ok: false
    readonly reason: "thrown" | "not-cloneable" | "unknown-task"
    readonly name: string
    readonly message: string
    /** Stack as text, with the frames of the guest. */
    readonly stack: string
  }

/**
 * A task's end as a lane posts it. Times are milliseconds since the epoch.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskReply {
  readonly id: number
  readonly outcome: TaskOutcome
  readonly start: number
  readonly end: number
  /** CPU microseconds of the lane's thread, where the host tells. */
  readonly cpu: number | undefined
}

/**
 * What a lane posts.
 *
 * @category models
 * @since 0.1.0
 */
export type LaneReply =
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly message: string; readonly stack: string }
  | { readonly kind: "done"; readonly replies: ReadonlyArray<TaskReply> }

/**
 * An error as data.
 *
 * @category encoding
 * @since 0.1.0
 */
export const describeError = (
  error: unknown
): { readonly name: string; readonly message: string; readonly stack: string } => {
  if (error instanceof Error) {
    return { name: String(error.name), message: String(error.message), stack: String(error.stack ?? error) }
  }
  return { name: "Error", message: String(error), stack: String(error) }
}
