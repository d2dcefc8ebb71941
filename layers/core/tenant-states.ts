/**
 * The states of tenants apart from contexts: images that are open, least recently used closed first, and states that
 * outlived their contexts, which nothing closes.
 *
 * @since 0.1.0
 */
import type { ImageSource } from "../../services/Baking.ts"
import type { ModuleSource } from "../../services/Extraction.ts"
import { TenantRefused } from "../../services/TenantErrors.ts"
import type { TenantOptions, TenantProgram, TenantProgramOptions } from "../../services/Tenants.ts"
import { capture } from "../../src/image/capture.ts"
import { type Image, PAGE_BYTES } from "../../src/image/model.ts"
import { checkFingerprint, checkHooks } from "../../src/image/replay.ts"
import type { Holding, Ledger } from "../../src/tenants/ledger.ts"
import { type ProgramShape, type TenantImage, tenantImage, type TenantInstance } from "./tenant-context.ts"
import type { OwnModule } from "./tenant-host.ts"

/** A program as the pool keeps it: what callers hold in their hands. @category models @since 0.1.0 */
export class PooledProgram implements TenantProgram<unknown> {
  readonly name: string
  readonly digest: string
  readonly source: ModuleSource
  readonly options: TenantProgramOptions<unknown>
  shape: ProgramShape | undefined
  holding: Holding | undefined
  /** Idle contexts, least recently used first. */
  readonly idle = new Set<PooledContext>()

  constructor(options: TenantProgramOptions<unknown>, digest: string) {
    this.name = options.name
    this.digest = digest
    this.source = options.module
    this.options = options
  }
}

/** A context as the pool keeps it. @category models @since 0.1.0 */
export interface PooledContext {
  readonly program: PooledProgram
  readonly instance: TenantInstance
  readonly holding: Holding
  tenant: PooledTenant | undefined
}

/** A tenant as the pool keeps it. @category models @since 0.1.0 */
export interface PooledTenant {
  readonly name: string
  readonly options: TenantOptions<unknown>
  /** Its own module, with what is held for it. */
  readonly own: { readonly module: OwnModule; readonly holding: Holding } | undefined
  /** Idle contexts that had it last. */
  readonly idle: Set<PooledContext>
  image: TenantImage | undefined
  /** State that outlived its context. */
  kept: { readonly image: TenantImage; readonly holding: Holding } | undefined
  /** Requests under way. */
  inUse: number
  removed: boolean
}

/** Bytes of the memories of an image. @category inspecting @since 0.1.0 */
export const bytesOf = ({ memories }: Image): number => memories.reduce((sum, { pages }) => sum + pages * PAGE_BYTES, 0)

/** The error of what finds no room. @category errors @since 0.1.0 */
export const noRoom = ({ available, limit }: Ledger, name: string, bytes: number, what: string): TenantRefused =>
  new TenantRefused({
    name,
    reason: "budget",
    detail: `${what} needs ${bytes} bytes, and of ${limit} at most ${Math.max(0, available)} can be had`
  })

/** Images that are open, and states that are kept. @category models @since 0.1.0 */
export class TenantStates {
  readonly #ledger: Ledger
  readonly #openImages: number
  /** Tenants whose image is open, least recently used first. */
  readonly #open = new Map<PooledTenant, Holding>()

  constructor(ledger: Ledger, openImages: number) {
    this.#ledger = ledger
    this.#openImages = openImages
  }

  /** How many images are open. */
  get open(): number {
    return this.#open.size
  }

  /** What is held for the state that a tenant goes on with outside of a context. */
  holdingOf(tenant: PooledTenant): Holding {
    return tenant.kept?.holding ?? this.#open.get(tenant)!
  }

  /** Closes the images of a program's tenants. */
  closeImagesOf(program: PooledProgram): void {
    for (const tenant of [...this.#open.keys()]) if (tenant.options.program === program) this.closeImage(tenant)
  }

  /** The tenant's image, opened where it is not. */
  imageOf(tenant: PooledTenant, shape: ProgramShape): TenantImage {
    const known = this.#open.get(tenant)
    if (tenant.image !== undefined && known !== undefined) {
      this.#open.delete(tenant)
      this.#open.set(tenant, known)
      this.#ledger.touch(known)
      return tenant.image
    }
    const { fingerprint, hooks, image: source, trusted } = tenant.options
    const held = shape.host.openImage(source as ImageSource, trusted ?? false, tenant.own?.module)
    try {
      checkFingerprint(held.image, { module: tenant.own?.module.digest ?? shape.module.digest, fingerprint })
      checkHooks(held.image, hooks ?? {})
      if (!this.#ledger.makeRoom(held.bytes)) throw noRoom(this.#ledger, tenant.name, held.bytes, "its image")
    } catch (error) {
      held.close()
      throw error
    }
    const holding: Holding = { bytes: held.bytes, pins: 0, drop: () => this.closeImage(tenant) }
    tenant.image = tenantImage(held)
    this.#open.set(tenant, holding)
    this.#ledger.add(holding)
    if (this.#open.size > this.#openImages) this.closeImage(this.#open.keys().next().value!)
    return tenant.image
  }

  /** Closes a tenant's image. It is opened again when it is needed. */
  closeImage(tenant: PooledTenant): void {
    const holding = this.#open.get(tenant)
    if (holding === undefined) return
    this.#open.delete(tenant)
    this.#ledger.remove(holding)
    tenant.image?.held.close()
    tenant.image = undefined
  }

  /** Forgets the state that was kept. */
  forgetKept(tenant: PooledTenant): void {
    if (tenant.kept === undefined) return
    this.#ledger.remove(tenant.kept.holding)
    ;(tenant.options.program as PooledProgram).holding!.pins--
    tenant.kept.image.held.close()
    tenant.kept = undefined
  }

  /** The state of a context that a tenant has, as one of the program's module. Throws a `Mismatch`. */
  captured({ instance, program }: PooledContext): Image {
    const { decoded, digest } = program.shape!.module
    const { fingerprint, rebind, renew } = instance.attached!.image
    return { ...capture(decoded, instance.state, { module: digest, fingerprint, renew }), rebind }
  }

  /** Keeps the state of a persisting tenant apart from its context. False where there is no room and it does not have to. */
  keep(tenant: PooledTenant, context: PooledContext, must: boolean): boolean {
    const held = context.program.shape!.host.openImage(this.captured(context), true, undefined)
    if (!must) {
      context.holding.pins++
      const room = this.#ledger.makeRoom(held.bytes)
      context.holding.pins--
      if (!room) {
        held.close()
        return false
      }
    }
    this.forgetKept(tenant)
    const holding: Holding = { bytes: held.bytes, pins: 1, drop: () => {} }
    tenant.kept = { image: tenantImage(held), holding }
    context.program.holding!.pins++
    this.#ledger.add(holding)
    return true
  }
}
