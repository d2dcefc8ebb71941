/**
 * Tickets: which pieces of a loop are to be taken, in the control memory (`plan/frame.ts`).
 *
 * @since 0.1.0
 */
import { Ticket, TICKET_BYTES, TICKET_COUNT, TICKETS } from "../plan/frame.ts"
import type { LaneGroup } from "./lanes.ts"

/**
 * A ticket in use: pieces of `piece` iterations, from piece `from` on, of `total` iterations.
 *
 * @category models
 * @since 0.1.0
 */
export interface Issued {
  readonly ticket: number
  readonly from: number
  readonly piece: number
  readonly total: number
}

/**
 * The tickets of one owner.
 *
 * @category models
 * @since 0.1.0
 */
export class Tickets {
  readonly #lanes: LaneGroup
  readonly #words: Int32Array
  #next = 1
  #issued: Array<Issued> = []

  constructor(lanes: LaneGroup) {
    this.#lanes = lanes
    this.#words = new Int32Array(lanes.control.buffer)
  }

  /** Iterations of a piece of this dispatch, which are the same for all of its tickets. */
  get piece(): number {
    return this.#issued.at(-1)?.piece ?? 0
  }

  /** Begins a dispatch. */
  begin(): void {
    this.#issued = []
  }

  /** A fresh ticket for pieces `from` … `limit` − 1; it is used again only when no lane can still hold it. */
  issue(iterations: number, from: number, limit: number, piece: number): number {
    const lanes = this.#lanes
    if (this.#next >= TICKET_COUNT) {
      this.#next = 1
      const ready = lanes.ready()
      for (let lane = 0; lane < ready; lane++) if (lanes.idle?.(lane) === false) lanes.join(lane)
    }
    const ticket = TICKETS + TICKET_BYTES * this.#next++
    const at = ticket >> 2
    this.#words[at + (Ticket.TOTAL >> 2)] = iterations
    this.#words[at + (Ticket.LIMIT >> 2)] = limit
    this.#words[at + (Ticket.WINDOWS >> 2)] = 0
    Atomics.store(this.#words, at + (Ticket.ABORT >> 2), 0)
    Atomics.store(this.#words, at + (Ticket.FINISHED >> 2), 0)
    Atomics.store(this.#words, at + (Ticket.NEXT >> 2), from)
    this.#issued.push({ ticket, from, piece, total: iterations })
    return ticket
  }

  /** Iterations of this dispatch that were begun: first and count of each piece. */
  *begun(): Generator<readonly [first: number, count: number]> {
    for (const { from, piece, ticket, total } of this.#issued) {
      const next = Atomics.load(this.#words, (ticket + Ticket.NEXT) >> 2)
      const end = Math.min(next, this.#words[(ticket + Ticket.LIMIT) >> 2])
      for (let k = from; k < end; k++) yield [k * piece, Math.min(piece, total - k * piece)]
    }
  }
}
