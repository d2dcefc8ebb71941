/**
 * Errors of contexts and tasks. They come from other threads, so they are `Schema` classes.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const remedies = {
  thrown: "Handle it in the task, or look at `frames`.",
  "not-cloneable": "Pass data: no functions, no objects with hidden state.",
  "unknown-task": "Name one of them.",
  timeout: "Give it more time, or less to do.",
  "lane-lost": "Ask for `onLaneLost: \"retry\"` if the task may run twice.",
  interrupted: "Nobody waited for it any more.",
  closed: "Submit inside the scope of the layer.",
  unusable: "Correct the program: no lane can load it.",
  "no-credit": "Join some of the tasks first, or raise `queue`."
} as const

/**
 * Why a task has no result.
 *
 * - `thrown`: its function threw; name, message and stack are those of what it threw
 * - `not-cloneable`: its input or its result cannot be posted
 * - `unknown-task`: the program has none of that name
 * - `timeout`, `interrupted`: it was ended, and only it
 * - `lane-lost`: its lane ended under it (`process.exit`, out of memory), and it was not to be retried, or too often
 * - `closed`: its pool was closed before
 * - `unusable`: lanes cannot load the program
 * - `no-credit`: the queue is full, and a synchronous caller cannot wait
 *
 * @category errors
 * @since 0.1.0
 */
export const TaskFailureReason = Schema.Literal(
  "thrown",
  "not-cloneable",
  "unknown-task",
  "timeout",
  "lane-lost",
  "interrupted",
  "closed",
  "unusable",
  "no-credit"
)

/**
 * A task has no result.
 *
 * @category errors
 * @since 0.1.0
 */
export class TaskFailed extends Schema.TaggedError<TaskFailed>("folio/TaskFailed")("TaskFailed", {
  task: Schema.String,
  reason: TaskFailureReason,
  /** Name of the error that was thrown. */
  errorName: Schema.String,
  detail: Schema.String,
  /** Stack of the error that was thrown, with the frames of the guest. */
  frames: Schema.String
}) {
  override get message(): string {
    return `task "${this.task}": ${this.errorName}: ${this.detail}. ${remedies[this.reason]}`
  }
}

/**
 * A task gave something else when it ran again in the joining thread: it depends on state that is not its own.
 *
 * @category errors
 * @since 0.1.0
 */
export class AuditMismatch extends Schema.TaggedError<AuditMismatch>("folio/AuditMismatch")("AuditMismatch", {
  task: Schema.String,
  /** First byte of the encoded results that differs. */
  byte: Schema.Number,
  laneBytes: Schema.Number,
  auditBytes: Schema.Number
}) {
  override get message(): string {
    return `task "${this.task}": its result differs from byte ${this.byte} on when it runs again ` +
      `(${this.laneBytes} and ${this.auditBytes} bytes). It depends on state that a reset does not put back: ` +
      `variables of the program, time or chance.`
  }
}

/**
 * A module cannot be used for contexts.
 *
 * @category errors
 * @since 0.1.0
 */
export class ContextRefused extends Schema.TaggedError<ContextRefused>("folio/ContextRefused")("ContextRefused", {
  reason: Schema.Literal("malformed", "collected-heap", "shared-memory", "address-space", "hidden-names", "policy"),
  detail: Schema.String
}) {
  override get message(): string {
    return `no contexts of this module: ${this.reason}: ${this.detail}. ` +
      `Open it with Folio.open, which keeps its state, or build it without what is named.`
  }
}
