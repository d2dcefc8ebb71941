/**
 * Scheduling: the planned loops of an instance onto lanes.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Rung } from "../src/lane/lanes.ts"
import type { Prepared } from "../src/plan/prepare.ts"

/**
 * What the planned loops of one instance have done so far.
 *
 * @category models
 * @since 0.1.0
 */
export interface Tally {
  /** Loop executions handed to lanes. */
  readonly dispatches: number
  /** Loop executions stopped on lanes, undone and run again serially. */
  readonly aborts: number
  /** Most lanes that worked on one loop, the owner included; 0 before the first dispatch. */
  readonly lanesUsed: number
  /** How lanes see the memory; undefined before the first dispatch. */
  readonly rung: Rung | undefined
  /** Why the instance has no part in the lanes at all; undefined where it has. */
  readonly unconnected: string | undefined
  /** Why lanes could not see the memory at the last attempt; undefined where they could, or where none was made. */
  readonly unmapped: string | undefined
  /** The newest reason why an execution of a loop was not handed out, in words; undefined where there was none. */
  readonly declined: string | undefined
}

/**
 * An instance whose planned loops go to lanes. Plain and synchronous: one lives on the hot path of every call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Bound {
  /** The instance's exports as the original module would have them. */
  readonly exports: WebAssembly.Exports
  readonly memory: WebAssembly.Memory | undefined
  readonly tally: () => Tally
}

/**
 * The operations of {@link Scheduling}.
 *
 * @category models
 * @since 0.1.0
 */
export interface SchedulingShape {
  /**
   * Connects the planned loops of a patched instance to the lanes until the scope ends; from then on they run
   * natively. `imports` are the objects that the instance was given. Never fails: what cannot be connected runs
   * natively, and the tally says why.
   */
  readonly bind: (
    instance: WebAssembly.Instance,
    prepared: Prepared,
    imports: WebAssembly.Imports
  ) => Effect.Effect<Bound, never, Scope.Scope>
}

/**
 * Leases lanes to loops, places chunks and joins them in order.
 *
 * @category services
 * @since 0.1.0
 */
export class Scheduling extends Context.Tag("folio/services/Scheduling")<Scheduling, SchedulingShape>() {}
