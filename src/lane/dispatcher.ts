/**
 * The owner's side of a dispatch.
 *
 *     guest loop ── guard (wasm) ── dispatch(plan, M, units)
 *                                      │ worth it? mapped? loaded?        no → 0: the loop runs natively
 *                                      │ snapshot, when a chunk can end early
 *                                      │ ticket: pieces of the M iterations
 *                                      │ fork lanes; take pieces along with them
 *                                      │ all pieces finished               → M
 *                                      └ a chunk ended early               → bytes put back, what came before it or 0
 *
 * Everything here is synchronous and on the owner's thread. A dispatch returns with no piece outstanding.
 *
 * @since 0.1.0
 */
import {
  MAXIMUM_PIECE,
  NO_PIECE,
  REFUSAL_WORDS,
  REFUSALS,
  RESULT_BYTES,
  RESULTS,
  Ticket,
  TICKETS
} from "../plan/frame.ts"
import { NEVER } from "../plan/hidden.ts"
import type { PlannedLoop } from "../plan/types.ts"
import type { Attachment, LoopState } from "./attachment.ts"
import { HeldLoops } from "./held.ts"
import type { LaneGroup, MappedMemory } from "./lanes.ts"
import type { Policy } from "./monitor.ts"
import { stackProbe } from "./room.ts"
import { placeCopies, putBack, WholeCopy, wholeRanges } from "./snapshot.ts"
import { Tickets } from "./tickets.ts"
import { pagesAround, windowRanges } from "./windows.ts"

/**
 * What a host provides.
 *
 * @category models
 * @since 0.1.0
 */
export interface DispatcherHost {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  /** Milliseconds in which the thread was busy: a clock that stands still while it waits for events. */
  readonly busy: () => number
  /** Compiles with the engine's own constructor; `hot` code should be optimised at once where the host can. */
  readonly compile: (bytes: Uint8Array, hot: boolean) => WebAssembly.Module
  /** Instantiates with the engine's own constructor. */
  readonly instantiate: (module: WebAssembly.Module, imports: WebAssembly.Imports) => WebAssembly.Instance
  /** Runs something later without keeping the program alive. */
  readonly later: (milliseconds: number, run: () => void) => void
}

/**
 * How pieces are shared out: `shared`, whoever is free takes the next; `fixed`, one piece a participant, the last one
 * the owner's (for lanes that are turns of the owner's thread).
 *
 * @category models
 * @since 0.1.0
 */
export type Partition = "shared" | "fixed"

/**
 * A lane was lost while its chunk wrote memory that cannot be restored: the memory may hold any part of what the chunk
 * would have written. The instance must not be used any more.
 *
 * @category errors
 * @since 0.1.0
 */
export class LaneLostError extends Error {
  readonly _tag = "LaneLost"
  override readonly name = "LaneLostError"

  constructor(loop: PlannedLoop) {
    const where = loop.functionName ?? `function ${loop.functionIndex}`
    super(
      `a lane was lost inside the loop at offset ${loop.offset} of ${where}; ` +
        "the instance's memory is not reliable any more: open the program again"
    )
  }
}

/**
 * One dispatch, for timelines. Times in milliseconds of the host's clock.
 *
 * @category models
 * @since 0.1.0
 */
export interface DispatchRecord {
  readonly plan: number
  readonly iterations: number
  readonly start: number
  /** When the owner had no piece left to take. */
  readonly ownerEnd: number
  readonly end: number
  readonly participants: number
  readonly aborted: boolean
}

/** Pieces a participant, at most: enough that a late lane costs little, few enough that taking them costs nothing. */
const PIECES_EACH = 8

/** Pieces of a loop that the owner begins alone: between two of them it looks for lanes. */
const PIECES_ALONE = 64

/** Work (ns) from which a loop does not wait for lanes to start: a few times what that takes. */
const LATE_JOIN_NS = 40_000_000

/** A piece is at least this long (ns), when the loop is. */
const LEAST_PIECE_NS = 5_000

/** A piece that may end early is at most this long (ns): what runs on behind the end is wasted. */
const LONGEST_ABORTABLE_NS = 100_000

/** Milliseconds between two looks at lanes that are starting. */
const STARTING_MS = 0.5

/** Polls of the owner before it waits for a lane in the kernel. */
const POLLS = 4_000

/** Newest dispatches kept for timelines. */
const KEPT_RECORDS = 512

/**
 * The dispatcher of one owner thread, for all its instances.
 *
 * @category models
 * @since 0.1.0
 */
export class Dispatcher {
  readonly lanes: LaneGroup
  readonly records: Array<DispatchRecord> = []
  readonly policy: Policy
  readonly host: DispatcherHost
  readonly #partition: Partition
  readonly #words: Int32Array
  readonly #frame: DataView
  readonly #whole = new WholeCopy()
  /** Private bytes of the owner's last iteration, while it runs others. */
  readonly #kept = new WholeCopy()
  readonly #tickets: Tickets
  readonly #held: HeldLoops
  /** Instances attached so far. */
  attachments = 0
  #ownerEnd = 0
  /** Until then lanes are taken to be still starting (ms). */
  #startingUntil = 0
  /** Lanes that the dispatch under way was handed to. */
  #joined = 0
  #hasRoom: (() => boolean) | undefined
  #lost = false
  #broken = false

  constructor(lanes: LaneGroup, policy: Policy, host: DispatcherHost, partition: Partition = "shared") {
    this.lanes = lanes
    this.policy = policy
    this.host = host
    this.#held = new HeldLoops(host)
    this.#tickets = new Tickets(lanes)
    this.#partition = partition
    this.#words = new Int32Array(lanes.control.buffer)
    this.#frame = new DataView(lanes.control.buffer)
  }

  /** The word that the guard of a plan has left; 0 with several instances, whose guards share the words. */
  refusal(plan: number): number {
    return this.attachments === 1 && plan < REFUSAL_WORDS ? this.#words[(REFUSALS >> 2) + plan] : 0
  }

  /** True after a lane was lost in the middle of a write. */
  get broken(): boolean {
    return this.#broken
  }

  /** Runs iterations apart; returns how many were done: all of them or none. */
  run(attachment: Attachment, state: LoopState, iterations: number, units: number): number {
    const { lanes } = this
    const { monitor } = state
    const forced = this.policy.minimumWorkNs === 0
    const start = this.host.now()
    this.#held.resume(start)
    const width = lanes.count + 1
    const work = iterations * units
    if (this.#broken || width < 2) return attachment.decline(state, "no-lanes", iterations)
    if (start < monitor.suspendedUntil) return attachment.decline(state, "suspended", iterations)
    const enough = monitor.observe(work, start)
    if (monitor.endsEarly(start)) return attachment.decline(state, "suspended", iterations)
    // What is small stays so, and its loop soon asks for longer executions only.
    if (monitor.isSmall(work)) return attachment.decline(state, "small", iterations)
    if (!enough) return attachment.decline(state, "evidence", iterations)
    if (start < this.#startingUntil) return attachment.decline(state, "starting", iterations)
    this.#hasRoom ??= stackProbe()
    if (!this.#hasRoom()) return attachment.decline(state, "stack", iterations)
    lanes.start()
    const ready = lanes.ready()
    // A long loop need not wait for lanes that are starting: they join in when they are up. One that may end early is
    // only as long as that.
    const early = ready === 0
    const waits = this.#partition === "fixed" || state.loop.tier === "abortable" || monitor.expect(work) < LATE_JOIN_NS
    if (early && waits) {
      this.#startingUntil = start + STARTING_MS
      return attachment.decline(state, "starting", iterations)
    }
    if (!forced && !attachment.admits(state, work, start)) {
      return attachment.decline(state, attachment.trial.state === "resting" ? "resting" : "trial", iterations)
    }
    const hot = lanes.hot() > 0
    const declined = monitor.decline(work, early ? width : ready + 1, hot, start)
    if (declined !== undefined) return attachment.decline(state, declined, iterations)
    const kernel = attachment.kernel(state)
    if (kernel === undefined) return attachment.decline(state, "compile", iterations)
    /** Hands memory and kernel to the lanes that are up; answers why not. */
    const handOver = (): string | undefined => {
      if (!attachment.adopt(forced)) return "memory"
      const chunk = { slot: state.slot, module: kernel }
      const loaded = !forced && lanes.beginLoad !== undefined
        ? lanes.beginLoad(chunk, attachment.mapped)
        : lanes.load(chunk, attachment.mapped)
      return loaded === true ? undefined : loaded === "pending" ? "starting" : "load"
    }
    const withheld = early ? undefined : handOver()
    if (withheld !== undefined) return attachment.decline(state, withheld, iterations)
    // Compiling and mapping, done once, say nothing about the loop.
    const begun = this.host.now()
    const { loop } = state
    const windows = this.#windows(loop, attachment.mapped)
    if (windows === undefined) return attachment.decline(state, "windows", iterations)
    const abortable = loop.tier === "abortable"
    if (abortable && !this.#save(loop, attachment.bytes())) {
      return attachment.decline(state, "snapshot", iterations)
    }
    this.#tickets.begin()
    this.#clearResults(loop, width)
    this.#joined = ready
    const done = this.#partition === "fixed"
      ? loop.windows === 0
        ? this.#fixed(state, iterations, ready)
        : this.#fixed(state, iterations - 1, ready) && this.#last(state, iterations)
      : this.#shared(state, iterations, units, ready, windows, attachment, handOver)
    const end = this.host.now()
    const worked = this.#joined + 1
    this.#record({
      plan: loop.index,
      iterations,
      start: begun,
      ownerEnd: this.#ownerEnd,
      end,
      participants: worked,
      aborted: !done
    })
    const completed = done ? iterations : this.#completed(loop, width)
    const gained = monitor.expect(completed * units) / 1e6 - (end - begun)
    state.counts.gainedMs += gained
    if (!forced) attachment.trial.gained(loop.index, gained)
    if (!done) {
      // A direct chunk cannot end early; when it does, as when a lane is lost, nothing about memory is sure any more.
      if (!abortable || this.#lost) throw this.#lose(loop)
      this.#undo(loop, attachment.bytes(), completed)
    }
    if (completed === 0) {
      this.#whole.putBack(attachment.bytes())
      state.counts.aborts++
      monitor.undone((end - begun) * 1e6, end)
      if (!forced) attachment.hold(state)
      return 0
    }
    state.counts.dispatches++
    state.counts.iterations += completed
    state.counts.nsPerUnit = monitor.serialNs
    state.impatience = 0
    attachment.used(worked)
    if (!early && this.#joined > 0) monitor.handedOut(completed * units, (end - begun) * 1e6, end, !hot)
    if (end < monitor.suspendedUntil) attachment.hold(state)
    return completed
  }

  /** Keeps loops native until a moment. */
  hold(states: ReadonlyArray<LoopState>, until: number): void {
    if (this.#broken || this.lanes.count === 0) { for (const state of states) state.threshold.value = NEVER }
    else this.#held.hold(states, until)
  }

  /** Forgets loops of a closed instance. */
  forget(states: ReadonlyArray<LoopState>): void {
    this.#held.forget(states)
  }

  /**
   * Whoever is free takes the next piece. Without lanes (`ready` 0) the owner begins alone and hands over, by
   * `handOver`, as soon as some are up. Where bytes are private, the last iteration is the owner's, for its own are those
   * that the loop goes on with: it runs that one first, puts these bytes aside, and takes pieces of the others.
   */
  #shared(
    state: LoopState,
    iterations: number,
    units: number,
    ready: number,
    windows: ReadonlyArray<readonly [page: number, pages: number]>,
    attachment: Attachment,
    handOver: () => string | undefined
  ): boolean {
    const { lanes } = this
    const run = state.run!
    const lastApart = state.loop.windows > 0
    const spread = lastApart ? iterations - 1 : iterations
    const perIteration = Math.max(1e-3, state.monitor.expect(units))
    const least = Math.ceil(LEAST_PIECE_NS / perIteration)
    const parts = ready === 0 ? PIECES_ALONE : PIECES_EACH * (ready + 1)
    const piece = Math.max(1, least, Math.ceil(spread / parts))
    const longest = state.loop.tier === "abortable" ? Math.ceil(LONGEST_ABORTABLE_NS / perIteration) : spread
    const usable = Math.min(piece, longest, Math.ceil(spread / 2), MAXIMUM_PIECE)
    const pieces = Math.ceil(spread / usable)
    const lastTicket = lastApart ? this.#tickets.issue(iterations, spread, iterations, 1) : 0
    const ticket = this.#tickets.issue(spread, 0, pieces, usable)
    const next = (ticket + Ticket.NEXT) >> 2
    const finished = (ticket + Ticket.FINISHED) >> 2
    const limit = (ticket + Ticket.LIMIT) >> 2
    this.#words[(ticket + Ticket.WINDOWS) >> 2] = windows.length
    windows.forEach(([page, pages], k) => {
      this.#words[((ticket + Ticket.FIRST_WINDOW) >> 2) + 2 * k] = page
      this.#words[((ticket + Ticket.FIRST_WINDOW) >> 2) + 2 * k + 1] = pages
    })
    let alone = true
    let lanesUp = ready
    try {
      let done = 0
      /** Takes one piece, and no other participant does. */
      const one = (): void => {
        this.#words[limit] = done + 1
        run(ticket, usable, RESULTS)
        Atomics.store(this.#words, next, ++done)
        this.#words[limit] = pieces
      }
      const timing = pieces > 1 || lastApart ? state.monitor.timing(iterations * units) : undefined
      let lastDone = false
      if (timing !== undefined) {
        const before = this.host.now()
        const alone = timing === "whole" ? pieces : Math.min(1, pieces - 1)
        for (let k = 0; k < alone; k++) one()
        if (lastApart && (timing === "whole" || pieces === 1)) {
          run(lastTicket, 1, RESULTS)
          lastDone = true
        }
        const timed = Math.min(spread, done * usable) + (lastDone ? 1 : 0)
        state.monitor.timed(timed * units, (this.host.now() - before) * 1e6)
        if (done >= pieces) {
          this.#joined = 0
          this.#ownerEnd = this.host.now()
          return true
        }
      }
      // The count of done pieces grows in `one`.
      for (; lanesUp === 0; one()) {
        if (done >= pieces) break
        lanesUp = lanes.ready()
        if (lanesUp === 0) continue
        const withheld = handOver()
        if (withheld !== undefined) lanesUp = 0
        if (withheld !== "starting") break
      }
      this.#joined = lanesUp
      for (let lane = 0; lane < lanesUp; lane++) {
        if (lanes.idle?.(lane) === false) continue
        lanes.fork(lane, state.slot, ticket, usable, RESULTS + RESULT_BYTES * (1 + lane))
        alone = false
      }
      if (lastApart) {
        if (!lastDone) run(lastTicket, 1, RESULTS)
        this.#kept.take(attachment.bytes(), windowRanges(this.#frame, state.loop))
      }
      run(ticket, usable, RESULTS)
      if (lastApart) this.#kept.putBack(attachment.bytes())
    } catch {
      // No further piece is taken; what runs is waited for below.
      Atomics.store(this.#words, (ticket + Ticket.ABORT) >> 2, 1)
      this.#ownerEnd = this.host.now()
      if (!alone) this.#joinAll(lanesUp)
      return false
    }
    this.#ownerEnd = this.host.now()
    for (let poll = 0; poll < POLLS; poll++) if (Atomics.load(this.#words, finished) === pieces) return true
    return this.#joinAll(lanesUp) && Atomics.load(this.#words, finished) === pieces
  }

  /** The last iteration, by the owner and after all others. */
  #last(state: LoopState, iterations: number): boolean {
    const ticket = this.#tickets.issue(iterations, iterations - 1, iterations, 1)
    try {
      state.run!(ticket, 1, RESULTS)
      return true
    } catch {
      return false
    }
  }

  /** One share a participant, the last one the owner's. */
  #fixed(state: LoopState, iterations: number, ready: number): boolean {
    const { lanes } = this
    const share = Math.ceil(iterations / (ready + 1))
    // A share that is too long for a piece is several.
    const each = Math.ceil(share / MAXIMUM_PIECE)
    const piece = Math.ceil(share / each)
    const pieces = Math.ceil(iterations / piece)
    const tickets = Array.from(
      { length: Math.ceil(pieces / each) },
      (_, k) => this.#tickets.issue(iterations, k * each, Math.min(pieces, (k + 1) * each), piece)
    )
    const used = tickets.length - 1
    let clean = true
    for (let lane = 0; lane < used; lane++) {
      lanes.fork(lane, state.slot, tickets[lane]!, piece, RESULTS + RESULT_BYTES * (1 + lane))
    }
    try {
      state.run!(tickets[used]!, piece, RESULTS)
    } catch {
      clean = false
    }
    this.#ownerEnd = this.host.now()
    for (let lane = 0; lane < used; lane++) if (lanes.join(lane) !== "done") clean = false
    return clean
  }

  /** Waits for all lanes; false when one trapped. Throws when one is lost. */
  #joinAll(ready: number): boolean {
    let clean = true
    for (let lane = 0; lane < ready; lane++) {
      const result = this.lanes.join(lane)
      if (result === "lost") this.#lost = true
      if (result !== "done") clean = false
    }
    return clean
  }

  /** What becomes of a dispatch that cannot be undone. */
  #lose(loop: PlannedLoop): LaneLostError {
    this.#broken = true
    return new LaneLostError(loop)
  }

  /** Makes ready to undo the dispatch; false when that takes too many bytes. */
  #save(loop: PlannedLoop, memory: Uint8Array): boolean {
    if (!placeCopies(this.lanes.control, this.#frame, loop)) return false
    const fixed = windowRanges(this.#frame, loop)
    return this.#whole.take(memory, [...fixed, ...wholeRanges(this.#frame, loop)])
  }

  /**
   * Iterations that count although a piece has ended early: those of the pieces before it. Pieces are taken in order, and
   * none is under way any more.
   */
  #completed(loop: PlannedLoop, participants: number): number {
    if (!loop.keeps || wholeRanges(this.#frame, loop).length > 0) return 0
    let first = Infinity
    for (let p = 0; p < participants; p++) {
      const piece = this.#words[(RESULTS + RESULT_BYTES * p) >> 2]
      if (piece !== NO_PIECE) first = Math.min(first, piece)
    }
    return first === Infinity ? 0 : first * this.#tickets.piece
  }

  /** Puts back what the pieces that were taken have copied, those of the first iterations excepted. */
  #undo(loop: PlannedLoop, memory: Uint8Array, completed: number): void {
    for (const [first, count] of this.#tickets.begun()) {
      if (first >= completed) putBack(this.lanes.control, this.#frame, loop, memory, first, count)
    }
  }

  /**
   * Pages of which each lane needs its own, joined; `undefined` when lanes cannot have them: too many, or a memory that
   * is shared as it is. On one thread the pieces follow each other, so the bytes are private by themselves.
   */
  #windows(loop: PlannedLoop, mapped: MappedMemory): Array<[page: number, pages: number]> | undefined {
    if (loop.windows === 0 || mapped.rung === "in-process") return []
    if (mapped.rung !== "alias") return undefined
    return pagesAround(windowRanges(this.#frame, loop))
  }

  /** Sets every participant's results to the identities of the reductions, or to no piece. */
  #clearResults(loop: PlannedLoop, participants: number): void {
    if (loop.keeps) {
      for (let p = 0; p < participants; p++) this.#words[(RESULTS + RESULT_BYTES * p) >> 2] = NO_PIECE
    }
    if (loop.reductions.length === 0) return
    this.#words[TICKETS >> 2] = participants
    for (let p = 0; p < participants; p++) {
      loop.reductions.forEach(({ operation }, k) => {
        const at = (RESULTS + RESULT_BYTES * p + 8 * k) >> 2
        this.#words[at] = operation === "and" ? -1 : operation === "mul" ? 1 : 0
        this.#words[at + 1] = operation === "and" ? -1 : 0
      })
    }
  }

  #record(record: DispatchRecord): void {
    if (this.records.length >= KEPT_RECORDS) this.records.splice(0, KEPT_RECORDS / 2)
    this.records.push(record)
  }
}
