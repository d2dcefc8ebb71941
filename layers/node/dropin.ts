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
 * Made when the first module is compiled, never before. The compiler and the engine are loaded later still: the one when
 * a module is not in the cache, the other when planned loops do something.
 *
 * @since 0.1.0
 */
import type { prepare as Prepare } from "../../src/plan/prepare.ts"
import { Binder, type BinderEngine, type InstanceCounter } from "./binder.ts"
import { buildIdentity } from "./build-identity.ts"
import { bundleIdentity } from "./bundle.ts"
import type * as CacheStore from "./cache-store.ts"
import { cacheDirectory, entriesIn, fingerprint, historiesIn, PatchCache } from "./cache.ts"
import { makeDecisions, type Substitution } from "./decisions.ts"
import { type CacheEntry, decodeEntry } from "./entry.ts"
import { Histories, type History, learn, paysOf } from "./history.ts"
import type { Decisions } from "./intercept.ts"
import { clock } from "./original.ts"
import type * as Queue from "./preparation-queue.ts"
import type { PreparationTarget } from "./preparation-worker.ts"
import type * as Preparing from "./preparation.ts"
import type * as Report from "./report.ts"
import { requireModule } from "./require.ts"
import type { Settings } from "./settings.ts"

/**
 * Milliseconds that the program waits for the analysis of a module that the cache does not know. Loading the compiler,
 * once a process, comes on top.
 */
const budgetMs = 20

/** Bytes of a module that no analysis gets through within the budget: it takes about half a second for a megabyte. */
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

/** Milliseconds that a program has for its start before another thread prepares something for the next one. */
const startsFirstMs = 500

/** The rung of entries with chosen loops alone. */
const chosenRung = (rung: string): string => `${rung}.chosen`

/** A module that the program compiled, and what stays in memory of it. */
interface Known {
  readonly record: ModuleRecord
  /** The module's entry as bytes. Held weakly where the cache has it as well: a patched module is as large as itself. */
  entry: { deref(): Uint8Array | undefined } | undefined
  /** Facts for the report, as JSON. */
  summary: string | undefined
  readonly instances: InstanceCounter
  history: History | undefined
  /** Where earlier runs tell which loops are worth it: the shares that say so. */
  chosen: ReadonlyMap<number, number> | undefined
  /** Whether only these are patched. */
  isChosen: boolean
}

type ModuleRecord = {
  -readonly [Key in Exclude<keyof Report.ModuleReport, "summary" | "instances" | "execution">]: Report.ModuleReport[Key]
}

const newModule = (bytes: number | undefined, from: string | undefined): Known => ({
  record: {
    sha256: undefined,
    bytes,
    from,
    state: "unprepared",
    reason: undefined,
    cacheHit: false,
    compilations: 0
  },
  entry: undefined,
  summary: undefined,
  instances: { count: 0, boundAt: undefined, trusted: false },
  history: undefined,
  chosen: undefined,
  isChosen: false
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
  /** Entries with the loops alone that earlier runs have chosen. */
  readonly #chosen: PatchCache | undefined
  readonly #histories: Histories | undefined
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
    if (this.#directory !== undefined && options.settings.learn) {
      this.#histories = new Histories(historiesIn(this.#directory))
      this.#chosen = new PatchCache(this.#directory, { build: this.#build, rung: chosenRung(options.rung) })
      process.on("exit", () => this.#learn())
    }
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
      this.#modules.set(print, known)
      this.#recall(known, print)
    }
    known.record.compilations++
    if (known.record.state === "native") return undefined
    const kept = known.entry?.deref()
    // Same fingerprint, other bytes: rare, and served natively.
    if (kept !== undefined) return decodeEntry(kept, bytes)?.patched?.module
    const chosen = known.chosen === undefined ? undefined : this.#chosen?.lookup(bytes, print)
    known.isChosen = chosen?._tag === "found" && chosen.entry.patched !== undefined
    const found = known.isChosen ? chosen : this.#cache?.lookup(bytes, print)
    if (found?._tag === "found") {
      if (known.chosen !== undefined && !known.isChosen) this.#choose(known.chosen, bytes)
      known.record.cacheHit = true
      known.entry = new WeakRef(found.bytes)
      return this.#accept(known, found.entry)
    }
    // Of all that is known only the report's readers need it; of a prepared module it is known.
    if (this.#options.settings.report !== undefined) known.record.sha256 ??= sha256(bytes)
    const damaged = found?._tag === "damaged"
    if (damaged) this.#warn(`folio: the cache entry ${found.file} was damaged (${found.reason}) and is removed`)
    const made = this.#analyse(known, bytes, damaged)
    const entry = made === undefined ? undefined : decodeEntry(made, bytes)
    if (made === undefined || entry === undefined) return undefined
    const stored = this.#cache?.store(bytes, made) === true
    known.entry = stored ? new WeakRef(made) : { deref: () => made }
    return this.#accept(known, entry)
  }

  adopt(clone: Uint8Array): void {
    const identity = this.#binder.unknown(clone)
    if (identity === undefined) return
    const known = newModule(undefined, undefined)
    known.record.state = "patched"
    this.#modules.set(`clone ${identity}`, known)
    this.#binder.add(identity, clone, known.instances)
  }

  bind(instance: WebAssembly.Instance, identity: bigint): WebAssembly.Exports {
    return this.#binder.bind(instance, identity)
  }

  /** What earlier runs say of a module. */
  #recall(known: Known, print: string): void {
    const history = this.#cache && this.#histories?.read(this.#cache.nameOf(print))
    if (history === undefined) return
    known.history = history
    known.instances.trusted = history.pays === true
    if (Date.now() >= history.until) return
    if (history.pays === true) known.chosen = new Map(history.loops.map((offset) => [offset, 1]))
    if (history.pays !== false) return
    known.summary = history.summary
    known.record.state = "native"
    known.record.reason = "its loops gained nothing in earlier runs; it is tried again " +
      `after ${new Date(history.until).toISOString()} (FOLIO_LEARN=0: at once)`
  }

  /** Prepares a module with the loops alone that earlier runs have chosen, for the next start. */
  #choose(profile: ReadonlyMap<number, number>, bytes: Uint8Array): void {
    if (this.#directory === undefined || this.#options.settings.prepare === "off") return
    const target = { ...this.#target(this.#directory), rung: chosenRung(this.#options.rung), profile }
    // The program may do with its bytes as it likes, and is to start first.
    const copy = bytes.slice()
    clock.setTimeout(() => {
      const { PreparationQueue } = requireModule<typeof Queue>("./preparation-queue")
      new PreparationQueue(target).add(copy)
    }, startsFirstMs).unref()
  }

  /** Whom a thread prepares modules for. */
  #target(directory: string): PreparationTarget {
    const { rung, settings } = this.#options
    return { directory, build: this.#build, rung, budget: settings.budget, progressMs: undefined }
  }

  /** Keeps what this run says of its modules. */
  #learn(): void {
    const engine = this.#binder.report()
    const now = clock.busy()
    for (const [print, known] of this.#modules) {
      const { history, summary } = known
      const { boundAt } = known.instances
      if (boundAt === undefined || this.#cache === undefined) continue
      const instances = engine.instancesOf(known.instances)
      const all = instances.flatMap(({ loops }) => loops)
      const gainedMs = all.reduce((sum, loop) => sum + loop.gainedMs, 0)
      const used = new Set(all.filter(({ dispatches }) => dispatches > 0).map(({ offset }) => offset))
      const loops = known.isChosen ? undefined : [...used].sort((a, b) => a - b)
      const observed = { busyMs: now - boundAt, gainedMs, pays: paysOf(instances), loops, summary }
      const learnt = learn(history, observed, Date.now())
      if (history !== undefined && history.loops.join() !== learnt.loops.join()) this.#chosen?.remove(print)
      this.#histories?.write(this.#cache.nameOf(print), learnt)
    }
  }

  report(): Report.DropInFacts {
    const { addUp, idleReason } = requireModule<typeof Report>("./report")
    const engine = this.#binder.report()
    const modules = [...this.#modules.values()].map(({ instances: counter, record, summary }): Report.ModuleReport => {
      const instances = engine.instancesOf(counter)
      const execution = addUp(instances)
      const found = summary === undefined ? undefined : JSON.parse(summary) as Preparing.PreparationSummary
      const reason = record.state === "patched"
        ? idleReason(counter.count, execution, instances)
        : record.state === "native"
        ? record.reason ?? found?.refusal ?? "no loop of it can run on several threads"
        : record.reason
      const sha256 = record.sha256 ?? found?.sha256
      return { ...record, sha256, summary: found, instances: counter.count, reason, execution }
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

  /** The module to compile, by what is known of it. */
  #accept(known: Known, { patched, summary }: CacheEntry): Uint8Array | undefined {
    const { record } = known
    known.summary = summary
    if (patched === undefined) {
      record.state = "native"
      return undefined
    }
    const bundle = patched.module.subarray(patched.bundle)
    const identity = bundleIdentity(bundle, this.#build)
    if (identity === undefined) return undefined
    record.state = "patched"
    record.reason = undefined
    this.#binder.add(identity, bundle, known.instances)
    return patched.module
  }

  /** What the analysis finds, if it may begin and ends in time. */
  #analyse(known: Known, bytes: Uint8Array, later: boolean): Uint8Array | undefined {
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
      if (complete || waits) return entry
    } catch (error) {
      // Bytes that are no module, or a fault of the compiler's own: the engine has them as they are.
      return nativeEntry(bytes, `it cannot be analysed: ${error instanceof Error ? error.message : String(error)}`)
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
    this.#queue ??= new PreparationQueue(this.#target(this.#directory))
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
