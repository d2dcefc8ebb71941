/**
 * The drop-in of one thread: what happens to each module that the program compiles.
 *
 * ```text
 * bytes ── known in this thread? ── in the cache? ── FOLIO_PREPARE
 *              │                        │               ├ wait        analyse all of it, keep it
 *              │                        │               ├ background  analyse within the budget, keep it;
 *              │                        │               │             beyond that: native now, a thread fills the cache
 *              │                        │               └ off         native
 *              └────────────────────────┴──── patched module, or native
 * ```
 *
 * Loaded when the first module is compiled, never before. The compiler and the engine are loaded later still: the one
 * when a module is not in the cache, the other when an instance has to be bound.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import type { prepare as Prepare, Prepared } from "../../src/plan/prepare.ts"
import { buildIdentity } from "./build.ts"
import { type Bundle, decodeBundle, withBundle } from "./bundle.ts"
import { cacheDirectory, type CacheEntry, fingerprint, PatchCache, sha256 } from "./cache.ts"
import type { Substitution } from "./decisions.ts"
import type { EngineReport } from "./engine.ts"
import { visibleExports } from "./marker.ts"
import { engineExports } from "./original.ts"
import { applyPatch } from "./patch.ts"
import type * as Queue from "./preparation-queue.ts"
import type * as Preparing from "./preparation.ts"
import type * as Report from "./report.ts"
import { requireModule } from "./require.ts"
import type { Settings } from "./settings.ts"

/**
 * Milliseconds that the program waits for the analysis of a module that the cache does not know. Loading the compiler,
 * once a process, comes on top.
 */
const budgetMs = 20

/** Bytes of a module that no analysis gets through within the budget: it takes about a second for a megabyte. */
const hopelessBytes = 1024 * 1024

/** Most modules that are looked at; a program that has more of them makes them up as it goes. */
const maximumModules = 1024

/**
 * The part of the runtime that the drop-in uses.
 *
 * @category models
 * @since 0.1.0
 */
export interface DropInEngine {
  bind(
    instance: WebAssembly.Instance,
    prepared: Prepared,
    importObject: unknown
  ): { readonly exports: WebAssembly.Exports }
  report(): EngineReport
}

/**
 * What the drop-in is made of. Compiler and engine are asked for once each, when they are needed.
 *
 * @category models
 * @since 0.1.0
 */
export interface DropInOptions {
  readonly settings: Settings
  readonly rung: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly compiler: () => typeof Prepare
  readonly engine: () => DropInEngine
}

/** A module that the program compiled, and what stays in memory of it. */
interface Known {
  readonly record: { -readonly [Key in keyof Report.ModuleReport]: Report.ModuleReport[Key] }
  digest: Uint8Array | undefined
  entry: CacheEntry | undefined
}

/** What the instances of a patched module are bound with: as bytes until the first one is. */
interface Bindable {
  readonly known: Known
  bundle: Bundle | Uint8Array
}

const newModule = (bytes: number | undefined, from: string | undefined): Known => ({
  record: {
    sha256: undefined,
    bytes,
    from,
    state: "unprepared",
    reason: undefined,
    cacheHit: false,
    summary: undefined,
    compilations: 0,
    instances: 0,
    execution: undefined
  },
  digest: undefined,
  entry: undefined
})

/**
 * The drop-in of one thread.
 *
 * @category models
 * @since 0.1.0
 */
export class DropIn implements Substitution {
  readonly #options: DropInOptions
  readonly #build = buildIdentity()
  readonly #directory: string | undefined
  readonly #cache: PatchCache | undefined
  readonly #modules = new Map<string, Known>()
  readonly #bindable = new Map<bigint, Bindable>()
  #prepare: typeof Prepare | undefined
  #engine: DropInEngine | undefined
  #queue: Queue.PreparationQueue | undefined
  #warned = false
  #overflow = 0
  /** Whose instances were bound, in that order: the engine reports on instances, not on modules. */
  readonly #bound: Array<Known> = []

  constructor(options: DropInOptions) {
    this.#options = options
    this.#directory = cacheDirectory(options.settings.cache, options.environment)
    this.#cache = this.#directory === undefined
      ? undefined
      : new PatchCache(this.#directory, { build: this.#build, rung: options.rung })
  }

  substitute(bytes: Uint8Array, from: string | undefined): Uint8Array | undefined {
    const print = fingerprint(bytes)
    let known = this.#modules.get(print)
    if (known === undefined) {
      if (this.#modules.size >= maximumModules) {
        this.#overflow++
        return undefined
      }
      known = newModule(bytes.length, from)
      // Only for the report, and for a patched module.
      if (this.#options.settings.report !== undefined) known.digest = sha256(bytes)
      this.#modules.set(print, known)
    }
    known.record.compilations++
    if (known.entry !== undefined) return this.#again(known, bytes)
    const found = this.#cache?.lookup(bytes)
    if (found?._tag === "found") {
      known.record.cacheHit = true
      return this.#accept(known, bytes, found.entry, found.module)
    }
    const damaged = found?._tag === "damaged"
    if (damaged) this.#warn(`folio: the cache entry ${found.file} was damaged (${found.reason}) and is removed`)
    const entry = this.#analyse(known, bytes, damaged)
    return entry === undefined ? undefined : this.#accept(known, bytes, entry, undefined)
  }

  adopt(clone: Uint8Array): void {
    const bundle = decodeBundle(clone, this.#build)
    if (bundle === undefined || this.#bindable.has(bundle.identity)) return
    const known = newModule(undefined, undefined)
    known.record.state = "patched"
    this.#modules.set(`clone ${bundle.identity}`, known)
    this.#bindable.set(bundle.identity, { known, bundle })
  }

  bind(instance: WebAssembly.Instance, identity: bigint): WebAssembly.Exports {
    const bindable = this.#bindable.get(identity)
    if (bindable === undefined) return visibleExports(engineExports(instance))
    if (bindable.bundle instanceof Uint8Array) {
      const bundle = decodeBundle(bindable.bundle, this.#build)
      if (bundle === undefined) return visibleExports(engineExports(instance))
      bindable.bundle = bundle
    }
    const { chunks, guard, plan } = bindable.bundle
    bindable.known.record.instances++
    if (this.#bound.length < maximumModules) this.#bound.push(bindable.known)
    this.#engine ??= this.#options.engine()
    // Of the patched module nothing is needed any more, of the imports nothing at all: memory is a hidden export.
    return this.#engine.bind(instance, { plan, guest: new Uint8Array(0), guard, chunks }, undefined).exports
  }

  /** A module that this thread has compiled before. */
  #again(known: Known, bytes: Uint8Array): Uint8Array | undefined {
    const patch = known.entry?.patch
    if (patch === undefined) return undefined
    // Same fingerprint, other bytes: rare, and served natively.
    if (known.digest === undefined || Buffer.compare(known.digest, sha256(bytes)) !== 0) return undefined
    return withBundle(applyPatch(bytes, patch.patch, patch.length), patch.bundle)
  }

  #accept(known: Known, bytes: Uint8Array, entry: CacheEntry, module: Uint8Array | undefined): Uint8Array | undefined {
    known.entry = entry
    known.record.summary = JSON.parse(entry.summary) as Preparing.PreparationSummary
    if (entry.patch === undefined) {
      known.record.state = "native"
      known.record.reason = known.record.summary.refusal ?? "no loop of it can run on several threads"
      return undefined
    }
    known.digest ??= sha256(bytes)
    known.record.state = "patched"
    known.record.reason = undefined
    const { bundle, length, patch } = entry.patch
    const identity = identityIn(known.digest)
    if (!this.#bindable.has(identity)) this.#bindable.set(identity, { known, bundle })
    return withBundle(module ?? applyPatch(bytes, patch, length), bundle)
  }

  /** What the analysis finds, where it may take as long as it takes. */
  #analyse(known: Known, bytes: Uint8Array, later: boolean): CacheEntry | undefined {
    const { prepare } = this.#options.settings
    if (prepare === "off") {
      known.record.reason = "it is not in the cache, and FOLIO_PREPARE=off"
      return undefined
    }
    const waits = prepare === "wait"
    if (!waits && (later || known.record.state === "pending" || bytes.length > hopelessBytes)) {
      this.#postpone(known, bytes)
      return undefined
    }
    const { prepareModule } = requireModule<typeof Preparing>("./preparation")
    this.#prepare ??= this.#options.compiler()
    const budget = waits ? {} : { budgetMs }
    const { complete, entry } = prepareModule(bytes, { build: this.#build, prepare: this.#prepare, ...budget })
    if (!complete) {
      this.#postpone(known, bytes)
      return undefined
    }
    this.#cache?.store(bytes, entry)
    return entry
  }

  /** Native now; the cache may know it at the next start. */
  #postpone(known: Known, bytes: Uint8Array): void {
    if (known.record.state === "pending") return
    if (this.#directory === undefined) {
      known.record.reason =
        `its analysis takes more than ${budgetMs} ms and there is no cache to keep it for the next start`
      return
    }
    const { PreparationQueue } = requireModule<typeof Queue>("./preparation-queue")
    this.#queue ??= new PreparationQueue({
      directory: this.#directory,
      build: this.#build,
      rung: this.#options.rung
    })
    if (this.#queue.add(bytes)) {
      known.record.state = "pending"
      known.record.reason = "it was not in the cache; it is being prepared for the next start"
    } else known.record.reason = "too many modules wait to be prepared"
  }

  report(): Report.DropInFacts {
    const { addUp, idleReason } = requireModule<typeof Report>("./report")
    const engine = this.#engine?.report()
    const modules = [...this.#modules.values()].map((known): Report.ModuleReport => {
      const { digest, record } = known
      const instances = engine?.instances.filter((_, index) => this.#bound[index] === known) ?? []
      const execution = addUp(instances)
      return {
        ...record,
        sha256: digest === undefined ? undefined : Buffer.from(digest).toString("hex"),
        reason: record.state === "patched" ? idleReason(execution, instances) : record.reason,
        execution
      }
    })
    return {
      build: this.#build,
      rung: this.#options.rung,
      cache: { directory: this.#directory, reason: this.#cache?.reason },
      modules,
      overflow: this.#overflow,
      engine: engine === undefined ? undefined : withoutInstances(engine)
    }
  }

  #warn(line: string): void {
    if (this.#warned) return
    this.#warned = true
    try {
      Fs.writeSync(2, `${line}\n`)
    } catch {
      // Nobody reads stderr.
    }
  }
}

const identityIn = (digest: Uint8Array): bigint =>
  new DataView(digest.buffer, digest.byteOffset, digest.byteLength).getBigInt64(0, true)

/** What instances did is reported by module. */
const withoutInstances = (report: EngineReport): Omit<EngineReport, "instances"> => {
  const { aborts, dispatches, iterations, lanes, lanesUsed, reason, rung, timeline, width } = report
  return { width, lanesUsed, dispatches, iterations, aborts, rung, reason, lanes, timeline }
}
