/**
 * Transport over worker threads.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Transport, type TransportShape } from "../../services/Transport.ts"
import { awaitLanes } from "../core/awaitLanes.ts"
import { cpuBudget } from "./cpu.ts"
import { NodeLanes } from "./lanes.ts"

/**
 * How many threads, and how they start.
 *
 * @category options
 * @since 0.1.0
 */
export interface NodeTransportOptions {
  /** Threads that work, the owner counted; undefined: as many as this process may run at once. */
  readonly workers: number | undefined
  /** Milliseconds that a lane may take to come up. */
  readonly startTimeoutMs: number
}

/**
 * Worker threads that start when they are first wanted and are joined when the scope ends. More of them than CPUs are
 * granted only when asked for by number; they prove correctness, not speed.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: NodeTransportOptions): Effect.Effect<TransportShape, never, Scope.Scope> =>
  Effect.gen(function*() {
    const budget = cpuBudget()
    const width = options.workers ?? budget.width
    const lanes = yield* Effect.acquireRelease(
      Effect.sync(() =>
        new NodeLanes({
          lanes: width - 1,
          oversubscribe: width > budget.width,
          startMilliseconds: options.startTimeoutMs
        })
      ),
      (group) => Effect.promise(() => group.close())
    )
    return { backend: "threads", width: lanes.count + 1, lanes, awaitLanes: awaitLanes(lanes) }
  })

/**
 * {@link Transport} over worker threads.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: NodeTransportOptions): Layer.Layer<Transport> => Layer.scoped(Transport, make(options))
