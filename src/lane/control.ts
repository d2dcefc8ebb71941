/**
 * The words through which an owner and its lanes speak.
 *
 * One shared memory of one page per owner:
 *
 *     byte 0      lane 0: 64 words (256 bytes, four cache lines, so that lanes do not share one)
 *     byte 256    lane 1
 *     …
 *     byte 7936   lane 31
 *     byte 8192   frame, results and tickets of the dispatch in flight (`src/plan/frame.ts`)
 *     byte 65536  end
 *
 * A command is handed over by writing its arguments, then `SEQUENCE + 1`; the lane acknowledges it by storing that
 * number to `DONE`. Both stores are atomic and so order everything that was written before them.
 *
 * @since 0.1.0
 */
import { FRAME } from "../plan/frame.ts"

/**
 * First word of a lane's block: "FOLI" in little-endian bytes. A lane that finds another value refuses to attach.
 *
 * @category constants
 * @since 0.1.0
 */
export const CONTROL_MAGIC = 0x494c4f46

/**
 * Version of this layout. Owner and lane must agree on it.
 *
 * @category constants
 * @since 0.1.0
 */
export const CONTROL_VERSION = 1

/**
 * Most lanes that one control memory has room for.
 *
 * @category constants
 * @since 0.1.0
 */
export const MAXIMUM_LANES = 32

/**
 * Words (of four bytes) in the block of one lane.
 *
 * @category constants
 * @since 0.1.0
 */
export const LANE_WORDS = 64

/**
 * Byte at which the frame of the chunk in flight begins.
 *
 * @category constants
 * @since 0.1.0
 */
export const FRAME_BYTE = FRAME

/**
 * Bytes of the control memory: one WebAssembly page.
 *
 * @category constants
 * @since 0.1.0
 */
export const CONTROL_BYTES = 65536

/**
 * Most pages of the control memory: the first is laid out as above, the others (256 MiB) take copies of bytes that a
 * dispatch may have to put back. Only those in use are ever committed.
 *
 * @category constants
 * @since 0.1.0
 */
export const CONTROL_MAXIMUM_PAGES = 4097

/**
 * Index of each word inside a lane's block. Words 0 to 15 are fixed for this version.
 *
 * @category layout
 * @since 0.1.0
 */
export const Word = {
  /** {@link CONTROL_MAGIC}, written by the owner. */
  MAGIC: 0,
  /** {@link CONTROL_VERSION}, written by the owner. */
  VERSION: 1,
  /** What to do: an {@link Opcode}. */
  OPCODE: 2,
  /** Number of the newest command, counted up by the owner. */
  SEQUENCE: 3,
  /** Number of the newest command that the lane has finished. */
  DONE: 4,
  /** What the lane does now: a {@link LaneState}. */
  STATE: 5,
  /** How the newest command ended: a {@link LaneError}. */
  ERROR: 6,
  /** RUN: slot of the kernel. */
  KERNEL: 7,
  /** RUN: first argument of the chunk: the byte of a ticket (or, without tickets, the first iteration). */
  START: 8,
  /** RUN: second argument of the chunk: iterations of a piece (or, without tickets, how many). */
  COUNT: 9,
  /** RUN: byte of the control memory at which reduction results are left. */
  OUT: 10,
  /** CPU on which the lane ran when it finished its newest command; -1 unknown. */
  CPU: 11,
  /** Operating-system thread id of the lane; 0 unknown. */
  TID: 12,
  /** Microseconds that the lane spins for a command before it sleeps; 0 never spins. */
  SPIN_US: 13,
  /** 1 while the owner sleeps on {@link Word.DONE} and wants to be notified. */
  OWNER_WAITING: 14,
  /** Not used in this version. */
  RESERVED: 15
} as const

/**
 * Commands, in {@link Word.OPCODE}.
 *
 * @category layout
 * @since 0.1.0
 */
export const Opcode = {
  /** No command yet. */
  NONE: 0,
  /** Run kernel `KERNEL` with `START`, `COUNT` and `OUT`. */
  RUN: 1,
  /** Read one message: kernels and memories to attach or to drop. */
  LOAD: 2,
  /** Leave. */
  STOP: 3
} as const

/**
 * States of a lane, in {@link Word.STATE}.
 *
 * @category layout
 * @since 0.1.0
 */
export const LaneState = {
  /** The thread has not read its control words yet. */
  STARTING: 0,
  /** Waits for a command and polls for it. */
  SPINNING: 1,
  /** Waits for a command in `Atomics.wait`. */
  SLEEPING: 2,
  /** Carries out a command. */
  RUNNING: 3,
  /** Has left, or is about to. */
  STOPPED: 4
} as const

/**
 * Outcomes of a command, in {@link Word.ERROR}.
 *
 * @category layout
 * @since 0.1.0
 */
export const LaneError = {
  /** Carried out. */
  NONE: 0,
  /** RUN: the chunk trapped; memory holds what it wrote before. */
  TRAP: 1,
  /** LOAD: a kernel or memory could not be attached. */
  LOAD: 2
} as const

/**
 * Microseconds that a waiting lane or owner polls before it sleeps. A wake-up through the kernel costs 5 to 50 µs
 * here, so polling longer than about one wake-up cannot pay for a single missed command.
 *
 * @category constants
 * @since 0.1.0
 */
export const SPIN_MICROSECONDS = 50

/**
 * Index of a word of a lane in an `Int32Array` over the whole control memory.
 *
 * @category layout
 * @since 0.1.0
 */
export const laneWord = (lane: number, word: number): number => lane * LANE_WORDS + word

/**
 * Makes a control memory with the blocks of `lanes` lanes initialised.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeControl = (lanes: number): WebAssembly.Memory => {
  if (lanes > MAXIMUM_LANES) throw new RangeError(`at most ${MAXIMUM_LANES} lanes, not ${lanes}`)
  const control = new WebAssembly.Memory({ initial: 1, maximum: CONTROL_MAXIMUM_PAGES, shared: true })
  const words = new Int32Array(control.buffer)
  for (let lane = 0; lane < lanes; lane++) {
    words[laneWord(lane, Word.MAGIC)] = CONTROL_MAGIC
    words[laneWord(lane, Word.VERSION)] = CONTROL_VERSION
    words[laneWord(lane, Word.CPU)] = -1
  }
  return control
}
