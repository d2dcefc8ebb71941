/**
 * Admission: what is worth running apart.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ArenaRefused, NotWorthwhile, Refused } from "./Errors.ts"
import type { Extracted } from "./Extraction.ts"
import type { Tally } from "./Scheduling.ts"

/**
 * A run that may not be native.
 *
 * @category models
 * @since 0.1.0
 */
export interface Demand {
  readonly extracted: Extracted
  readonly entry: string
  /** Threads that work on a loop, the owner included: those asked for, or those that are up. */
  readonly width: number
  /** What the instance has done so far; undefined while it is not known how many lanes are up. */
  readonly tally: Tally | undefined
}

/**
 * The operations of {@link Admission}. Whether one execution of a loop is handed out is decided by generated code and
 * the dispatcher, call by call; here is what they go by, and the verdict for a caller who demands parallel.
 *
 * @category models
 * @since 0.1.0
 */
export interface AdmissionShape {
  /**
   * Least work of a loop execution, in nanoseconds of one thread, for it to be handed out; 0 admits all, undefined
   * is what this machine measures.
   */
  readonly minimumWorkNs: number | undefined
  /** Before the run: fails when nothing could run apart. */
  readonly before: (demand: Demand) => Effect.Effect<void, Refused | NotWorthwhile | ArenaRefused>
  /** After the run: its result, or why nothing did run apart since `demand` was made. */
  readonly after: (demand: Demand, now: Tally, result: unknown) => Effect.Effect<unknown, NotWorthwhile>
}

/**
 * Decides what is worth running apart.
 *
 * @category services
 * @since 0.1.0
 */
export class Admission extends Context.Tag("folio/services/Admission")<Admission, AdmissionShape>() {}
