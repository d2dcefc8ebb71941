/**
 * Binds the instances of patched modules. Loaded when the first module is patched.
 *
 * As long as no planned loop does much the engine is not worth loading. Until then an instance has its guards, with
 * thresholds that let only long executions through, and a `dispatch` that adds up what comes by and answers that nothing
 * was done, so that every loop runs natively. When enough has come by the instance is bound to the engine, which
 * replaces all of this.
 *
 * @since 0.1.0
 */
import { makeControl } from "../../src/lane/control.ts"
import { memoryName, tableName, thresholdName } from "../../src/plan/hidden.ts"
import type { Prepared } from "../../src/plan/prepare.ts"
import type { PlannedLoop } from "../../src/plan/types.ts"
import { type Bundle, bundleIdentity, decodeBundle } from "./bundle.ts"
import type { EngineReport, InstanceReport } from "./engine.ts"
import { compiledGuard } from "./guards.ts"
import { visibleExports } from "./marker.ts"
import { clock, engineExports, original } from "./original.ts"

/** Instances that are remembered for the report. */
const maximumInstances = 1024

/**
 * The part of the engine that is used here.
 *
 * @category models
 * @since 0.1.0
 */
export interface BinderEngine {
  bind(instance: WebAssembly.Instance, prepared: Prepared, trusted?: boolean): unknown
  report(): EngineReport
}

/**
 * The instances of a module, as they are counted.
 *
 * @category models
 * @since 0.1.0
 */
export interface InstanceCounter {
  count: number
  /** When the first one was bound, on the clock of busy time (ms). */
  boundAt: number | undefined
  /** Whether lanes have paid in earlier runs. */
  trusted: boolean
}

/**
 * What the engine did, by module.
 *
 * @category models
 * @since 0.1.0
 */
export interface BinderReport {
  readonly counts: Omit<EngineReport, "instances"> | undefined
  readonly instancesOf: (module: InstanceCounter) => ReadonlyArray<InstanceReport>
}

/** What the instances of a patched module are bound with: as bytes until the first one is. */
interface Bindable {
  readonly module: InstanceCounter
  bundle: Bundle | Uint8Array
}

/** Instructions of one execution below which a guard is not asked: about ten microseconds, too little for any lane. */
const leastWork = 40_000

/**
 * Instructions seen in such executions for which the engine is worth loading: about as long as loading it and starting
 * lanes takes, ten milliseconds. One long execution is enough.
 */
const enoughWork = 30_000_000

/** Instructions that a thread may do in a millisecond, at most. */
const instructionsPerMs = 5_000_000

/** The work of an inner loop is counted once; it will have run several times. */
const innerFactor = 8

/** A threshold that nothing exceeds. */
const never = 0x7fffffff

/** One page, for guards to write what nobody reads. */
let control: WebAssembly.Memory | undefined

const thresholdOf = ({ hasInner, instructions, step }: PlannedLoop): number =>
  step === 0 || hasInner ? 0 : Math.min(never - 1, Math.floor(leastWork / Math.max(1, instructions)) * step)

/**
 * Connects the guards of an instance without the engine. `enough` is called once, from inside a running loop, when the
 * planned loops have seen enough work.
 */
const bindDeferred = (exports: WebAssembly.Exports, { guard, plan }: Bundle, enough: () => void): void => {
  const loops = plan.loops.filter((loop): loop is PlannedLoop => loop._tag === "planned")
  const setThresholds = (value: (loop: PlannedLoop) => number): void => {
    for (const loop of loops) (exports[thresholdName(loop.index)] as WebAssembly.Global).value = value(loop)
  }
  let work = 0
  let lastMs = 0
  let lastWork = 0
  const dispatch = (index: number, iterations: number, units: number): number => {
    const { hasInner, tier } = loops[index]
    const expected = iterations * units * (hasInner ? innerFactor : 1)
    if (tier === "direct") work += expected
    else {
      // It may end early: it has done no more than there was time for until a loop comes by again.
      const now = clock.now()
      work += Math.min(lastWork, (now - lastMs) * instructionsPerMs)
      lastMs = now
      lastWork = expected
    }
    if (work >= enoughWork) {
      work = Number.NEGATIVE_INFINITY
      setThresholds(() => never)
      try {
        enough()
      } catch {
        // There is no engine to be had: the loops stay native.
      }
    }
    return 0
  }
  control ??= makeControl(0)
  const memory = exports[memoryName] as WebAssembly.Memory
  const enter = new original.Instance(compiledGuard(guard), { folio: { memory, control, dispatch } }).exports
  const table = exports[tableName] as WebAssembly.Table
  for (const { index } of loops) table.set(index, enter[`enter${index}`])
  setThresholds(thresholdOf)
}

/**
 * The instances of one thread.
 *
 * @category models
 * @since 0.1.0
 */
export class Binder {
  readonly #build: string
  readonly #makeEngine: () => BinderEngine
  readonly #bindable = new Map<bigint, Bindable>()
  /** Whose instances the engine was given, in that order: it reports on instances, not on modules. */
  readonly #given: Array<InstanceCounter> = []
  #engine: BinderEngine | undefined

  constructor(build: string, makeEngine: () => BinderEngine) {
    this.#build = build
    this.#makeEngine = makeEngine
  }

  /** Makes a patched module known. */
  add(identity: bigint, bundle: Uint8Array, module: InstanceCounter): void {
    if (!this.#bindable.has(identity)) this.#bindable.set(identity, { module, bundle })
  }

  /** The number of a module that another thread patched, where it is not known yet and can be used here. */
  unknown(clone: Uint8Array): bigint | undefined {
    const identity = bundleIdentity(clone, this.#build)
    return identity === undefined || this.#bindable.has(identity) ? undefined : identity
  }

  /** Connects an instance; the exports that its program sees. */
  bind(instance: WebAssembly.Instance, identity: bigint): WebAssembly.Exports {
    const exports = engineExports(instance)
    const visible = visibleExports(exports)
    const bindable = this.#bindable.get(identity)
    const bundle = bindable === undefined ? undefined : this.#bundleOf(bindable)
    if (bindable === undefined || bundle === undefined) return visible
    bindable.module.count++
    bindable.module.boundAt ??= clock.busy()
    if (this.#engine !== undefined) this.#give(this.#engine, instance, bundle, bindable.module)
    else {
      // Of itself this must not keep an instance that the program has let go.
      const held = new WeakRef(instance)
      bindDeferred(exports, bundle, () => {
        const kept = held.deref()
        this.#engine ??= this.#makeEngine()
        if (kept !== undefined) this.#give(this.#engine, kept, bundle, bindable.module)
      })
    }
    return visible
  }

  report(): BinderReport {
    const report = this.#engine?.report()
    if (report === undefined) return { counts: undefined, instancesOf: () => [] }
    const { aborts, dispatches, instances, iterations, lanes, lanesUsed, reason, rung, timeline, width } = report
    return {
      counts: { width, lanesUsed, dispatches, iterations, aborts, rung, reason, lanes, timeline },
      instancesOf: (module) => instances.filter((_, index) => this.#given[index] === module)
    }
  }

  #bundleOf(bindable: Bindable): Bundle | undefined {
    if (!(bindable.bundle instanceof Uint8Array)) return bindable.bundle
    const bundle = decodeBundle(bindable.bundle, this.#build)
    if (bundle !== undefined) bindable.bundle = bundle
    return bundle
  }

  #give(engine: BinderEngine, instance: WebAssembly.Instance, bundle: Bundle, module: InstanceCounter): void {
    const { chunks, guard, plan } = bundle
    if (this.#given.length < maximumInstances) this.#given.push(module)
    // Of the patched module nothing is needed any more, of the imports nothing at all: memory is a hidden export.
    engine.bind(instance, { plan, guest: new Uint8Array(0), guard, chunks }, module.trusted)
  }
}
