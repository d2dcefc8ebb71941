/**
 * The engine of one Node.js thread: binds patched instances to lanes over mapped memories. Plain code: the drop-in and
 * the Effect layers both stand on it.
 *
 * @since 0.1.0
 */
import { Attachment } from "../../src/lane/attachment.ts"
import type { AttachmentReport, InstanceCounts } from "../../src/lane/counts.ts"
import { Dispatcher, type DispatcherHost, type DispatchRecord } from "../../src/lane/dispatcher.ts"
import type { LanesReport, MappedMemory, Rung } from "../../src/lane/lanes.ts"
import { defaultPolicy } from "../../src/lane/monitor.ts"
import { memoryName } from "../../src/plan/hidden.ts"
import type { Prepared } from "../../src/plan/prepare.ts"
import { isSharedBuffer } from "../../src/wire/realm.ts"
import { aliasMapping } from "./alias.ts"
import { calibratedPolicy, type Calibration } from "./calibration.ts"
import { probeNative } from "./ffi.ts"
import { compiledGuard } from "./guards.ts"
import { NodeLanes } from "./lanes.ts"
import { visibleExports } from "./marker.ts"
import { compileOptimised } from "./optimised.ts"
import { clock, engineExports, original } from "./original.ts"
import { sharedMapping } from "./shared.ts"

/**
 * How an engine works.
 *
 * @category models
 * @since 0.1.0
 */
export interface EngineOptions {
  /** Threads that work on a loop, the owner included; 1 runs everything natively. */
  readonly workers: number
  /** Least work of one loop execution that is handed out, in nanoseconds of one thread; 0 admits all. */
  readonly minimumWorkNs?: number | undefined
  /** What handing out was measured to cost; undefined: the defaults of the policy. */
  readonly calibration?: Calibration | undefined
  /** Hand out loops over a shared memory that the guest was given: it may have threads of its own. Off by default. */
  readonly sharedGiven?: boolean | undefined
  /** More lanes than CPUs, for checking and not for speed. Off by default. */
  readonly oversubscribe?: boolean | undefined
}

/**
 * An instance as its user sees it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Binding {
  /** The exports without hidden names; frozen, without a prototype. */
  readonly exports: WebAssembly.Exports
  readonly memory: WebAssembly.Memory | undefined
  readonly report: () => InstanceReport
  /** Makes the instance run natively from now on. */
  readonly close: () => void
}

/**
 * Counts of one instance, or why it is native.
 *
 * @category models
 * @since 0.1.0
 */
export interface InstanceReport extends AttachmentReport {
  /** Why the instance was not connected at all. */
  readonly native: string | undefined
}

/**
 * Counts of an engine.
 *
 * @category models
 * @since 0.1.0
 */
export interface EngineReport {
  /** Threads that may work on a loop, the owner included. */
  readonly width: number
  /** Most threads that worked on one loop; 0 before the first dispatch. */
  readonly lanesUsed: number
  readonly dispatches: number
  readonly iterations: number
  readonly aborts: number
  readonly rung: Rung | undefined
  /** Why no loop was handed out, where none was. */
  readonly reason: string | undefined
  readonly lanes: LanesReport
  readonly instances: ReadonlyArray<InstanceReport>
  /** The newest dispatches, oldest first. */
  readonly timeline: ReadonlyArray<DispatchRecord>
}

const nothing: AttachmentReport = {
  dispatches: 0,
  iterations: 0,
  aborts: 0,
  lanesUsed: 0,
  rung: undefined,
  unmapped: undefined,
  reason: undefined,
  loops: [],
  pays: undefined
}

// Reports must not keep an instance alive: they are made where none is in reach.
const nativeReport = (reason: string) => (): InstanceReport => ({ ...nothing, native: reason, reason })
const countedReport = (counts: InstanceCounts) => (): InstanceReport => ({ ...counts.report(), native: undefined })

/** Instances whose counts are kept apart; those of further ones are added up. */
const MAXIMUM_INSTANCES = 256

/** Clock, compiler and timer of a thread. @category models @since 0.1.0 */
export const nodeHost: DispatcherHost = {
  now: () => clock.now(),
  busy: () => clock.busy(),
  compile: (bytes, hot) => hot ? compileOptimised(bytes) : compiledGuard(bytes),
  instantiate: (module, imports) => new original.Instance(module, imports),
  later: (milliseconds, run) => void clock.setTimeout(run, milliseconds).unref()
}

/**
 * The engine of one thread.
 *
 * @category models
 * @since 0.1.0
 */
export class NodeEngine {
  readonly lanes: NodeLanes
  readonly #options: EngineOptions
  readonly #dispatcher: Dispatcher
  readonly #bindings: Array<() => InstanceReport> = []
  #closing: Promise<void> | undefined

  constructor(options: EngineOptions) {
    this.#options = options
    this.lanes = new NodeLanes({
      lanes: Math.max(0, options.workers - 1),
      ...(options.oversubscribe === true ? { oversubscribe: true } : {})
    })
    const policy = calibratedPolicy(defaultPolicy, options.calibration)
    const minimumWorkNs = options.minimumWorkNs ?? policy.minimumWorkNs
    this.#dispatcher = new Dispatcher(this.lanes, { ...policy, minimumWorkNs }, nodeHost)
  }

  /**
   * Connects the planned loops of a patched instance. Never throws: an instance that cannot be connected runs natively
   * and its report says why. The guest's memory is a hidden export.
   *
   * @param trusted whether lanes have paid for this module in earlier runs, so that it need not be tried at once
   */
  bind(instance: WebAssembly.Instance, prepared: Prepared, trusted = false): Binding {
    const all = engineExports(instance)
    const memory = all[memoryName] as WebAssembly.Memory | undefined
    const exports = visibleExports(all)
    const connected = this.#connect(all, prepared, memory)
    const report = typeof connected === "string" ? nativeReport(connected) : countedReport(connected.counts)
    if (trusted && typeof connected !== "string") connected.trial.trust(clock.busy())
    if (this.#bindings.length < MAXIMUM_INSTANCES) this.#bindings.push(report)
    return { exports, memory, report, close: () => typeof connected === "string" ? undefined : connected.close() }
  }

  #connect(
    exports: WebAssembly.Exports,
    prepared: Prepared,
    memory: WebAssembly.Memory | undefined
  ): Attachment | string {
    if (prepared.guard === undefined) return "no loop of the module can run on several threads"
    if (memory === undefined) return "the instance was not made of the patched module"
    if (this.#closing !== undefined) return "the engine is closed"
    if (this.lanes.count === 0) {
      return this.lanes.report().reasons[0] ?? "one worker was asked for, so there is nobody to share work with"
    }
    const mapped = this.#map(memory, prepared)
    if (typeof mapped === "string") return mapped
    try {
      return new Attachment(this.#dispatcher, exports, prepared, memory, mapped)
    } catch (error) {
      return `the runtime could not be attached: ${error instanceof Error ? error.message : String(error)}`
    }
  }

  #map(memory: WebAssembly.Memory, prepared: Prepared): MappedMemory | string {
    if (isSharedBuffer(memory.buffer)) {
      // Declared unshared, and owned: preparation has rewritten it.
      if (prepared.plan.memory?.shared === false) return sharedMapping(memory, "shared-fixed")
      return this.#options.sharedGiven === true
        ? sharedMapping(memory, "shared-given")
        : "its memory is shared with threads of its own"
    }
    const calls = probeNative()
    return typeof calls === "string" ? calls : aliasMapping(memory, calls)
  }

  /** Counts so far. */
  report(): EngineReport {
    const instances = this.#bindings.map((report) => report())
    const sum = (pick: (report: InstanceReport) => number): number => instances.reduce((n, one) => n + pick(one), 0)
    return {
      width: this.lanes.count + 1,
      lanesUsed: instances.reduce((most, one) => Math.max(most, one.lanesUsed), 0),
      dispatches: sum((one) => one.dispatches),
      iterations: sum((one) => one.iterations),
      aborts: sum((one) => one.aborts),
      rung: instances.find((one) => one.rung !== undefined)?.rung,
      reason: instances.find((one) => one.reason !== undefined)?.reason,
      lanes: this.lanes.report(),
      instances,
      timeline: this.#dispatcher.records
    }
  }

  /** Stops the lanes and waits for their threads. Idempotent. */
  close(): Promise<void> {
    return this.#closing ??= this.lanes.close()
  }
}
