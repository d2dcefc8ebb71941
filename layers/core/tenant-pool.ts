/**
 * Tenants, their programs, images and contexts under one budget. Plain and synchronous: what has to be waited for is
 * told to the caller, who asks again.
 *
 * ```text
 * tenant ── its own idle context ──────────────────────────── kept or reset
 *    │ none
 *    ├──── the idle context that was used least recently ──── opened from the image
 *    │ none that fits
 *    └──── a new one, if the budget has room for it; else wait for one in use
 * ```
 *
 * @since 0.1.0
 */
import type { ImageModule } from "../../services/Baking.ts"
import { TenantRefused } from "../../services/TenantErrors.ts"
import type {
  TenantContext,
  TenantLimits,
  TenantOpening,
  TenantOptions,
  TenantProgram,
  TenantsStatus
} from "../../services/Tenants.ts"
import { type Image, PAGE_BYTES } from "../../src/image/model.ts"
import { runHooks } from "../../src/image/replay.ts"
import { type Holding, Ledger } from "../../src/tenants/ledger.ts"
import { programShape, type TenantImage, type TenantInstance } from "./tenant-context.ts"
import type { OwnModule, TenantHost } from "./tenant-host.ts"
import { ownBytes } from "./tenant-module.ts"
import { bytesOf, noRoom, type PooledContext, PooledProgram, type PooledTenant, TenantStates } from "./tenant-states.ts"

/** A context that is held. @category models @since 0.1.0 */
export interface TenantLease {
  readonly context: TenantContext<unknown>
  /** The state of now. Throws a `Mismatch`. */
  readonly capture: () => Image
  readonly release: () => void
}

/**
 * What comes of asking for a context: it is there; the program has to be prepared; a context has to be opened, for which
 * there is room now; or one has to be given back first.
 *
 * @category models
 * @since 0.1.0
 */
export type TenantAttempt =
  | { readonly _tag: "lease"; readonly lease: TenantLease }
  | { readonly _tag: "prepare"; readonly program: PooledProgram }
  | { readonly _tag: "open"; readonly program: PooledProgram; readonly bytes: number }
  | { readonly _tag: "wait" }

/** What the services of tenants do on every host. @category models @since 0.1.0 */
export class TenantPool {
  readonly #host: TenantHost
  readonly #ledger: Ledger
  readonly #states: TenantStates
  readonly #programs = new Set<PooledProgram>()
  readonly #tenants = new Map<string, PooledTenant>()
  readonly #contexts = new Set<PooledContext>()
  readonly #counts = { kept: 0, reset: 0, opened: 0, made: 0, dropped: 0 }
  #waiting = new Set<() => void>()
  /** Contexts in use, and ones that are being opened: whoever waits for room is woken by their end. */
  #inUse = 0
  #closed = false

  constructor(host: TenantHost, limits: TenantLimits) {
    this.#host = host
    this.#ledger = new Ledger(limits.budgetBytes)
    this.#states = new TenantStates(this.#ledger, limits.openImages)
  }

  /** Makes a prepared program known, or known again after it was given up. Throws `TenantRefused`. */
  prepared(program: PooledProgram, module: ImageModule): void {
    this.#checkOpen(program.name)
    if (program.shape !== undefined) return
    if (!this.#ledger.makeRoom(module.bytes.length)) {
      throw noRoom(this.#ledger, program.name, module.bytes.length, "its module")
    }
    const host = this.#host.openProgram(module)
    const holding: Holding = {
      bytes: module.bytes.length,
      pins: 0,
      drop: () => {
        program.shape = undefined
        this.#states.closeImagesOf(program)
        host.close()
      }
    }
    program.shape = programShape(module, host)
    program.holding = holding
    this.#programs.add(program)
    this.#ledger.add(holding)
  }

  /** Adds a tenant. Throws `TenantRefused`. */
  add(name: string, options: TenantOptions<unknown>, own: OwnModule | undefined): void {
    this.#checkOpen(name)
    this.known(name, options.program)
    if (this.#tenants.has(name)) {
      throw new TenantRefused({ name, reason: "exists", detail: "there is a tenant of this name" })
    }
    const bytes = own === undefined ? 0 : ownBytes(own)
    if (!this.#ledger.makeRoom(bytes)) throw noRoom(this.#ledger, name, bytes, "its module")
    const holding: Holding = { bytes, pins: 1, drop: () => {} }
    this.#ledger.add(holding)
    this.#tenants.set(name, {
      name,
      options,
      own: own === undefined ? undefined : { module: own, holding },
      idle: new Set(),
      image: undefined,
      kept: undefined,
      inUse: 0,
      removed: false
    })
  }

  /** Removes a tenant. Throws `TenantRefused`. */
  remove(name: string): void {
    this.#checkOpen(name)
    const tenant = this.#find(name)
    tenant.removed = true
    this.#tenants.delete(name)
    for (const context of tenant.idle) context.tenant = undefined
    tenant.idle.clear()
    if (tenant.own !== undefined) this.#ledger.remove(tenant.own.holding)
    this.#states.forgetKept(tenant)
    this.#states.closeImage(tenant)
  }

  /** Asks for a context. Throws `TenantRefused`, a `Mismatch`, or what a hook throws. */
  take(program: TenantProgram<unknown>, name: string): TenantAttempt {
    const start = performance.now()
    this.#checkOpen(name)
    const pooled = this.known(name, program)
    const tenant = this.#find(name)
    if (tenant.options.program !== program) {
      throw new TenantRefused({ name, reason: "program", detail: `it is a tenant of "${tenant.options.program.name}"` })
    }
    const persists = tenant.options.state === "persist"
    if (persists && tenant.inUse > 0) return { _tag: "wait" }
    if (pooled.shape === undefined) return { _tag: "prepare", program: pooled }
    const own = [...tenant.idle].at(-1)
    if (persists && own !== undefined) {
      this.#counts.kept++
      return this.#lease(own, tenant, { how: "kept", findMs: performance.now() - start, memoryMs: 0, registersMs: 0 })
    }
    const image = tenant.kept?.image ?? this.#states.imageOf(tenant, pooled.shape)
    const holding = this.#states.holdingOf(tenant)
    // Whatever room is made for: not by giving up the image.
    holding.pins++
    try {
      const context = own !== undefined && own.instance.fits(image) ? own : this.#choose(pooled, image)
      if (context === undefined) return this.#roomFor(pooled, image.held.image)
      return this.#attach(context, tenant, image, start)
    } finally {
      holding.pins--
    }
  }

  /** Reserves room for a context of a program; the reservation is given up by `undo`, or by {@link TenantPool.opened}. */
  reserve(program: PooledProgram, bytes: number): Holding {
    const holding: Holding = { bytes, pins: 1, drop: () => {} }
    this.#ledger.add(holding)
    program.holding!.pins++
    this.#inUse++
    return holding
  }

  /** Ends a reservation: with the context that was opened, or with none. Throws `TenantRefused` where it is too large. */
  opened(program: PooledProgram, reservation: Holding, instance: TenantInstance | undefined): void {
    this.#ledger.remove(reservation)
    this.#inUse--
    if (instance === undefined) {
      program.holding!.pins--
      this.#wake()
      return
    }
    const context: PooledContext = {
      program,
      instance,
      holding: { bytes: instance.bytes, pins: 1, drop: () => this.#drop(context, true) },
      tenant: undefined
    }
    this.#counts.made++
    this.#contexts.add(context)
    this.#ledger.add(context.holding)
    this.#ledger.trim()
    const { held, limit } = this.#ledger
    if (this.#closed || held > limit) {
      this.#giveUp(context)
      this.#wake()
      this.#checkOpen(program.name)
      throw noRoom(this.#ledger, program.name, context.holding.bytes, "a context")
    }
    context.holding.pins = 0
    program.idle.add(context)
    this.#wake()
  }

  /** Calls back once when something has been given back. Returns a function that takes the wish back. */
  wait(callback: () => void): () => void {
    this.#waiting.add(callback)
    return () => void this.#waiting.delete(callback)
  }

  /** Bytes that a context of the program begins with, at least. */
  initialBytes(program: PooledProgram): number {
    return program.shape!.module.decoded.memories.reduce((sum, { min }) => sum + min * PAGE_BYTES, 0)
  }

  /** Checks that there is room for a context that nobody asks for yet. Throws `TenantRefused`. */
  makeRoom(program: PooledProgram, bytes: number): void {
    this.#checkOpen(program.name)
    if (!this.#ledger.makeRoom(bytes)) throw noRoom(this.#ledger, program.name, bytes, "a context")
  }

  /** The program of a persisting tenant. Throws `TenantRefused`. */
  persisting(name: string): TenantProgram<unknown> {
    this.#checkOpen(name)
    const { options } = this.#find(name)
    if (options.state === "persist") return options.program
    throw new TenantRefused({ name, reason: "state", detail: "its state is reset at each request" })
  }

  status(): TenantsStatus {
    return {
      heldBytes: this.#ledger.held,
      budgetBytes: this.#ledger.limit,
      tenants: this.#tenants.size,
      contexts: this.#contexts.size,
      inUse: this.#inUse,
      openImages: this.#states.open,
      counts: { ...this.#counts }
    }
  }

  /** Gives everything up. Contexts in use are given up when they are given back. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const context of [...this.#contexts]) if (context.holding.pins === 0) this.#drop(context, false)
    for (const tenant of this.#tenants.values()) {
      this.#states.forgetKept(tenant)
      this.#states.closeImage(tenant)
    }
    for (const program of this.#programs) program.holding?.drop()
    this.#tenants.clear()
    this.#wake()
  }

  #checkOpen(name: string): void {
    if (this.#closed) throw new TenantRefused({ name, reason: "closed", detail: "the tenants were closed" })
  }

  /** A program as the pool keeps it. Throws `TenantRefused`. */
  known(name: string, program: TenantProgram<unknown>): PooledProgram {
    if (program instanceof PooledProgram && this.#programs.has(program)) return program
    throw new TenantRefused({ name, reason: "program", detail: `"${program.name}" is no program of these tenants` })
  }

  #find(name: string): PooledTenant {
    const tenant = this.#tenants.get(name)
    if (tenant !== undefined) return tenant
    throw new TenantRefused({ name, reason: "unknown", detail: "there is no tenant of this name" })
  }

  /** The idle context that was used least recently, of those that can take the image over. */
  #choose(program: PooledProgram, image: TenantImage): PooledContext | undefined {
    for (const context of program.idle) {
      if (this.#canTake(context, image) && this.#leave(context)) return context
    }
    return undefined
  }

  /** Whether a context can take an image over, with room for as much as its memories have to grow. */
  #canTake({ holding, instance }: PooledContext, image: TenantImage): boolean {
    if (!instance.fits(image)) return false
    const more = bytesOf(image.held.image) - instance.bytes
    if (more <= 0) return true
    holding.pins++
    const room = this.#ledger.makeRoom(more)
    holding.pins--
    return room
  }

  /** Takes a context from the tenant that has it. False where its state would be lost. */
  #leave(context: PooledContext): boolean {
    const { tenant } = context
    if (tenant === undefined) return true
    if (tenant.options.state === "persist" && !this.#states.keep(tenant, context, false)) return false
    tenant.idle.delete(context)
    context.tenant = undefined
    return true
  }

  #roomFor(program: PooledProgram, image: Image): TenantAttempt {
    const bytes = Math.max(bytesOf(image), this.initialBytes(program))
    program.holding!.pins++
    const room = this.#ledger.makeRoom(bytes)
    program.holding!.pins--
    if (room) return { _tag: "open", program, bytes }
    if (this.#inUse > 0) return { _tag: "wait" }
    throw noRoom(this.#ledger, program.name, bytes, "a context")
  }

  #giveUp(context: PooledContext): void {
    this.#ledger.remove(context.holding)
    this.#drop(context, false)
  }

  #attach(context: PooledContext, tenant: PooledTenant, image: TenantImage, start: number): TenantAttempt {
    const { instance } = context
    const how = instance.has(image) ? "reset" : "opened"
    const found = performance.now()
    this.#ledger.touch(context.holding)
    try {
      instance.attachMemories(image)
      const attached = performance.now()
      instance.attachRegisters(image)
      // What was kept of a persisting tenant goes on: it has been renewed and opened again before.
      if (tenant.kept === undefined) runHooks(instance.exports, image.held.image, tenant.options.hooks ?? {})
      this.#states.forgetKept(tenant)
      this.#resize(context)
      this.#counts[how]++
      return this.#lease(context, tenant, {
        how,
        findMs: found - start,
        memoryMs: attached - found,
        registersMs: performance.now() - attached
      })
    } catch (error) {
      // An image that was found not to fit has changed nothing.
      if (image.checked) this.#giveUp(context)
      throw error
    }
  }

  #lease(context: PooledContext, tenant: PooledTenant, opening: TenantOpening): TenantAttempt {
    context.holding.pins++
    context.program.idle.delete(context)
    tenant.idle.delete(context)
    context.tenant = tenant
    tenant.inUse++
    this.#inUse++
    this.#ledger.touch(context.program.holding!)
    let released = false
    const release = (): void => {
      if (released) return
      released = true
      this.#release(context, tenant)
    }
    const { exports, host } = context.instance
    return {
      _tag: "lease",
      lease: {
        context: { tenant: tenant.name, host, exports, opening },
        capture: () => this.#states.captured(context),
        release
      }
    }
  }

  #release(context: PooledContext, tenant: PooledTenant): void {
    context.holding.pins--
    tenant.inUse--
    this.#inUse--
    if (this.#closed) this.#giveUp(context)
    else {
      context.program.idle.add(context)
      if (tenant.removed) context.tenant = undefined
      else tenant.idle.add(context)
      this.#ledger.touch(context.holding)
      this.#resize(context)
      this.#ledger.trim()
    }
    this.#wake()
  }

  #resize({ holding, instance }: PooledContext): void {
    const { bytes } = instance
    if (bytes !== holding.bytes) this.#ledger.resize(holding, bytes)
  }

  /** Gives an idle context up. The ledger has forgotten it, or is about to be forgotten itself. */
  #drop(context: PooledContext, keep: boolean): void {
    const { program, tenant } = context
    if (keep && tenant?.options.state === "persist") this.#states.keep(tenant, context, true)
    tenant?.idle.delete(context)
    program.idle.delete(context)
    this.#contexts.delete(context)
    program.holding!.pins--
    context.instance.release()
    this.#counts.dropped++
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const callback of waiting) callback()
  }
}
