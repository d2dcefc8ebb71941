/**
 * The drop-in of one thread: what happens to each module that the program compiles.
 *
 * ```text
 * bytes ── known in this thread? ── in the cache? ── FOLIO_PREPARE
 *              │                        │               ├ wait        analyse it, keep what was found
 *              │                        │               ├ background  analyse within the budget, keep it;
 *              │                        │               │             beyond that: native now, a thread fills the cache
 *              │                        │               └ off         native
 *              └────────────────────────┴──── patched module, or native
 * ```
 *
 * Loaded when the first module is compiled, never before. The compiler and the engine are loaded later still: the one
 * when a module is not in the cache, the other when planned loops do something.
 *
 * @since 0.1.0
 */
import type { prepare as Prepare } from "../../src/plan/prepare.ts"
import { Binder, type BinderEngine } from "./binder.ts"
import type * as CacheStore from "./cache-store.ts"
import { buildIdentity, cacheDirectory, entriesIn, fingerprint, PatchCache } from "./cache.ts"
import { makeDecisions, type Substitution } from "./decisions.ts"
import { type CacheEntry, hash128, identityIn, patchedModule, sameBytes } from "./entry.ts"
import type { Decisions } from "./intercept.ts"
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
  readonly engine: () => BinderEngine
}

/** A module that the program compiled, and what stays in memory of it. */
interface Known {
  readonly record: { -readonly [Key in keyof Report.ModuleReport]: Report.ModuleReport[Key] }
  entry: CacheEntry | undefined
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
  readonly #binder: Binder
  #prepare: typeof Prepare | undefined
  #queue: Queue.PreparationQueue | undefined
  #warned = false
  #overflow = 0

  constructor(options: DropInOptions) {
    this.#options = options
    this.#binder = new Binder(this.#build, options.engine)
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
      // Of all that is known only the report's readers need it.
      if (this.#options.settings.report !== undefined) known.record.sha256 = sha256(bytes)
      this.#modules.set(print, known)
    }
    known.record.compilations++
    if (known.entry !== undefined) return this.#again(known.entry, bytes)
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
    const identity = this.#binder.unknown(clone)
    if (identity === undefined) return
    const known = newModule(undefined, undefined)
    known.record.state = "patched"
    this.#modules.set(`clone ${identity}`, known)
    this.#binder.add(identity, clone, known.record)
  }

  bind(instance: WebAssembly.Instance, identity: bigint): WebAssembly.Exports {
    return this.#binder.bind(instance, identity)
  }

  report(): Report.DropInFacts {
    const { addUp, idleReason } = requireModule<typeof Report>("./report")
    const engine = this.#binder.report()
    const modules = [...this.#modules.values()].map(({ record }): Report.ModuleReport => {
      const instances = engine.instancesOf(record)
      const execution = addUp(instances)
      const reason = record.state === "patched" ? idleReason(record.instances, execution, instances) : record.reason
      return { ...record, reason, execution }
    })
    return {
      build: this.#build,
      rung: this.#options.rung,
      cache: { directory: this.#directory, reason: this.#queue?.refused ?? this.#cache?.reason },
      modules,
      overflow: this.#overflow,
      engine: engine.counts
    }
  }

  /** A module that this thread has compiled before. */
  #again({ patch }: CacheEntry, bytes: Uint8Array): Uint8Array | undefined {
    // Same fingerprint, other bytes: rare, and served natively.
    if (patch === undefined || !sameBytes(patch.hash, hash128(bytes))) return undefined
    return patchedModule(bytes, patch)
  }

  #accept(known: Known, bytes: Uint8Array, entry: CacheEntry, module: Uint8Array | undefined): Uint8Array | undefined {
    const { patch } = entry
    const { record } = known
    known.entry = entry
    record.summary = JSON.parse(entry.summary) as Preparing.PreparationSummary
    if (patch === undefined) {
      record.state = "native"
      record.reason = record.summary.refusal ?? "no loop of it can run on several threads"
      return undefined
    }
    record.state = "patched"
    record.reason = undefined
    this.#binder.add(identityIn(patch.hash), patch.bundle, record)
    return module ?? patchedModule(bytes, patch)
  }

  /** What the analysis finds, if it may begin and ends in time. */
  #analyse(known: Known, bytes: Uint8Array, later: boolean): CacheEntry | undefined {
    const { budget, prepare } = this.#options.settings
    if (prepare === "off") {
      known.record.reason = "it is not in the cache, and FOLIO_PREPARE=off"
      return undefined
    }
    const waits = prepare === "wait"
    if (!waits && (later || known.record.state === "pending" || bytes.length > hopelessBytes)) {
      this.#postpone(known, bytes)
      return undefined
    }
    const { nativeEntry, prepareModule } = requireModule<typeof Preparing>("./preparation")
    this.#prepare ??= this.#options.compiler()
    const limits = waits ? budget : { budgetMs, allOrNothing: true }
    try {
      const { complete, entry } = prepareModule(bytes, { build: this.#build, prepare: this.#prepare, ...limits })
      if (complete || waits) {
        this.#cache?.store(bytes, entry)
        return entry
      }
    } catch (error) {
      // Bytes that are no module, or a fault of the compiler's own: the engine has them as they are.
      return nativeEntry(`it cannot be analysed: ${error instanceof Error ? error.message : String(error)}`)
    }
    this.#postpone(known, bytes)
    return undefined
  }

  /** Native now; the cache may know it at the next start. */
  #postpone(known: Known, bytes: Uint8Array): void {
    if (known.record.state === "pending") return
    if (this.#directory === undefined) {
      known.record.reason =
        `its analysis takes more than ${budgetMs} ms and there is no cache to keep it for the next start`
      return
    }
    const { writeRefusal } = requireModule<typeof CacheStore>("./cache-store")
    const refusal = writeRefusal(entriesIn(this.#directory))
    if (refusal !== undefined) {
      known.record.reason =
        `its analysis takes more than ${budgetMs} ms and the cache cannot keep it for the next start: ${refusal}`
      return
    }
    const { PreparationQueue } = requireModule<typeof Queue>("./preparation-queue")
    this.#queue ??= new PreparationQueue({
      directory: this.#directory,
      build: this.#build,
      rung: this.#options.rung,
      budget: this.#options.settings.budget,
      progressMs: undefined
    })
    if (this.#queue.add(bytes)) {
      known.record.state = "pending"
      known.record.reason = "it was not in the cache; it is being prepared for the next start"
    } else known.record.reason = "too many modules wait to be prepared"
  }

  #warn(line: string): void {
    if (this.#warned) return
    this.#warned = true
    try {
      process.getBuiltinModule("node:fs").writeSync(2, `${line}\n`)
    } catch {
      // Nobody reads stderr.
    }
  }
}

const sha256 = (bytes: Uint8Array): string => process.getBuiltinModule("node:crypto").hash("sha256", bytes, "hex")

/**
 * The drop-in of a thread, as what decides about its calls.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeDropIn = (options: DropInOptions): { readonly dropIn: DropIn; readonly decisions: Decisions } => {
  const dropIn = new DropIn(options)
  return { dropIn, decisions: makeDecisions(dropIn) }
}
