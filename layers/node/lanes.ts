/**
 * Lanes on Node.js: worker threads that never load anything of the program, bound to CPUs of their own where the
 * system allows, and reached through control words.
 *
 * @since 0.1.0
 */
import type { ResourceLimits } from "node:worker_threads"
import { makeControl, MAXIMUM_LANES, SPIN_MICROSECONDS } from "../../src/lane/control.ts"
import type { JoinResult, Kernel, LaneGroup, LanesReport, MappedMemory } from "../../src/lane/lanes.ts"
import type { LaneMessage } from "../../src/lane/runner.ts"
import { Placement } from "./affinity.ts"
import { type CpuBudget, cpuBudget } from "./cpu.ts"
import { acquireCredits, type Credits } from "./credits.ts"
import { probeNative } from "./ffi.ts"
import { laneSource } from "./lane-host.ts"
import { Lane } from "./lane.ts"
import { canSeeThreads } from "./liveness.ts"
import { clock } from "./original.ts"

/**
 * What a group of lanes is made of.
 *
 * @category models
 * @since 0.1.0
 */
export interface NodeLanesOptions {
  /** Lanes besides the owner. */
  readonly lanes: number
  /** Grant them even when there are more of them than CPUs; they then never spin. For checking, not for speed. */
  readonly oversubscribe?: boolean
  /** Microseconds to poll before sleeping ({@link SPIN_MICROSECONDS}); 0 where lanes and owner exceed the CPUs. */
  readonly spinMicroseconds?: number
  /** Milliseconds for a thread to come up (5,000). */
  readonly startMilliseconds?: number
  /** Milliseconds that {@link NodeLanes.close} waits for the threads (2,000). */
  readonly closeMilliseconds?: number
  /** Limits of the lanes' JavaScript heaps. */
  readonly resourceLimits?: ResourceLimits
  /** Program of a lane ({@link laneSource}). */
  readonly source?: string
}

/** What a kernel was loaded with when all lanes had it: nothing is sent while this holds. */
interface Loaded {
  readonly module: WebAssembly.Module
  readonly memory: number
  readonly bytes: number
  readonly generation: number
}

/** A mapping that lanes have been given, and the identity that they know it by. */
interface Attached {
  id: number
  readonly mapping: WeakRef<MappedMemory>
}

/** Lanes that no account knows of. Made out here: a closure made in the group would keep it alive. */
const uncounted = (lanes: number): Credits => ({ lanes, release: () => {} })

const nothing: LaneMessage = { dropKernels: [], dropMemories: [], memories: [], kernels: [] }

/** Ends the threads of a group that was forgotten without being closed. */
const forgotten = new FinalizationRegistry<{ readonly lanes: Array<Lane>; readonly credits: Credits }>(
  ({ credits, lanes }) => {
    if (lanes.length === 0) credits.release(credits.lanes)
    for (const lane of lanes) lane.fail("the group was forgotten")
  }
)

/**
 * A group of worker threads.
 *
 * @category models
 * @since 0.1.0
 */
export class NodeLanes implements LaneGroup {
  readonly control: WebAssembly.Memory
  readonly #asked: number
  readonly #options: NodeLanesOptions
  readonly #budget: CpuBudget
  readonly #reasons: Array<string> = []
  readonly #credits: Credits
  readonly #granted: number
  readonly #placement: Placement | undefined
  readonly #words: Int32Array
  /** All lanes ever started, by block of the control memory. */
  readonly #lanes: Array<Lane> = []
  /** Lanes that {@link NodeLanes.ready} counted last. */
  #live: Array<Lane> = []
  #generation = 0
  readonly #loaded = new Map<number, Loaded>()
  /** What lanes were given to load and have not answered yet, as far as is known here. */
  readonly #loading = new Map<Lane, { readonly slot: number; readonly memory: number }>()
  readonly #known = new WeakMap<MappedMemory, Attached>()
  readonly #attached = new Set<Attached>()
  readonly #collected = new FinalizationRegistry<Attached>((attached) => {
    this.#attached.delete(attached)
    this.unload([], [attached.id])
  })
  #started = false
  #closing: Promise<void> | undefined

  constructor(options: NodeLanesOptions) {
    this.#options = options
    this.#asked = Math.max(0, Math.min(options.lanes, MAXIMUM_LANES))
    this.#budget = cpuBudget()
    this.#credits = this.#ask()
    this.#granted = this.#credits.lanes
    this.control = makeControl(this.#granted)
    this.#words = new Int32Array(this.control.buffer)
    this.#placement = this.#place()
    forgotten.register(this, { lanes: this.#lanes, credits: this.#credits }, this)
  }

  #ask(): Credits {
    if (this.#asked === 0) return uncounted(0)
    if (!canSeeThreads()) {
      this.#reasons.push("this host does not tell a lost lane from a busy one (no /proc)")
      return uncounted(0)
    }
    if (this.#options.oversubscribe === true) return uncounted(this.#asked)
    const room = this.#budget.width - 1
    const credits = room < 1 ? uncounted(0) : acquireCredits(Math.min(this.#asked, room), room)
    if (this.#asked > room) this.#reasons.push(this.#budget.bound)
    else if (credits.lanes < this.#asked) this.#reasons.push("other owners of this process hold the lanes")
    return credits
  }

  #place(): Placement | undefined {
    if (this.#granted === 0) return undefined
    const calls = probeNative()
    if (typeof calls === "string") this.#reasons.push(`lanes are not placed: ${calls}`)
    const { allowed, width } = this.#budget
    return typeof calls === "string" || allowed === undefined || this.#granted >= width
      ? undefined
      : new Placement(calls, allowed)
  }

  get #spins(): boolean {
    return this.#granted > 0 && this.#granted < this.#budget.width && this.#options.spinMicroseconds !== 0
  }

  get count(): number {
    if (!this.#started) return this.#granted
    return this.#lanes.reduce((sum, { state }) => state === "starting" || state === "ready" ? sum + 1 : sum, 0)
  }

  start(): void {
    if (this.#started || this.#closing !== undefined) return
    this.#started = true
    const settings = {
      source: this.#options.source ?? laneSource(),
      spinMicroseconds: this.#spins ? this.#options.spinMicroseconds ?? SPIN_MICROSECONDS : 0,
      startMilliseconds: this.#options.startMilliseconds ?? 5_000,
      resourceLimits: this.#options.resourceLimits
    }
    const credits = this.#credits
    for (let index = 0; index < this.#granted; index++) {
      const lane = new Lane(index, this.control, settings)
      void lane.ended.then(() => credits.release(1))
      this.#lanes.push(lane)
    }
  }

  ready(): number {
    let changed = false
    for (const lane of this.#lanes) {
      if (lane.state !== "starting" || !lane.pollStart()) continue
      this.#placement?.place(lane.index, lane.thread)
      changed = true
    }
    for (const lane of this.#live) {
      if (lane.state === "ready") continue
      this.#placement?.release(lane.index)
      changed = true
    }
    if (changed) {
      this.#live = this.#lanes.filter((lane) => lane.state === "ready")
      this.#generation++
    }
    return this.#live.length
  }

  /** Blocks until every lane has come up or was given up, at most for a time; then {@link NodeLanes.ready}. */
  waitUntilReady(milliseconds: number): number {
    const deadline = clock.now() + milliseconds
    for (const lane of this.#lanes) {
      while (this.ready() >= 0 && lane.state === "starting" && clock.now() < deadline) {
        Atomics.wait(this.#words, lane.stateWord, 0, Math.max(1, Math.min(50, deadline - clock.now())))
      }
    }
    return this.ready()
  }

  hot(): number {
    let hot = 0
    for (const lane of this.#live) if (lane.isHot) hot++
    return hot
  }

  load(kernel: Kernel, memory: MappedMemory): boolean {
    return this.#load(kernel, memory, true) === true
  }

  beginLoad(kernel: Kernel, memory: MappedMemory): boolean | "pending" {
    return this.#load(kernel, memory, false)
  }

  #load(kernel: Kernel, memory: MappedMemory, waits: boolean): boolean | "pending" {
    const loaded = this.#loaded.get(kernel.slot)
    if (
      loaded !== undefined && loaded.generation === this.#generation && loaded.memory === memory.id
      && loaded.bytes === memory.mappedBytes && loaded.module === kernel.module
    ) return true
    const before = this.#finishLoads(waits)
    if (before !== true) return before
    const stale = this.#identify(memory)
    for (const lane of this.#live) {
      const message = this.#messageFor(lane, kernel, memory, stale)
      if (message === undefined) continue
      if (!this.#settle(lane)) return false
      lane.load(message)
      this.#loading.set(lane, { slot: kernel.slot, memory: memory.id })
    }
    const accepted = this.#live.length > 0 && this.#finishLoads(waits)
    if (accepted === true) {
      const { id, mappedBytes } = memory
      this.#loaded.set(kernel.slot, {
        module: kernel.module,
        memory: id,
        bytes: mappedBytes,
        generation: this.#generation
      })
    }
    return accepted
  }

  /** Looks after the lanes that were given something to load; false when one has refused. */
  #finishLoads(waits: boolean): boolean | "pending" {
    let accepted = true
    for (const lane of this.#loading.keys()) {
      if (!waits && !lane.isIdle) return "pending"
      if (!this.#finishLoad(lane)) accepted = false
    }
    return accepted
  }

  /** Waits for what a lane was given to load; false when it has refused it. */
  #finishLoad(lane: Lane): boolean {
    const given = this.#loading.get(lane)
    if (given === undefined) return true
    const result = lane.join()
    this.#loading.delete(lane)
    if (result === "done") return true
    // What the lane still holds of it does not count any more: the next hand-over repeats all of it.
    this.#forget(lane, given.slot, given.memory)
    if (result === "trap") this.#note(lane.explanation())
    return false
  }

  /** Follows the identity of a mapping; returns the ones it has left behind. */
  #identify(memory: MappedMemory): ReadonlyArray<number> {
    const known = this.#known.get(memory)
    if (known === undefined) {
      const attached = { id: memory.id, mapping: new WeakRef(memory) }
      this.#known.set(memory, attached)
      this.#attached.add(attached)
      this.#collected.register(memory, attached)
      return []
    }
    if (known.id === memory.id) return []
    const stale = known.id
    known.id = memory.id
    return [stale]
  }

  /** What the lane lacks; `undefined` when nothing. */
  #messageFor(
    lane: Lane,
    kernel: Kernel,
    memory: MappedMemory,
    stale: ReadonlyArray<number>
  ): LaneMessage | undefined {
    const attached = lane.memories.get(memory.id)
    const present = lane.kernels.get(kernel.slot)
    const attaches = attached === undefined || (memory.rung === "alias" && attached !== memory.mappedBytes)
    const loads = present?.module !== kernel.module || present.memory !== memory.id
    const drops = stale.filter((id) => lane.memories.has(id))
    if (!attaches && !loads && drops.length === 0) return undefined
    for (const id of drops) this.#forget(lane, -1, id)
    lane.memories.set(memory.id, memory.mappedBytes)
    lane.kernels.set(kernel.slot, { module: kernel.module, memory: memory.id })
    return {
      dropKernels: [],
      dropMemories: drops,
      memories: attaches ? [{ id: memory.id, descriptor: memory.descriptor() }] : [],
      kernels: loads ? [{ slot: kernel.slot, memory: memory.id, module: kernel.module }] : []
    }
  }

  #forget(lane: Lane, slot: number, memory: number): void {
    lane.memories.delete(memory)
    lane.kernels.delete(slot)
    for (const [other, kernel] of lane.kernels) if (kernel.memory === memory) lane.kernels.delete(other)
    for (const [other, loaded] of this.#loaded) if (loaded.memory === memory) this.#loaded.delete(other)
  }

  /** Waits until a lane has finished what it was last told. */
  #settle(lane: Lane): boolean {
    this.#finishLoad(lane)
    return lane.isIdle || lane.join() !== "lost"
  }

  #note(reason: string): void {
    if (!this.#reasons.includes(reason)) this.#reasons.push(reason)
  }

  unload(slots: ReadonlyArray<number>, memories: ReadonlyArray<number>): void {
    for (const slot of slots) this.#loaded.delete(slot)
    for (const lane of this.#live) {
      const dropKernels = slots.filter((slot) => lane.kernels.has(slot))
      const dropMemories = memories.filter((id) => lane.memories.has(id))
      this.#finishLoad(lane)
      for (const slot of dropKernels) lane.kernels.delete(slot)
      for (const id of dropMemories) this.#forget(lane, -1, id)
      if (dropKernels.length + dropMemories.length === 0 || !this.#settle(lane)) continue
      // Not waited for: the next command does.
      lane.load({ ...nothing, dropKernels, dropMemories })
    }
  }

  fork(lane: number, kernel: number, start: number, count: number, out: number): void {
    const at = this.#live[lane]
    const placement = this.#placement
    if (placement !== undefined && placement.ownerCpu() === placement.cpuOf(at.index)) {
      placement.place(at.index, at.thread)
    }
    if (!at.isIdle || this.#loading.has(at)) this.#settle(at)
    at.run(kernel, start, count, out)
  }

  idle(lane: number): boolean {
    const at = this.#live[lane]
    return at.isIdle && !this.#loading.has(at)
  }

  join(lane: number): JoinResult {
    const at = this.#live[lane]
    if (!this.#loading.has(at)) return at.join()
    // It was not given a chunk since. Whether it has refused what it loads, whoever hands it over is told.
    this.#finishLoad(at)
    return "done"
  }

  replace(lane: number): boolean {
    const at = this.#live[lane]
    return this.#placement?.place(at.index, at.thread) ?? false
  }

  report(): LanesReport {
    return {
      asked: this.#asked,
      count: this.count,
      ready: this.#live.length,
      spins: this.#spins,
      placed: this.#placement !== undefined,
      reasons: this.#reasons,
      lanes: this.#lanes.map((lane) => lane.report())
    }
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close()
  }

  async #close(): Promise<void> {
    this.#live = []
    this.#loaded.clear()
    forgotten.unregister(this)
    for (const lane of this.#lanes) lane.stop()
    for (const { mapping } of this.#attached) mapping.deref()?.release()
    this.#attached.clear()
    let timer: ReturnType<typeof setTimeout> | undefined
    const deadline = new Promise<void>((resolve) => {
      timer = clock.setTimeout(resolve, this.#options.closeMilliseconds ?? 2_000)
    })
    await Promise.race([Promise.all(this.#lanes.map((lane) => lane.ended)), deadline])
    clearTimeout(timer)
    for (const lane of this.#lanes) lane.abandon()
    if (this.#lanes.length === 0) this.#credits.release(this.#granted)
  }
}
