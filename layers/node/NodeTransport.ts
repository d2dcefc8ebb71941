/**
 * Transport over worker threads.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Transport, type TransportShape } from "../../services/Transport.ts"
import { awaitLanes } from "../core/awaitLanes.ts"
import { NodeThread } from "./NodeThread.ts"

/**
 * The worker threads of the engine. `startTimeoutMs` bounds `awaitLanes`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (startTimeoutMs: number): Effect.Effect<TransportShape, never, NodeThread> =>
  Effect.map(NodeThread, ({ lanes }) => ({
    backend: "threads",
    width: lanes.count + 1,
    lanes,
    awaitLanes: awaitLanes(lanes, startTimeoutMs)
  }))

/**
 * {@link Transport} over worker threads.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (startTimeoutMs: number): Layer.Layer<Transport, never, NodeThread> =>
  Layer.effect(Transport, make(startTimeoutMs))
