/**
 * What was measured of the newest tasks, in columns, so that keeping it allocates nothing.
 *
 * @since 0.1.0
 */
import { RECORDS, type TaskRecord, type Transit } from "../../services/Tasks.ts"
import { type Mailbox, SlotTime, SlotWord, Way } from "../../src/tasks/mailbox.ts"
import type { PoolTask } from "./task-queue.ts"

const Column = {
  ID: 0,
  LANE: 1,
  SUBMITTED: 2,
  START: 3,
  END: 4,
  CPU: 5,
  BATCH: 6,
  ATTEMPTS: 7,
  INPUT: 8,
  RESULT: 13
} as const

/** Numbers of a way: which, bytes, and the three times. */
const WIDTH = Column.RESULT + 5

/** Number of no way: the value went nowhere. */
const NOWHERE = -1

/**
 * A ring of {@link RECORDS} records.
 *
 * @category models
 * @since 0.1.0
 */
export class TaskRecords {
  readonly #rows = new Float64Array(RECORDS * WIDTH)
  readonly #names = new Array<string>(RECORDS).fill("")
  #count = 0

  /** Adds a task that has ended in no lane. */
  addWithout(task: PoolTask): void {
    const row = this.#begin(task)
    this.#rows.fill(Number.NaN, row + Column.START, row + Column.CPU + 1)
    this.#rows[row + Column.INPUT] = NOWHERE
    this.#rows[row + Column.RESULT] = NOWHERE
  }

  /** Adds a task that has ended in a lane, by what its slot says. */
  add(task: PoolTask, mailbox: Mailbox, decodeMs: number): void {
    const { times, words } = mailbox
    const row = this.#begin(task)
    const rows = this.#rows
    const slot = mailbox.slot(task.number)
    const time = mailbox.time(task.number)
    rows[row + Column.START] = times[time + SlotTime.START]
    rows[row + Column.END] = times[time + SlotTime.END]
    rows[row + Column.CPU] = times[time + SlotTime.CPU]
    rows[row + Column.INPUT] = words[slot + SlotWord.INPUT_WAY]
    rows[row + Column.INPUT + 1] = words[slot + SlotWord.INPUT_BYTES]
    rows[row + Column.INPUT + 2] = times[time + SlotTime.INPUT_ENCODE]
    rows[row + Column.INPUT + 3] = times[time + SlotTime.INPUT_POST]
    rows[row + Column.INPUT + 4] = times[time + SlotTime.INPUT_DECODE]
    rows[row + Column.RESULT] = words[slot + SlotWord.RESULT_WAY]
    rows[row + Column.RESULT + 1] = words[slot + SlotWord.RESULT_BYTES]
    rows[row + Column.RESULT + 2] = times[time + SlotTime.RESULT_ENCODE]
    rows[row + Column.RESULT + 3] = times[time + SlotTime.RESULT_POST]
    rows[row + Column.RESULT + 4] = decodeMs
  }

  /** The records, oldest first. */
  list(): ReadonlyArray<TaskRecord> {
    const length = Math.min(this.#count, RECORDS)
    return Array.from({ length }, (_, index) => this.#record((this.#count - length + index) % RECORDS))
  }

  #begin(task: PoolTask): number {
    const index = this.#count++ % RECORDS
    const row = index * WIDTH
    this.#names[index] = task.name
    this.#rows[row + Column.ID] = task.id
    this.#rows[row + Column.LANE] = task.lane
    this.#rows[row + Column.SUBMITTED] = task.submitted
    this.#rows[row + Column.BATCH] = task.batch
    this.#rows[row + Column.ATTEMPTS] = task.attempts
    return row
  }

  #record(index: number): TaskRecord {
    const row = index * WIDTH
    const at = (column: number): number => this.#rows[row + column]
    const cpu = at(Column.CPU)
    const { timeOrigin: origin } = performance
    return {
      id: at(Column.ID),
      name: this.#names[index],
      lane: at(Column.LANE),
      submitted: origin + at(Column.SUBMITTED),
      start: origin + at(Column.START),
      end: origin + at(Column.END),
      cpuMicroseconds: Number.isNaN(cpu) ? undefined : cpu,
      input: this.#transit(row + Column.INPUT),
      result: this.#transit(row + Column.RESULT),
      batch: at(Column.BATCH),
      attempts: at(Column.ATTEMPTS)
    }
  }

  #transit(at: number): Transit | undefined {
    const [way, bytes, encodeMs, postMs, decodeMs] = this.#rows.subarray(at, at + 5)
    return way === NOWHERE
      ? undefined
      : { way: WAYS[way], bytes: bytes < 0 ? undefined : bytes, encodeMs, postMs, decodeMs }
  }
}

const WAYS: Readonly<Record<number, Transit["way"]>> = {
  [Way.CODED]: "arena",
  [Way.SERIALIZED]: "arena",
  [Way.POSTED_BYTES]: "message",
  [Way.POSTED]: "message",
  [Way.MOVED]: "transfer"
}
