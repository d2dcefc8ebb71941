/**
 * Binds the instances of patched modules: first without the engine, and with it once the planned loops do something.
 * Loaded when the first module is patched.
 *
 * @since 0.1.0
 */
import type { Prepared } from "../../src/plan/prepare.ts"
import { type Bundle, decodeBundle, withBundle } from "./bundle.ts"
import { bindDeferred } from "./deferred.ts"
import type { EngineReport, InstanceReport } from "./engine.ts"
import { visibleExports } from "./marker.ts"
import { engineExports } from "./original.ts"

/** Instances that are remembered for the report. */
const maximumInstances = 1024

/**
 * The part of the engine that is used here.
 *
 * @category models
 * @since 0.1.0
 */
export interface BinderEngine {
  bind(instance: WebAssembly.Instance, prepared: Prepared, importObject: unknown): unknown
  report(): EngineReport
}

/**
 * Who counts the instances of a module.
 *
 * @category models
 * @since 0.1.0
 */
export interface InstanceCounter {
  instances: number
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
  module: InstanceCounter
  bundle: Bundle | Uint8Array
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

  /** Makes a module known that was patched in this thread. */
  add(identity: bigint, bundle: Uint8Array, module: InstanceCounter): void {
    if (!this.#bindable.has(identity)) this.#bindable.set(identity, { module, bundle })
  }

  /** Makes a module known that another thread patched; its number, where it was not known and can be used here. */
  adopt(clone: Uint8Array): bigint | undefined {
    const bundle = decodeBundle(clone, this.#build)
    if (bundle === undefined || this.#bindable.has(bundle.identity)) return undefined
    this.#bindable.set(bundle.identity, { module: { instances: 0 }, bundle })
    return bundle.identity
  }

  /** Says who counts the instances of an adopted module. */
  own(identity: bigint, module: InstanceCounter): void {
    const bindable = this.#bindable.get(identity)
    if (bindable !== undefined) bindable.module = module
  }

  /** The patched module as it is compiled: what its instances are bound with goes along. */
  complete(module: Uint8Array, bundle: Uint8Array): Uint8Array {
    return withBundle(module, bundle)
  }

  /** Connects an instance; the exports that its program sees. */
  bind(instance: WebAssembly.Instance, identity: bigint): WebAssembly.Exports {
    const exports = engineExports(instance)
    const visible = visibleExports(exports)
    const bindable = this.#bindable.get(identity)
    const bundle = bindable === undefined ? undefined : this.#bundleOf(bindable)
    if (bindable === undefined || bundle === undefined) return visible
    bindable.module.instances++
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
    engine.bind(instance, { plan, guest: new Uint8Array(0), guard, chunks }, undefined)
  }
}
