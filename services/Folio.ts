/**
 * Folio: the facade. A module is opened in a scope; the session that comes back runs it.
 *
 * ```ts
 * const program = Effect.gen(function*() {
 *   const session = yield* Folio.open(bytes)
 *   return yield* session.run("sum", [0, 1000])
 * })
 * program.pipe(Effect.scoped, Effect.provide(NodeFolio.layer()), Effect.runPromise)
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Rung } from "../src/lane/lanes.ts"
import type {
  CreditsExhausted,
  FallbackError,
  LaneStartTimeout,
  OpenError,
  ProtocolMismatch,
  RunError
} from "./Errors.ts"
import type { Inspection, ModuleSource } from "./Extraction.ts"

/**
 * How a module is opened.
 *
 * @category options
 * @since 0.1.0
 */
export interface OpenOptions {
  /**
   * Imports, as for `WebAssembly.instantiate`; properties are read once each and in the module's order. A 32-bit
   * memory that is missing is allocated with its declared limits.
   */
  readonly imports?: WebAssembly.Imports | undefined
  /** How messages and reports call the module. Default: its path, else `module`. */
  readonly name?: string | undefined
}

/**
 * How an entry is run.
 *
 * @category options
 * @since 0.1.0
 */
export interface RunOptions<F extends Fallback = Fallback> {
  /**
   * What happens when nothing runs in parallel. `native` (default): the original code runs, and the report says why.
   * `fail`: the reason is the error. Then the run waits for its lanes first, so that a start-up is no reason.
   */
  readonly fallback?: F | undefined
  /**
   * Asked once, right before the entry is called: an aborted signal fails with `Cancelled`. WebAssembly on its
   * owner's thread cannot be interrupted afterwards, neither by this nor by interrupting the fiber.
   */
  readonly signal?: { readonly aborted: boolean; readonly reason?: unknown } | undefined
}

/**
 * What happens when nothing runs in parallel.
 *
 * @category options
 * @since 0.1.0
 */
export type Fallback = "native" | "fail"

/**
 * What a session has done so far, as plain data.
 *
 * @category models
 * @since 0.1.0
 */
export interface SessionReport {
  readonly source: string
  /** `parallel` once a loop has run on lanes. */
  readonly mode: "parallel" | "native"
  /** Why everything has run natively so far; undefined once a loop has run on lanes. */
  readonly reason: string | undefined
  /** Threads that may work on one loop, the owner included. */
  readonly width: number
  /** Most lanes that worked on one loop, the owner included; 0 when all has run natively. */
  readonly lanesUsed: number
  /** How lanes see the guest's memory; undefined before a loop was handed out. */
  readonly rung: Rung | undefined
  /** Loops with a plan. */
  readonly plans: number
  /** Loop executions handed to lanes. */
  readonly dispatches: number
  /** Loop executions that were begun on lanes, stopped, undone and run again serially. */
  readonly aborts: number
  /** Calls by `run`. Calls of `exports` are not counted. */
  readonly runs: number
}

/**
 * Calls an entry. What can fail depends on the fallback.
 *
 * @category models
 * @since 0.1.0
 */
export interface Run<A, R> {
  (
    entry: string,
    args: ReadonlyArray<A> | undefined,
    options: RunOptions<"fail"> & { readonly fallback: "fail" }
  ): Effect.Effect<R, RunError | FallbackError>
  (entry: string, args?: ReadonlyArray<A>, options?: RunOptions<"native">): Effect.Effect<R, RunError>
}

/**
 * An open module.
 *
 * @category models
 * @since 0.1.0
 */
export interface Session {
  /** How messages and reports call it. */
  readonly name: string
  /**
   * What the original instance would export: same names, order and signatures. They are plain synchronous functions
   * that may be called at any time, by host imports too; those without a plan cost what they always did. They stay
   * callable, natively, when the session is closed.
   */
  readonly exports: WebAssembly.Exports
  /** The first memory of the module, exported or not where that can be known. */
  readonly memory: WebAssembly.Memory | undefined
  /**
   * Calls an exported function and answers what it returns: undefined, one value, or an array of them. Arguments
   * must fit the signature; no coercion. One run at a time: another one fails with `RunConflict`, while exports
   * called from inside host imports run on.
   *
   * Traps arrive as `Trap`, exceptions of imports as `HostException` with the thrown object as `cause`.
   */
  readonly run: Run<unknown, unknown>
  /**
   * {@link Session.run} with arguments and results as their bits: for NaN payloads, which JavaScript may change, and
   * for vectors, which it has no value for. Signatures with references are refused with `ArgumentInvalid`.
   */
  readonly runBits: Run<bigint, ReadonlyArray<bigint>>
  /** Waits until the lanes are up, so that the very next call can use them; answers how many, the owner not counted. */
  readonly awaitLanes: Effect.Effect<number, CreditsExhausted | LaneStartTimeout | ProtocolMismatch>
  /** Plans and refusals, of the whole module or of the functions exported under a name. */
  readonly inspect: (entry?: string) => Inspection
  /** What has happened so far. */
  readonly report: () => SessionReport
}

/**
 * The operations of {@link Folio}.
 *
 * @category models
 * @since 0.1.0
 */
export interface FolioShape {
  /** Analyses, compiles and instantiates a module; the session ends with the scope. */
  readonly open: (source: ModuleSource, options?: OpenOptions) => Effect.Effect<Session, OpenError, Scope.Scope>
}

/**
 * Runs WebAssembly on several cores with exactly the serial result.
 *
 * @category services
 * @since 0.1.0
 */
export class Folio extends Context.Tag("folio/services/Folio")<Folio, FolioShape>() {
  /** {@link FolioShape.open} of the `Folio` in the context. */
  static readonly open = (
    source: ModuleSource,
    options?: OpenOptions
  ): Effect.Effect<Session, OpenError, Folio | Scope.Scope> =>
    Effect.flatMap(Folio, (folio) => folio.open(source, options))
}
