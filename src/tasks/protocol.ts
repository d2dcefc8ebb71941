/**
 * What owner and lanes of a task pool say to each other in shared words: to wake, and to tell how they stand. Tasks
 * and results themselves are in a mailbox a lane (`mailbox.ts`).
 *
 *     word 0            replies: lanes add one when there is something to read; the owner waits here
 *     word 1            1 while the owner sleeps and has to be woken
 *     words 16·(l+1)…   of lane l: {@link TaskWord}
 *
 * The owner stores the number of tasks that it has posted in `POSTED`, and wakes a lane whose `STATE` says that it
 * sleeps. Both sides first say that they sleep, then look once more, then sleep: no call is missed.
 *
 * @since 0.1.0
 */

/**
 * Word that lanes add to when there are replies.
 *
 * @category constants
 * @since 0.1.0
 */
export const REPLIES = 0

/**
 * Word that says whether the owner sleeps.
 *
 * @category constants
 * @since 0.1.0
 */
export const OWNER_SLEEPS = 1

/**
 * Words of one lane. Sixteen of them lie in a cache line of their own.
 *
 * @category constants
 * @since 0.1.0
 */
export const TASK_LANE_WORDS = 16

/**
 * Words of a lane, from its first one: tasks posted to it, replies that the owner has read, its state, its thread,
 * whether it is up, whether it has given up (a message says why), bytes of its newest reset, contexts retired, whether
 * the owner has more tasks for it than were posted.
 *
 * @category constants
 * @since 0.1.0
 */
export const TaskWord = {
  POSTED: 0,
  READ: 1,
  STATE: 2,
  THREAD: 3,
  READY: 4,
  FAILED: 5,
  RESET_BYTES: 6,
  RETIRED: 7,
  MORE: 8
} as const

/**
 * What a lane does.
 *
 * @category constants
 * @since 0.1.0
 */
export const TaskLaneState = { WORKS: 0, POLLS: 1, SLEEPS: 2 } as const

/**
 * Milliseconds that owner and lanes poll for what they expect at any moment, before they sleep: sleeping and being
 * woken takes about a third of it.
 *
 * @category constants
 * @since 0.1.0
 */
export const POLL_MILLISECONDS = 0.05

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
 * Tells the owner that there is something to read, and wakes it where it sleeps.
 *
 * @category waking
 * @since 0.1.0
 */
export const callOwner = (words: Int32Array<SharedArrayBuffer>): void => {
  Atomics.add(words, REPLIES, 1)
  if (Atomics.load(words, OWNER_SLEEPS) !== 0) Atomics.notify(words, REPLIES)
}

/**
 * Why a task failed in its lane.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskFault {
  readonly reason: "thrown" | "not-cloneable" | "unknown-task"
  readonly name: string
  readonly message: string
  /** Stack as text, with the frames of the guest. */
  readonly stack: string
}

/**
 * How a task ended.
 *
 * @category models
 * @since 0.1.0
 */
export type TaskOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false } & TaskFault

/**
 * A lane's message that it cannot work.
 *
 * @category models
 * @since 0.1.0
 */
export interface LaneFailure {
  readonly message: string
  readonly stack: string
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
