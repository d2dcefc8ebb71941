/**
 * Where guard, dispatcher and chunks find each other's values in control memory.
 *
 *     byte 8192   frame: one 16-byte slot a captured value, a slot a step, then facts and ranges
 *     byte 53248  refusals: one word a plan
 *     byte 57344  results: 128 bytes a participant (0 = the owner, 1 + l = lane l)
 *     byte 61440  tickets: 64 blocks of 64 bytes, used in turn
 *     byte 65536  end
 *
 * A ticket hands out the pieces of one dispatch. Participants take the next piece by an atomic add, so a lane that
 * wakes up late simply gets fewer, or none.
 *
 * @since 0.1.0
 */

/** First byte of the frame, also in the lanes' layout. @category layout @since 0.1.0 */
export const FRAME = 8192

/** Bytes of a slot. @category layout @since 0.1.0 */
export const SLOT = 16

/** First byte of the refusals: a word a plan, why its guard last refused ({@link packRefusal}). @category layout @since 0.1.0 */
export const REFUSALS = 53248

/** First byte of the results. @category layout @since 0.1.0 */
export const RESULTS = 57344

/**
 * What the first word of a participant's results holds while it runs no piece, where pieces are kept; such loops have no
 * reductions.
 *
 * @category layout
 * @since 0.1.0
 */
export const NO_PIECE = -1

/** Bytes of results a participant. @category layout @since 0.1.0 */
export const RESULT_BYTES = 128

/** First byte of the tickets. @category layout @since 0.1.0 */
export const TICKETS = 61440

/** Bytes of a ticket: a cache line. @category layout @since 0.1.0 */
export const TICKET_BYTES = 64

/** Tickets before the first is used again. @category layout @since 0.1.0 */
export const TICKET_COUNT = 64

/** Bytes of a ticket's fields. @category layout @since 0.1.0 */
export const Ticket = {
  /** Next piece to hand out (atomic). */
  NEXT: 0,
  /** Pieces that are done (atomic). */
  FINISHED: 4,
  /** Iterations in all. */
  TOTAL: 8,
  /** Pieces to hand out; the piece numbers end here. */
  LIMIT: 12,
  /** Private windows of the dispatch; behind it a pair a window: first operating-system page, number of pages. */
  WINDOWS: 16,
  FIRST_WINDOW: 20,
  /** Not zero when a participant has ended early: no further piece is taken (atomic). */
  ABORT: 60
} as const

/**
 * What the guard tells of a group of stores that a dispatch may have to undo, six i64: where iteration 0 stores (low end,
 * high end), the step, where all iterations store (low end, high end), and, written by the dispatcher, the byte of
 * control memory at which the copy of the low end belongs; 0 when pieces do not copy the group.
 *
 * @category layout
 * @since 0.1.0
 */
export const Saved = { FIRST_LOW: 0, FIRST_HIGH: 8, STRIDE: 16, LOW: 24, HIGH: 32, COPY: 40, SLOTS: 3 } as const

/** Iterations of one piece, at most. @category layout @since 0.1.0 */
export const MAXIMUM_PIECE = 2 ** 24

/** Windows that a ticket has room for. @category layout @since 0.1.0 */
export const MAXIMUM_WINDOWS = 5

/** Bytes of an operating-system page: the unit of private windows. @category layout @since 0.1.0 */
export const PAGE_BYTES = 4096

/** Most slots and ranges that fit into the frame. @category layout @since 0.1.0 */
export const FRAME_SLOTS = (REFUSALS - FRAME) / SLOT

/** Plans that have a word among the refusals. @category layout @since 0.1.0 */
export const REFUSAL_WORDS = (RESULTS - REFUSALS) / 4

/** Reductions that fit into a participant's results. @category layout @since 0.1.0 */
export const MAXIMUM_REDUCTIONS = RESULT_BYTES / 8

/**
 * Slots of one plan.
 *
 * @category layout
 * @since 0.1.0
 */
export interface FrameLayout {
  /** Byte of captured value k. */
  readonly capture: (k: number) => number
  /** Byte of the step of variable k. */
  readonly step: (k: number) => number
  /** Byte of the facts of saved group k ({@link Saved}). */
  readonly saved: (k: number) => number
  /** Byte of range k: its low end, 8 bytes further its high end, both i64. */
  readonly range: (k: number) => number
  /** Byte of the number of iterations that run apart, i32. */
  readonly iterations: number
  /** Byte of what the last iteration leaves in handed local k. */
  readonly handed: (k: number) => number
  /** Slots taken in all. */
  readonly slots: number
}

/** The layout of a plan with these many captures, variables, saved groups, ranges and handed locals. @category layout @since 0.1.0 */
export const frameLayout = (
  captures: number,
  variables: number,
  saved: number,
  ranges: number,
  handed: number
): FrameLayout => ({
  capture: (k) => FRAME + SLOT * k,
  step: (k) => FRAME + SLOT * (captures + k),
  saved: (k) => FRAME + SLOT * (captures + variables + Saved.SLOTS * k),
  range: (k) => FRAME + SLOT * (captures + variables + Saved.SLOTS * saved + k),
  iterations: FRAME + SLOT * (captures + variables + Saved.SLOTS * saved + ranges),
  handed: (k) => FRAME + SLOT * (captures + variables + Saved.SLOTS * saved + ranges + 1 + k),
  slots: captures + variables + Saved.SLOTS * saved + ranges + 1 + handed
})
