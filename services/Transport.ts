/**
 * Transport: the lanes of a backend.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { LanesReport } from "../src/lane/lanes.ts"
import type { LaneStartTimeout, ProtocolMismatch } from "./Errors.ts"

/**
 * The operations of {@link Transport}. The lanes live as long as the layer; they are leased by `Scheduling`, which
 * talks to them in plain code.
 *
 * @category models
 * @since 0.1.0
 */
export interface TransportShape {
  /** What carries the chunks: `"threads"`, or `"in-process"` on the caller's own thread. */
  readonly backend: string
  /** Threads that work on one loop, the owner included. */
  readonly width: number
  /** Waits until all lanes are up, or as many as ever will be. Answers how many that are, the owner not counted. */
  readonly awaitLanes: Effect.Effect<number, LaneStartTimeout | ProtocolMismatch>
  /** State of the lanes now. */
  readonly report: () => LanesReport
}

/**
 * Carries chunks to lanes and their outcomes back.
 *
 * @category services
 * @since 0.1.0
 */
export class Transport extends Context.Tag("folio/services/Transport")<Transport, TransportShape>() {}
