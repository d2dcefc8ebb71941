/**
 * Inner loops whose length nobody knows, in loops that may end early.
 *
 * Behind an early exit a lane works on iterations that serially never happen, and there an inner loop might run for ever.
 * An earlier iteration has then left the loop or will: its participant sets the ticket's `ABORT`, for it runs iterations
 * that do happen, and they end. So it is enough that such a loop looks at the ticket now and then. Where pieces follow
 * each other on one thread the earlier one may come later; a bound of the steps that a piece may take ends that, too.
 *
 * before
 *
 *     (loop $inner body…)
 *
 * after
 *
 *     (loop $inner
 *       (global.set $steps (i32.sub (global.get $steps) (i32.const 1)))
 *       (if (i32.eqz (global.get $steps)) (then
 *         (if (i32.or (i32.atomic.load $control (…ABORT…)) (i32.eqz (…one poll less…))) (then (unreachable)))
 *         (global.set $steps (i32.const 65536))))
 *       body…)
 *
 * @since 0.1.0
 */
import type { ValueType } from "../binary/module.ts"
import { Ticket } from "../plan/frame.ts"
import { type Assembler, CONTROL } from "./assembler.ts"

/** Rounds of inner loops between two looks at the ticket: tens of microseconds. */
const STEPS = 1 << 16

/** Looks that a piece may take: beyond about 2²⁶ rounds the serial loop is asked. */
const POLLS = 1 << 10

/**
 * Emits the looks of one chunk module; three globals from `first` on belong to it.
 *
 * @category transforms
 * @since 0.1.0
 */
export class Polling {
  /** Types of its globals: the ticket, steps and polls that are left. */
  static readonly globals: ReadonlyArray<ValueType> = ["i32", "i32", "i32"]
  readonly #ticket: number
  readonly #steps: number
  readonly #polls: number

  constructor(first: number) {
    this.#ticket = first
    this.#steps = first + 1
    this.#polls = first + 2
  }

  /** At the start of `run`, whose first parameter is the ticket. */
  enter(code: Assembler): void {
    code.get(0).setGlobal(this.#ticket)
  }

  /** At the start of a piece. */
  start(code: Assembler): void {
    code.i32(STEPS).setGlobal(this.#steps).i32(POLLS).setGlobal(this.#polls)
  }

  /** At the head of an inner loop. */
  poll(code: Assembler): void {
    code.getGlobal(this.#steps).i32(1).op(0x6b).setGlobal(this.#steps)
    code.getGlobal(this.#steps).op(0x45).if()
    code.getGlobal(this.#polls).i32(1).op(0x6b).setGlobal(this.#polls)
    code.getGlobal(this.#ticket).atomic(0x10, CONTROL, Ticket.ABORT).getGlobal(this.#polls).op(0x45).op(0x72)
    code.if().op(0x00).end()
    code.i32(STEPS).setGlobal(this.#steps)
    code.end()
  }
}
