/**
 * Tenants: many users of one program, or of several, each with a state of its own that begins with an image. Programs,
 * images and contexts are held under one budget of memory, and given up least recently used first; a request for a
 * tenant that has no context gets one from its image.
 *
 * All tenants are one trust domain. Their contexts are instances of one process, a context goes from one to the next, and
 * none of it is a sandbox.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { ApplyOptions } from "../src/image/apply.ts"
import type { Image } from "../src/image/model.ts"
import type { ReplayHooks } from "../src/image/replay.ts"
import type { ImageSource, InstantiateError } from "./Baking.ts"
import type { HostException, ModuleInvalid, Trap } from "./Errors.ts"
import type { ModuleSource } from "./Extraction.ts"
import type { ImageMismatch } from "./ImageErrors.ts"
import type { TenantRefused } from "./TenantErrors.ts"

/**
 * How much memory tenants may take.
 *
 * @category options
 * @since 0.1.0
 */
export const TenantLimits = Schema.Struct({
  /** Bytes of modules, images in memory and memories of contexts. A memory counts whole, used or not. */
  budgetBytes: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 2 ** 29 }),
  /** Most images whose index, and file, are open at a time. */
  openImages: Schema.optionalWith(Schema.Int.pipe(Schema.positive()), { default: () => 1_024 })
})

/**
 * @category options
 * @since 0.1.0
 */
export type TenantLimits = typeof TenantLimits.Type

/**
 * Makes the instance of a context, once. Its exports are those of the program's module.
 *
 * @category models
 * @since 0.1.0
 */
export type MakeInstance = (imports?: WebAssembly.Imports) => { readonly exports: WebAssembly.Exports }

/**
 * A program of tenants.
 *
 * @category options
 * @since 0.1.0
 */
export interface TenantProgramOptions<A> {
  readonly name: string
  readonly module: ModuleSource
  /**
   * Opens a context: makes the instance, with whatever glue the program has around it, and returns what requests work
   * with. The state of the instance is the tenant's; variables of the glue stay as they are from one tenant to the next.
   */
  readonly open: (instantiate: MakeInstance) => A | Promise<A>
  /** Makes a memory larger through the glue, where that keeps views of it. */
  readonly grow?: ApplyOptions["grow"]
  /** Contexts that are opened at once (1). More are opened when all are in use, as far as the budget allows. */
  readonly contexts?: number
}

/**
 * A program that tenants can be added with.
 *
 * @category models
 * @since 0.1.0
 */
export interface TenantProgram<A> {
  readonly name: string
  /** SHA-256 of its module in hex. */
  readonly digest: string
  /** Never there: the type of what its contexts offer. */
  readonly host?: A
}

/**
 * A tenant.
 *
 * @category options
 * @since 0.1.0
 */
export interface TenantOptions<A> {
  readonly program: TenantProgram<A>
  /**
   * The tenant's own module, where it is another one than the program's. Its code must be the same: everything but data
   * and custom sections, as where a toolchain puts a script into an interpreter's data. Contexts serve both alike, and a
   * state that is captured is one of the program's module.
   */
  readonly module?: Uint8Array | URL | string
  /** The state that it begins with. A file is opened when it is needed, and mapped where that is possible. */
  readonly image: ImageSource
  /**
   * `reset`: each request begins with the image, and several may run at a time, in contexts of their own. `persist`: a
   * request begins with what the one before has left, one at a time; the state outlives its context (`reset`).
   */
  readonly state?: "reset" | "persist"
  /** Refuses an image that was made for another one. */
  readonly fingerprint?: string
  /** Run each time a context takes over the image, and not where a persisting state goes on. */
  readonly hooks?: ReplayHooks
  /** Take the image's pages as they are, without comparing their hashes once. */
  readonly trusted?: boolean
}

/**
 * How a context came to its tenant's state, and what that took. Times are milliseconds.
 *
 * - `kept`: a persisting tenant's own context, as its last request left it
 * - `reset`: a context that had the tenant before, put back to the image
 * - `opened`: a context that takes the tenant over, from its image or its kept state
 *
 * @category models
 * @since 0.1.0
 */
export interface TenantOpening {
  readonly how: "kept" | "reset" | "opened"
  /** Finding the context, and reading the image's index where it was not at hand. */
  readonly findMs: number
  readonly memoryMs: number
  /** Globals, tables, segments and hooks. */
  readonly registersMs: number
}

/**
 * A tenant's context. It is its holder's alone.
 *
 * @category models
 * @since 0.1.0
 */
export interface TenantContext<A> {
  readonly tenant: string
  /** What the program's `open` has returned. */
  readonly host: A
  /** What the program's module exports. */
  readonly exports: WebAssembly.Exports
  readonly opening: TenantOpening
}

/**
 * What is held and what has happened.
 *
 * @category models
 * @since 0.1.0
 */
export interface TenantsStatus {
  readonly heldBytes: number
  readonly budgetBytes: number
  readonly tenants: number
  /** Contexts there are, in use or not. */
  readonly contexts: number
  readonly inUse: number
  readonly openImages: number
  /** Openings of each kind so far; contexts that were made, and that were given up. */
  readonly counts: Readonly<Record<TenantOpening["how"] | "made" | "dropped", number>>
}

/**
 * Why a request gets no context.
 *
 * @category errors
 * @since 0.1.0
 */
export type TenantError = TenantRefused | ImageMismatch | ModuleInvalid | InstantiateError

/**
 * The operations of {@link Tenants}.
 *
 * @category models
 * @since 0.1.0
 */
export interface TenantsShape {
  /** Makes a program known and opens its first contexts. */
  readonly program: <A>(options: TenantProgramOptions<A>) => Effect.Effect<TenantProgram<A>, TenantError>
  /** Adds a tenant. Its own module is read now, its image when it is first used. */
  readonly add: <A>(name: string, options: TenantOptions<A>) => Effect.Effect<void, TenantError>
  /** Removes a tenant with its state. A request that is under way ends as it would. */
  readonly remove: (name: string) => Effect.Effect<void, TenantRefused>
  /** A context with the tenant's state, until the scope ends. Waits while all there is room for are in use. */
  readonly acquire: <A>(
    program: TenantProgram<A>,
    name: string
  ) => Effect.Effect<TenantContext<A>, TenantError, Scope.Scope>
  /** Runs a request that does not wait for anything. What it throws is a `Trap` or a `HostException`. */
  readonly run: <A, B>(
    program: TenantProgram<A>,
    name: string,
    request: (context: TenantContext<A>) => B
  ) => Effect.Effect<B, TenantError | Trap | HostException>
  /** The state of a persisting tenant as an image. Waits until no request of it is under way. */
  readonly capture: (name: string) => Effect.Effect<Image, TenantError>
  readonly status: () => TenantsStatus
}

/**
 * Contexts for many tenants under one budget.
 *
 * @category services
 * @since 0.1.0
 */
export class Tenants extends Context.Tag("folio/services/Tenants")<Tenants, TenantsShape>() {}
