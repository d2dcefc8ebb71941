/**
 * Transport: the lanes of a backend.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { LaneGroup } from "../src/lane/lanes.ts"
import type { CreditsExhausted, LaneStartTimeout, ProtocolMismatch } from "./Errors.ts"

/**
 * The operations of {@link Transport}. The lanes live as long as the layer, and its end joins them.
 *
 * @category models
 * @since 0.1.0
 */
export interface TransportShape {
  /** What carries the chunks: `"threads"`, or `"in-process"` on the caller's own thread. */
  readonly backend: string
  /** Threads that may work on one loop, the owner included. */
  readonly width: number
  /** Waits until all lanes are up, or as many as ever will be. Answers how many that are, the owner not counted. */
  readonly awaitLanes: Effect.Effect<number, CreditsExhausted | LaneStartTimeout | ProtocolMismatch>
  /** The lanes, for plain code. Whoever has this service uses them on the thread that made it. */
  readonly lanes: LaneGroup
}

/**
 * Carries chunks to lanes and their outcomes back.
 *
 * @category services
 * @since 0.1.0
 */
export class Transport extends Context.Tag("folio/services/Transport")<Transport, TransportShape>() {}
