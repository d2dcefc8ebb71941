/**
 * Transport without threads.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Transport, type TransportShape } from "../../services/Transport.ts"
import { InProcessLanes } from "./lanes.ts"
import { type Order, Permutation } from "./permutation.ts"

/**
 * How many chunks a loop is cut into, and the order in which they run.
 *
 * @category options
 * @since 0.1.0
 */
export interface MemoryTransportOptions {
  readonly width: number
  readonly order: Order
}

/**
 * Lanes that are turns of the caller's own thread, until the scope ends.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = ({ order, width }: MemoryTransportOptions): Effect.Effect<TransportShape, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new InProcessLanes(width - 1, new Permutation(order))),
      (lanes) => Effect.promise(() => lanes.close())
    ),
    (lanes) => ({ backend: "in-process", width, lanes, awaitLanes: Effect.succeed(lanes.count) })
  )

/**
 * {@link Transport} without threads.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: MemoryTransportOptions): Layer.Layer<Transport> => Layer.scoped(Transport, make(options))
