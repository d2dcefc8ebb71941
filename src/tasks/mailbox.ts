/**
 * What an owner and one lane share: a slot for each task on its way, and room for payloads in both directions.
 *
 *     slots      256 of 128 bytes, used one after the other and again
 *     inputs     bump arena of the owner, who hands out when it posts and takes back with the reply
 *     results    bump arena of the lane, who takes back what the owner has read
 *
 * A slot is its state, what the owner says, what the lane answers, and the times of both. Whoever stores the state has
 * stored all the rest before:
 *
 *     FREE ─owner→ POSTED ─lane→ TAKEN ─lane→ DONE ─owner→ FREE
 *                    └─owner→ WITHDRAWN ─lane→ PASSED ─owner→ FREE
 *
 * A task that no lane has taken can be withdrawn at any time, and one that is done is done even where its lane has ended.
 *
 * @since 0.1.0
 */
import { BumpArena } from "./arena.ts"

/**
 * Slots of a mailbox: most tasks that a lane has been given and the owner has not heard of again.
 *
 * @category constants
 * @since 0.1.0
 */
export const SLOTS = 256

/**
 * Bytes from which a payload goes as a message: up to here the copies through an arena take less time.
 *
 * @category constants
 * @since 0.1.0
 */
export const ARENA_PAYLOAD = 16_384

/** Bytes of a slot: two lines of cache. */
const SLOT_BYTES = 128
const SLOT_WORDS = SLOT_BYTES / 4
const SLOT_DOUBLES = SLOT_BYTES / 8

/** Room for payloads in one direction. Its pages take no memory before they are used. */
const ARENA_BYTES = 524_288

/**
 * States of a slot.
 *
 * @category constants
 * @since 0.1.0
 */
export const SlotState = { FREE: 0, POSTED: 1, TAKEN: 2, DONE: 3, WITHDRAWN: 4, PASSED: 5 } as const

/**
 * Words of a slot.
 *
 * @category layout
 * @since 0.1.0
 */
export const SlotWord = {
  STATE: 0,
  /** Number of the task's name, and where the name stands when its lane is told of it; -1 when it knows it. */
  NAME: 1,
  NAME_AT: 10,
  /** 1: the context keeps the state that the task leaves. */
  KEEP: 2,
  INPUT_WAY: 3,
  INPUT_AT: 4,
  INPUT_BYTES: 5,
  /** 1: the result is a failure. */
  FAILED: 6,
  RESULT_WAY: 7,
  RESULT_AT: 8,
  RESULT_BYTES: 9,
  /** 1: somebody waits for this task by itself. */
  HASTE: 11
} as const

/**
 * Doubles of a slot, behind its words. Times are milliseconds; `START` and `END` since the owner's thread began.
 *
 * @category layout
 * @since 0.1.0
 */
export const SlotTime = {
  START: 8,
  END: 9,
  /** Microseconds of the lane's thread, or NaN. */
  CPU: 10,
  INPUT_ENCODE: 11,
  INPUT_POST: 12,
  INPUT_DECODE: 13,
  RESULT_ENCODE: 14,
  RESULT_POST: 15
} as const

/**
 * How a payload goes.
 *
 * - `CODED`: in the arena, by `codec.ts`
 * - `SERIALIZED`: in the arena, by the engine's serialiser
 * - `POSTED_BYTES`: a message of bytes of the engine's serialiser
 * - `POSTED`: a message as it is
 * - `MOVED`: the same, with buffers that are handed over
 *
 * @category constants
 * @since 0.1.0
 */
export const Way = { CODED: 0, SERIALIZED: 1, POSTED_BYTES: 2, POSTED: 3, MOVED: 4 } as const

/**
 * The shared memory of a mailbox.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeMailbox = (): SharedArrayBuffer => new SharedArrayBuffer(SLOTS * SLOT_BYTES + 2 * ARENA_BYTES)

/**
 * A mailbox as either side sees it.
 *
 * @category models
 * @since 0.1.0
 */
export class Mailbox {
  readonly bytes: Uint8Array<SharedArrayBuffer>
  readonly words: Int32Array<SharedArrayBuffer>
  readonly times: Float64Array<SharedArrayBuffer>

  constructor(buffer: SharedArrayBuffer) {
    this.bytes = new Uint8Array(buffer)
    this.words = new Int32Array(buffer, 0, SLOTS * SLOT_WORDS)
    this.times = new Float64Array(buffer, 0, SLOTS * SLOT_DOUBLES)
  }

  /** First word of the slot of the task with this number, counted from 0 in the order of posting. */
  slot(number: number): number {
    return (number & (SLOTS - 1)) * SLOT_WORDS
  }

  /** First double of the slot. */
  time(number: number): number {
    return (number & (SLOTS - 1)) * SLOT_DOUBLES
  }

  state(number: number): number {
    return Atomics.load(this.words, this.slot(number) + SlotWord.STATE)
  }

  setState(number: number, state: number): void {
    Atomics.store(this.words, this.slot(number) + SlotWord.STATE, state)
  }

  /** Goes from one state to the next, unless the other side was first. */
  advance(number: number, from: number, to: number): boolean {
    return Atomics.compareExchange(this.words, this.slot(number) + SlotWord.STATE, from, to) === from
  }
}

/**
 * Room for inputs, which the owner hands out.
 *
 * @category constructors
 * @since 0.1.0
 */
export const inputArena = (): BumpArena => new BumpArena(SLOTS * SLOT_BYTES, ARENA_BYTES, SLOTS)

/**
 * Room for results, which the lane hands out.
 *
 * @category constructors
 * @since 0.1.0
 */
export const resultArena = (): BumpArena => new BumpArena(SLOTS * SLOT_BYTES + ARENA_BYTES, ARENA_BYTES, SLOTS)
