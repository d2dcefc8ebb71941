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
 * A task's end. Times are milliseconds since the epoch.
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
 * What a lane posts: a flat list ({@link encodeReplies}), or that it came up or did not.
 *
 * @category models
 * @since 0.1.0
 */
export type LaneReply =
  | ReadonlyArray<unknown>
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly message: string; readonly stack: string }

/**
 * Elements of one task in a flat list.
 *
 * @category constants
 * @since 0.1.0
 */
export const TASK_ELEMENTS = 4

/**
 * A batch as a flat list: a list of objects takes the structured clone three times as long.
 *
 * @category encoding
 * @since 0.1.0
 */
export const encodeTasks = (tasks: ReadonlyArray<TaskMessage>): Array<unknown> => {
  const flat: Array<unknown> = []
  for (const { id, input, keep, name } of tasks) flat.push(id, name, input, keep)
  return flat
}

/**
 * The task at an index of a flat list, a multiple of {@link TASK_ELEMENTS}.
 *
 * @category decoding
 * @since 0.1.0
 */
export const taskAt = (flat: ReadonlyArray<unknown>, index: number): TaskMessage => ({
  id: flat[index] as number,
  name: flat[index + 1] as string,
  input: flat[index + 2],
  keep: flat[index + 3] as boolean
})

/** Elements of one reply in a flat list. */
const REPLY_ELEMENTS = 4

/**
 * Ends of tasks as a flat list: CPU microseconds of all of them together, then id, start, end and outcome of each. The
 * outcome is the value itself in a list of one, or the failure.
 *
 * @category encoding
 * @since 0.1.0
 */
export const encodeReplies = (replies: ReadonlyArray<TaskReply>, cpu: number | undefined): Array<unknown> => {
  const flat: Array<unknown> = [cpu]
  for (const { end, id, outcome, start } of replies) {
    flat.push(id, start, end, outcome.ok ? [outcome.value] : outcome)
  }
  return flat
}

/**
 * The ends of tasks in a flat list. Their CPU time is shared out by their lengths.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeReplies = (flat: ReadonlyArray<unknown>): ReadonlyArray<TaskReply> => {
  const total = flat[0] as number | undefined
  const replies: Array<TaskReply & { cpu: number | undefined }> = []
  let length = 0
  for (let at = 1; at < flat.length; at += REPLY_ELEMENTS) {
    const [start, end, ended] = [flat[at + 1] as number, flat[at + 2] as number, flat[at + 3]]
    const outcome: TaskOutcome = Array.isArray(ended) ? { ok: true, value: ended[0] } : ended as TaskOutcome
    length += end - start
    replies.push({ id: flat[at] as number, outcome, start, end, cpu: total })
  }
  if (total === undefined || replies.length === 1) return replies
  for (const reply of replies) {
    reply.cpu = length > 0 ? total * (reply.end - reply.start) / length : total / replies.length
  }
  return replies
}

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
