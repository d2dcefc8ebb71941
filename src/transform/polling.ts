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
 *       (local.set $steps (i32.sub (local.get $steps) (i32.const 1)))
 *       (if (i32.eqz (local.get $steps)) (then
 *         (if (i32.or (i32.atomic.load $control (…ABORT…)) (i32.eqz (…one poll less…))) (then (unreachable)))
 *         (local.set $steps (i32.const 65536))))
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
 * Emits the looks of one chunk module. What they count lies in locals where all of them stand in `run`, else in globals.
 *
 * @category transforms
 * @since 0.1.0
 */
export class Polling {
  readonly #inRun: boolean
  readonly #ticket: number
  readonly #steps: number
  readonly #polls: number

  constructor(inRun: boolean, own: (type: ValueType) => number) {
    this.#inRun = inRun
    this.#ticket = own("i32")
    this.#steps = own("i32")
    this.#polls = own("i32")
  }

  #get(code: Assembler, index: number): Assembler {
    return this.#inRun ? code.get(index) : code.getGlobal(index)
  }

  #set(code: Assembler, index: number): Assembler {
    return this.#inRun ? code.set(index) : code.setGlobal(index)
  }

  /** At the start of a function whose first parameter is the ticket. */
  enter(code: Assembler): void {
    this.#set(code.get(0), this.#ticket)
  }

  /** At the start of a piece. */
  start(code: Assembler): void {
    this.#set(code.i32(STEPS), this.#steps)
    this.#set(code.i32(POLLS), this.#polls)
  }

  /** At the head of an inner loop. */
  poll(code: Assembler): void {
    this.#set(this.#get(code, this.#steps).i32(1).op(0x6b), this.#steps)
    this.#get(code, this.#steps).op(0x45).if()
    this.#set(this.#get(code, this.#polls).i32(1).op(0x6b), this.#polls)
    this.#get(code, this.#ticket).atomic(0x10, CONTROL, Ticket.ABORT)
    this.#get(code, this.#polls).op(0x45).op(0x72).if().op(0x00).end()
    this.#set(code.i32(STEPS), this.#steps)
    code.end()
  }
}
