/**
 * The owner's side of a dispatch.
 *
 *     guest loop ── guard (wasm) ── dispatch(plan, M, units)
 *                                      │ worth it? mapped? loaded?        no → 0: the loop runs natively
 *                                      │ snapshot, when a chunk can end early
 *                                      │ ticket: pieces of the M iterations
 *                                      │ fork lanes; take pieces along with them
 *                                      │ all pieces finished               → M
 *                                      └ a chunk ended early               → bytes put back, 0
 *
 * Everything here is synchronous and on the owner's thread. A dispatch returns with no piece outstanding.
 *
 * @since 0.1.0
 */
import { MAXIMUM_WINDOWS, PAGE_BYTES, RESULT_BYTES, RESULTS, Ticket, TICKET_BYTES, TICKET_COUNT, TICKETS } from "../plan/frame.ts"
import { NEVER, tableName, thresholdName } from "../plan/hidden.ts"
import type { Prepared } from "../plan/prepare.ts"
import type { PlannedLoop } from "../plan/types.ts"
import type { LaneGroup, MappedMemory } from "./lanes.ts"
import type { Policy } from "./monitor.ts"
import { ProfitMonitor } from "./monitor.ts"
import { Snapshot } from "./snapshot.ts"

/**
 * What a host provides.
 *
 * @category models
 * @since 0.1.0
 */
export interface DispatcherHost {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
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

/**
 * Counts of one planned loop.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoopReport {
  readonly plan: number
  readonly functionIndex: number
  readonly functionName: string | undefined
  readonly offset: number
  readonly dispatches: number
  readonly iterations: number
  readonly aborts: number
  readonly declined: Readonly<Record<string, number>>
  /** Nanoseconds of a unit of work on one thread, as measured. */
  readonly nsPerUnit: number | undefined
}

/** Pieces a participant, at most: enough that a late lane costs little, few enough that taking them costs nothing. */
const PIECES_EACH = 8

/** A piece is at least this long (ns), when the loop is. */
const LEAST_PIECE_NS = 5_000

/** A piece that may end early is at most this long (ns): what runs on behind the end is wasted. */
const LONGEST_ABORTABLE_NS = 100_000

/** Most pages that a lane copies for itself: they are copied again for every dispatch. */
const MAXIMUM_PRIVATE_PAGES = 256

/** Declined executions in a row after which the guest's own test is made stricter. */
const PATIENCE = 4

/** Nanoseconds a byte to move a memory into a mapping, with margin. */
const ADOPTION_NS_PER_BYTE = 0.6

/** Polls of the owner before it waits for a lane in the kernel. */
const POLLS = 4_000

/** Shortest time for which a loop is kept native (ms). */
const LEAST_HOLD_MS = 10

/** Newest dispatches kept for timelines. */
const KEPT_RECORDS = 512

let lastSlot = 0

/**
 * State of one planned loop of an instance.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoopState {
  readonly loop: PlannedLoop
  readonly monitor: ProfitMonitor
  readonly threshold: WebAssembly.Global
  readonly bytes: Uint8Array
  readonly slot: number
  module: WebAssembly.Module | undefined
  run: ((ticket: number, piece: number, out: number) => void) | undefined
  dispatches: number
  iterations: number
  aborts: number
  impatience: number
  /** Threshold to go back to when a suspension ends. */
  resumeAt: number
  /** True when the chunk module could not be made. */
  unusable: boolean
  readonly declined: Record<string, number>
}

/**
 * The dispatcher of one owner thread, for all its instances.
 *
 * @category models
 * @since 0.1.0
 */
export class Dispatcher {
  readonly lanes: LaneGroup
  readonly records: Array<DispatchRecord> = []
  readonly #policy: Policy
  readonly #host: DispatcherHost
  readonly #partition: Partition
  readonly #words: Int32Array
  readonly #frame: DataView
  readonly #snapshot = new Snapshot()
  readonly #held = new Map<LoopState, number>()
  #nextTicket = 1
  #ownerEnd = 0
  #lost = false
  #broken = false

  constructor(lanes: LaneGroup, policy: Policy, host: DispatcherHost, partition: Partition = "shared") {
    this.lanes = lanes
    this.#policy = policy
    this.#host = host
    this.#partition = partition
    this.#words = new Int32Array(lanes.control.buffer)
    this.#frame = new DataView(lanes.control.buffer)
  }

  /** Makes the planned loops of a patched instance ask this dispatcher. `memory` is the guest's memory 0. */
  attach(
    instance: WebAssembly.Instance,
    prepared: Prepared,
    memory: WebAssembly.Memory,
    mapped: MappedMemory
  ): Attachment {
    return new Attachment(this, instance, prepared, memory, mapped, this.#policy, this.#host)
  }

  /** True after a lane was lost in the middle of a write. */
  get broken(): boolean {
    return this.#broken
  }

  /** Runs `count` iterations apart; returns how many were done: all of them, the first piece, or none. */
  run(attachment: Attachment, state: LoopState, iterations: number, units: number): number {
    const { lanes } = this
    const { monitor } = state
    const forced = this.#policy.minimumWorkNs === 0
    const start = this.#host.now()
    if (this.#held.size > 0) this.#resume(start)
    const width = lanes.count + 1
    const work = iterations * units
    if (this.#broken || width < 2) return attachment.decline(state, "no-lanes", iterations)
    if (start < monitor.suspendedUntil) return attachment.decline(state, "suspended", iterations)
    if (!monitor.observe(work)) {
      return attachment.decline(state, monitor.isSmall(work) ? "small" : "evidence", iterations)
    }
    lanes.start()
    const ready = lanes.ready()
    if (ready === 0) return attachment.decline(state, "starting", iterations)
    const declined = monitor.decline(work, ready + 1, lanes.hot() > 0, start)
    if (declined !== undefined) return attachment.decline(state, declined, iterations)
    if (!attachment.adopt(forced)) return attachment.decline(state, "memory", iterations)
    const kernel = attachment.kernel(state)
    if (kernel === undefined) return attachment.decline(state, "compile", iterations)
    if (!lanes.load({ slot: state.slot, module: kernel }, attachment.mapped)) {
      return attachment.decline(state, "load", iterations)
    }
    const { loop } = state
    const windows = this.#windows(loop, attachment.mapped)
    if (windows === undefined) return attachment.decline(state, "windows", iterations)
    const abortable = loop.tier === "abortable"
    if (abortable && !this.#snapshot.take(attachment.bytes(), this.#writtenRanges(loop))) {
      return attachment.decline(state, "snapshot", iterations)
    }
    const participants = ready + 1
    this.#clearResults(loop, participants)
    const done = this.#partition === "fixed"
      ? this.#fixed(state, iterations, ready)
      : this.#shared(state, iterations, units, ready, windows)
    const end = this.#host.now()
    this.#record({ plan: loop.index, iterations, start, ownerEnd: this.#ownerEnd, end, participants, aborted: !done })
    if (!done) {
      // A direct chunk cannot end early; when it does, as when a lane is lost, nothing about memory is sure any more.
      if (!abortable || this.#lost) throw this.#lose(loop)
      this.#snapshot.restore(attachment.bytes())
      state.aborts++
      monitor.suspend(end)
      attachment.hold(state)
      return 0
    }
    state.dispatches++
    state.iterations += iterations
    state.impatience = 0
    attachment.used(participants)
    monitor.handedOut(work, (end - start) * 1e6, end)
    if (end < monitor.suspendedUntil) attachment.hold(state)
    return iterations
  }

  /** Keeps a loop native until a moment; other loops that come by after it end the wait, as does the host's timer. */
  hold(state: LoopState, until: number): void {
    state.threshold.value = NEVER
    if (this.#broken || this.lanes.count === 0) return
    this.#held.set(state, until)
    this.#host.later(Math.max(1, until - this.#host.now()), () => this.#resume(this.#host.now()))
  }

  /** Forgets loops of a closed instance. */
  forget(states: ReadonlyArray<LoopState>): void {
    for (const state of states) this.#held.delete(state)
  }

  #resume(now: number): void {
    for (const [state, until] of this.#held) {
      if (now < until) continue
      this.#held.delete(state)
      state.threshold.value = state.resumeAt
    }
  }

  /** Whoever is free takes the next piece. */
  #shared(
    state: LoopState,
    iterations: number,
    units: number,
    ready: number,
    windows: ReadonlyArray<readonly [page: number, pages: number]>
  ): boolean {
    const { lanes } = this
    const run = state.run!
    const perIteration = Math.max(1e-3, state.monitor.expect(units))
    const least = Math.ceil(LEAST_PIECE_NS / perIteration)
    const piece = Math.max(1, least, Math.ceil(iterations / (PIECES_EACH * (ready + 1))))
    const longest = state.loop.tier === "abortable" ? Math.ceil(LONGEST_ABORTABLE_NS / perIteration) : iterations
    const usable = Math.min(piece, longest, Math.ceil(iterations / (ready + 1)))
    const pieces = Math.ceil(iterations / usable)
    const ticket = this.#ticket(iterations, pieces)
    const next = (ticket + Ticket.NEXT) >> 2
    const finished = (ticket + Ticket.FINISHED) >> 2
    const limit = (ticket + Ticket.LIMIT) >> 2
    this.#words[(ticket + Ticket.WINDOWS) >> 2] = windows.length
    windows.forEach(([page, pages], k) => {
      this.#words[((ticket + Ticket.FIRST_WINDOW) >> 2) + 2 * k] = page
      this.#words[((ticket + Ticket.FIRST_WINDOW) >> 2) + 2 * k + 1] = pages
    })
    let alone = true
    try {
      if (state.monitor.wantsTiming && pieces > 1) {
        this.#words[limit] = 1
        const before = this.#host.now()
        run(ticket, usable, RESULTS)
        state.monitor.timed(usable * units, (this.#host.now() - before) * 1e6)
        this.#words[limit] = pieces
        Atomics.store(this.#words, next, 1)
      }
      for (let lane = 0; lane < ready; lane++) {
        if (lanes.idle?.(lane) === false) continue
        lanes.fork(lane, state.slot, ticket, usable, RESULTS + RESULT_BYTES * (1 + lane))
        alone = false
      }
      run(ticket, usable, RESULTS)
    } catch {
      // No further piece is handed out; what runs is waited for below.
      Atomics.store(this.#words, next, 0x3fffffff)
      this.#ownerEnd = this.#host.now()
      if (!alone) this.#joinAll(ready)
      return false
    }
    this.#ownerEnd = this.#host.now()
    for (let poll = 0; poll < POLLS; poll++) if (Atomics.load(this.#words, finished) === pieces) return true
    return this.#joinAll(ready) && Atomics.load(this.#words, finished) === pieces
  }

  /** One piece a participant, the last one the owner's. */
  #fixed(state: LoopState, iterations: number, ready: number): boolean {
    const { lanes } = this
    const piece = Math.ceil(iterations / (ready + 1))
    const pieces = Math.ceil(iterations / piece)
    const tickets = Array.from({ length: pieces }, (_, k) => {
      const ticket = this.#ticket(iterations, k + 1)
      this.#words[(ticket + Ticket.NEXT) >> 2] = k
      return ticket
    })
    const used = pieces - 1
    let clean = true
    for (let lane = 0; lane < used; lane++) {
      lanes.fork(lane, state.slot, tickets[lane]!, piece, RESULTS + RESULT_BYTES * (1 + lane))
    }
    try {
      state.run!(tickets[used]!, piece, RESULTS)
    } catch {
      clean = false
    }
    this.#ownerEnd = this.#host.now()
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

  /** A fresh ticket for `pieces` pieces; a ticket is used again only when no lane can still hold it. */
  #ticket(iterations: number, pieces: number): number {
    if (this.#nextTicket >= TICKET_COUNT) {
      this.#nextTicket = 1
      const ready = this.lanes.ready()
      for (let lane = 0; lane < ready; lane++) if (this.lanes.idle?.(lane) === false) this.lanes.join(lane)
    }
    const ticket = TICKETS + TICKET_BYTES * this.#nextTicket++
    const at = ticket >> 2
    this.#words[at + (Ticket.TOTAL >> 2)] = iterations
    this.#words[at + (Ticket.LIMIT >> 2)] = pieces
    Atomics.store(this.#words, at + (Ticket.FINISHED >> 2), 0)
    Atomics.store(this.#words, at + (Ticket.NEXT >> 2), 0)
    return ticket
  }

  /**
   * Pages of which each lane needs its own, joined; `undefined` when lanes cannot have them: too many, or a memory that
   * is shared as it is. On one thread the pieces follow each other, so the bytes are private by themselves.
   */
  #windows(loop: PlannedLoop, mapped: MappedMemory): Array<[page: number, pages: number]> | undefined {
    if (loop.windows === 0 || mapped.rung === "in-process") return []
    if (mapped.rung !== "alias") return undefined
    const joined: Array<[number, number]> = []
    for (const [low, high] of this.#ranges(loop.firstWindow, loop.windows).sort((x, y) => x[0] - y[0])) {
      const page = Math.floor(low / PAGE_BYTES)
      const end = Math.ceil(high / PAGE_BYTES)
      const last = joined[joined.length - 1]
      if (last !== undefined && page <= last[0] + last[1]) last[1] = Math.max(last[1], end - last[0])
      else joined.push([page, end - page])
    }
    const pages = joined.reduce((sum, [, count]) => sum + count, 0)
    return joined.length > MAXIMUM_WINDOWS || pages > MAXIMUM_PRIVATE_PAGES ? undefined : joined
  }

  #writtenRanges(loop: PlannedLoop): Array<readonly [number, number]> {
    return this.#ranges(loop.firstRange, loop.ranges)
  }

  #ranges(first: number, count: number): Array<readonly [number, number]> {
    return Array.from({ length: count }, (_, k) => {
      const at = first + 16 * k
      return [Number(this.#frame.getBigInt64(at, true)), Number(this.#frame.getBigInt64(at + 8, true))] as const
    })
  }

  /** Sets every participant's results to the identities of the reductions. */
  #clearResults(loop: PlannedLoop, participants: number): void {
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

/**
 * The planned loops of one instance, connected to a dispatcher.
 *
 * @category models
 * @since 0.1.0
 */
export class Attachment {
  readonly mapped: MappedMemory
  readonly #dispatcher: Dispatcher
  readonly #memory: WebAssembly.Memory
  readonly #host: DispatcherHost
  readonly #states: Array<LoopState>
  #lanesUsed = 0
  #reason: string | undefined
  #closed = false

  constructor(
    dispatcher: Dispatcher,
    instance: WebAssembly.Instance,
    prepared: Prepared,
    memory: WebAssembly.Memory,
    mapped: MappedMemory,
    policy: Policy,
    host: DispatcherHost
  ) {
    this.#dispatcher = dispatcher
    this.#memory = memory
    this.#host = host
    this.mapped = mapped
    const { exports } = instance
    const table = exports[tableName] as WebAssembly.Table
    const loops = prepared.plan.loops.filter((loop): loop is PlannedLoop => loop._tag === "planned")
    this.#states = loops.map((loop) => ({
      loop,
      monitor: new ProfitMonitor(policy),
      threshold: exports[thresholdName(loop.index)] as WebAssembly.Global,
      bytes: prepared.chunks[loop.index]!,
      slot: ++lastSlot,
      module: undefined,
      run: undefined,
      dispatches: 0,
      iterations: 0,
      aborts: 0,
      impatience: 0,
      resumeAt: 0,
      unusable: false,
      declined: {}
    }))
    const guard = host.instantiate(host.compile(prepared.guard!, false), {
      folio: {
        memory,
        control: dispatcher.lanes.control,
        dispatch: (plan: number, iterations: number, units: number): number =>
          this.#closed ? 0 : dispatcher.run(this, this.#states[plan]!, iterations, units)
      }
    })
    for (const state of this.#states) {
      table.set(state.loop.index, guard.exports[`enter${state.loop.index}`])
      state.resumeAt = firstThreshold(state.loop, policy)
      state.threshold.value = state.resumeAt
    }
  }

  /** The guest's memory as it is now. */
  bytes(): Uint8Array {
    return new Uint8Array(this.#memory.buffer)
  }

  /** Brings the mapping up to date. The first time costs a copy, which enough work must have been seen to pay for. */
  adopt(forced: boolean): boolean {
    const { mapped } = this
    if (!forced && mapped.rung === "alias" && mapped.mappedBytes === 0) {
      const evidence = this.#states.reduce((sum, { monitor }) => sum + monitor.evidence, 0)
      if (evidence < this.#memory.buffer.byteLength * ADOPTION_NS_PER_BYTE) return false
    }
    if (mapped.ensure()) return true
    this.#reason = mapped.reason
    return false
  }

  /** The compiled chunk module, or `undefined` when it cannot be had; makes the owner's own instance with it. */
  kernel(state: LoopState): WebAssembly.Module | undefined {
    if (state.module === undefined && !state.unusable) {
      try {
        const module = this.#host.compile(state.bytes, true)
        const { run } = this.#host.instantiate(module, {
          folio: { memory: this.#memory, control: this.#dispatcher.lanes.control }
        }).exports
        state.run = run as unknown as LoopState["run"]
        state.module = module
      } catch {
        // Compiling may fail for want of memory; the loop then stays as it is.
        state.unusable = true
      }
    }
    return state.module
  }

  /** Notes why an execution stays native; after a few in a row the guest's own test gets stricter. */
  decline(state: LoopState, why: string, iterations: number): number {
    state.declined[why] = (state.declined[why] ?? 0) + 1
    this.#reason = why
    if (why === "compile") state.threshold.value = NEVER
    else if (why === "no-lanes" || why === "suspended") this.hold(state)
    else if (why === "small" && ++state.impatience >= PATIENCE) {
      state.impatience = 0
      const step = Math.max(1, state.loop.step)
      // Longer executions still ask; this one and shorter ones do not.
      state.resumeAt = Math.max(state.resumeAt, Math.min(0x7ffffffe, iterations * step + step))
      if (state.loop.step === 0) this.hold(state)
      else state.threshold.value = state.resumeAt
    }
    return 0
  }

  /** Closes the guest's test until the loop's suspension is over. */
  hold(state: LoopState): void {
    this.#dispatcher.hold(state, Math.max(state.monitor.suspendedUntil, this.#host.now() + LEAST_HOLD_MS))
  }

  /** Notes how many participants worked on a dispatch. */
  used(participants: number): void {
    this.#lanesUsed = Math.max(this.#lanesUsed, participants)
  }

  /** Makes the instance run natively from now on. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#dispatcher.forget(this.#states)
    for (const state of this.#states) state.threshold.value = NEVER
    this.#dispatcher.lanes.unload(this.#states.map((state) => state.slot), [this.mapped.id])
  }

  /** Counts so far. */
  report(): AttachmentReport {
    const sum = (pick: (state: LoopState) => number): number => this.#states.reduce((n, s) => n + pick(s), 0)
    return {
      dispatches: sum((s) => s.dispatches),
      iterations: sum((s) => s.iterations),
      aborts: sum((s) => s.aborts),
      lanesUsed: this.#lanesUsed,
      rung: this.#lanesUsed === 0 ? undefined : this.mapped.rung,
      unmapped: this.mapped.reason,
      reason: this.#reason,
      loops: this.#states.map(({ aborts, declined, dispatches, iterations, loop, monitor }) => ({
        plan: loop.index,
        functionIndex: loop.functionIndex,
        functionName: loop.functionName,
        offset: loop.offset,
        dispatches,
        iterations,
        aborts,
        declined,
        nsPerUnit: monitor.serialNs
      }))
    }
  }
}

/**
 * Counts of one instance.
 *
 * @category models
 * @since 0.1.0
 */
export interface AttachmentReport {
  readonly dispatches: number
  readonly iterations: number
  readonly aborts: number
  /** Most participants of one dispatch, the owner included; 0 before the first. */
  readonly lanesUsed: number
  readonly rung: MappedMemory["rung"] | undefined
  readonly unmapped: string | undefined
  /** The newest reason why an execution stayed native. */
  readonly reason: string | undefined
  readonly loops: ReadonlyArray<LoopReport>
}

/** Distance below which a loop cannot reach the least work even at a generous guess (1 ns an instruction). */
const firstThreshold = (loop: PlannedLoop, policy: Policy): number => {
  if (policy.minimumWorkNs === 0 || loop.step === 0 || loop.hasInner) return 0
  return Math.min(0x7ffffffe, Math.floor(policy.minimumWorkNs / (4 * loop.instructions)) * loop.step)
}
