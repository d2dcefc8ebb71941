/**
 * Runs a task of a program, wherever that is: its end is data, whatever it does.
 *
 * @since 0.1.0
 */
import type { Guest, TaskProgram } from "./context.ts"
import { describeError, RESET_TASK, type TaskOutcome } from "./protocol.ts"

/**
 * A value as it is sent: the structured clone of a view takes all of its buffer along, so of a part only the part is kept.
 *
 * @category encoding
 * @since 0.1.0
 */
export const compact = (value: unknown): unknown =>
  ArrayBuffer.isView(value) && !(value instanceof DataView) && value.byteLength < value.buffer.byteLength
    ? (value as Uint8Array).slice()
    : value

const unknownTask = (program: TaskProgram, name: string): TaskOutcome => {
  if (name === RESET_TASK) return { ok: true, value: undefined }
  const message = `there is no task ${JSON.stringify(name)}; there are ${Object.keys(program.tasks).join(", ")}`
  return { ok: false, reason: "unknown-task", name: "TypeError", message, stack: message }
}

const succeeded = (value: unknown): TaskOutcome => ({ ok: true, value: compact(value) })
const failed = (error: unknown): TaskOutcome => ({ ok: false, reason: "thrown", ...describeError(error) })

/**
 * Runs the task of a name. A promise only where the task returns one.
 *
 * @category running
 * @since 0.1.0
 */
export const runTask = (
  program: TaskProgram,
  name: string,
  input: unknown,
  guest: Guest | undefined
): TaskOutcome | Promise<TaskOutcome> => {
  const task = Object.hasOwn(program.tasks, name) ? program.tasks[name] : undefined
  if (task === undefined) return unknownTask(program, name)
  try {
    const value = task(input as never, guest as Guest)
    return value instanceof Promise ? value.then(succeeded, failed) : succeeded(value)
  } catch (error) {
    return failed(error)
  }
}
