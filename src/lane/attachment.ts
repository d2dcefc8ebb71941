/**
 * The planned loops of one instance: their thresholds, kernels and counts.
 *
 * @since 0.1.0
 */
import { NEVER, tableName, thresholdName } from "../plan/hidden.ts"
import type { Prepared } from "../plan/prepare.ts"
import type { PlannedLoop } from "../plan/types.ts"
import { InstanceCounts } from "./counts.ts"
import type { Dispatcher, DispatcherHost } from "./dispatcher.ts"
import type { MappedMemory } from "./lanes.ts"
import type { Policy } from "./monitor.ts"
import { ProfitMonitor } from "./monitor.ts"
import { ProgramTrial } from "./trial.ts"

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
  readonly counts: InstanceCounts["loops"][number]
  impatience: number
  /** Threshold to go back to when a suspension ends. */
  resumeAt: number
  /** True when the chunk module could not be made. */
  unusable: boolean
}

/** Declined executions in a row after which the guest's own test is made stricter. */
const PATIENCE = 4

/** Nanoseconds a byte to move a memory into a mapping, with margin. */
const ADOPTION_NS_PER_BYTE = 0.6

/** Shortest time for which a loop is kept native (ms). */
const LEAST_HOLD_MS = 10

let lastSlot = 0

/** Made out here: counts outlive their instance, and a closure of its constructor would keep its memory. */
const refusalsOf = (dispatcher: Dispatcher) => (plan: number): number => dispatcher.refusal(plan)

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
  readonly counts: InstanceCounts
  /** Whether all of this pays. */
  readonly trial = new ProgramTrial()
  #restsUntil = 0
  #closed = false

  /** `exports` are those of a patched instance, hidden ones included; `memory` is its memory 0. */
  constructor(
    dispatcher: Dispatcher,
    exports: WebAssembly.Exports,
    prepared: Prepared,
    memory: WebAssembly.Memory,
    mapped: MappedMemory
  ) {
    const { host, policy } = dispatcher
    dispatcher.attachments++
    this.#dispatcher = dispatcher
    this.#memory = memory
    this.#host = host
    this.mapped = mapped
    const table = exports[tableName] as WebAssembly.Table
    const loops = prepared.plan.loops.filter((loop): loop is PlannedLoop => loop._tag === "planned")
    this.counts = new InstanceCounts(loops, refusalsOf(dispatcher))
    this.#states = loops.map((loop, k) => ({
      loop,
      monitor: new ProfitMonitor(policy, loop.instructions, loop.checked > 0, loop.tier === "abortable"),
      threshold: exports[thresholdName(loop.index)] as WebAssembly.Global,
      bytes: prepared.chunks[loop.index]!,
      slot: ++lastSlot,
      module: undefined,
      run: undefined,
      counts: this.counts.loops[k],
      impatience: 0,
      resumeAt: 0,
      unusable: false
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

  /** Whether the next execution of a loop may be handed out as far as the program's own pace tells. */
  admits(state: LoopState, units: number, now: number): boolean {
    const { trial } = this
    if (this.#restsUntil > now) return false
    if (this.#restsUntil > 0) {
      this.#restsUntil = 0
      trial.resume()
    }
    const admitted = trial.admits(state.loop.index, units, this.#host.busy())
    this.counts.pays = trial.pays
    if (trial.state === "resting") {
      this.#restsUntil = now + trial.restMs
      this.#dispatcher.hold(this.#states, this.#restsUntil)
    }
    return admitted
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
    this.counts.unmapped = mapped.reason
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
    const { declined } = state.counts
    declined[why] = (declined[why] ?? 0) + 1
    this.counts.reason = why
    if (why === "compile") state.threshold.value = NEVER
    else if (why === "resting") this.#dispatcher.hold([state], this.#restsUntil)
    else if (why === "no-lanes" || why === "suspended") this.hold(state)
    else if (why === "small" && ++state.impatience >= PATIENCE) {
      state.impatience = 0
      const step = Math.max(1, state.loop.step)
      // Longer executions still ask; this one and shorter ones do not. Where another test than the guest's bounds the
      // loop, its distance says less, and doubling gets there in a few rounds.
      state.resumeAt = Math.min(NEVER - 1, Math.max(2 * state.resumeAt, iterations * step + step))
      if (state.loop.step === 0) this.hold(state)
      else state.threshold.value = state.resumeAt
    }
    return 0
  }

  /** Closes the guest's test until the loop's suspension is over. */
  hold(state: LoopState): void {
    this.#dispatcher.hold([state], Math.max(state.monitor.suspendedUntil, this.#host.now() + LEAST_HOLD_MS))
  }

  /** Notes how many participants worked on a dispatch. */
  used(participants: number): void {
    this.counts.lanesUsed = Math.max(this.counts.lanesUsed, participants)
    this.counts.rung = this.mapped.rung
  }

  /** Makes the instance run natively from now on. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#dispatcher.forget(this.#states)
    for (const state of this.#states) state.threshold.value = NEVER
    this.#dispatcher.lanes.unload(this.#states.map((state) => state.slot), [this.mapped.id])
  }
}

/** Distance below which a loop cannot reach the least work even at a generous guess (1 ns an instruction). */
const firstThreshold = (loop: PlannedLoop, policy: Policy): number => {
  if (policy.minimumWorkNs === 0 || loop.step === 0 || loop.hasInner) return 0
  return Math.min(0x7ffffffe, Math.floor(policy.minimumWorkNs / (4 * loop.instructions)) * loop.step)
}
