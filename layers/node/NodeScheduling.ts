/**
 * Scheduling over the engine of this thread.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Bound, Scheduling, type SchedulingShape } from "../../services/Scheduling.ts"
import { tallyOf } from "../core/tally.ts"
import { NodeThread } from "./NodeThread.ts"

/**
 * Whoever is free takes the next piece of a loop; the profit monitor decides which loops are handed out.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<SchedulingShape, never, NodeThread> = Effect.map(NodeThread, (engine) => ({
  bind: (instance, prepared) =>
    Effect.acquireRelease(
      Effect.sync(() => engine.bind(instance, prepared)),
      (binding) => Effect.sync(() => binding.close())
    ).pipe(
      Effect.map(({ exports, memory, report }): Bound => ({
        exports,
        memory,
        tally: () => {
          const now = report()
          return tallyOf(now, now.native)
        }
      }))
    )
}))

/**
 * {@link Scheduling} over the engine of this thread.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Scheduling, never, NodeThread> = Layer.effect(Scheduling, make)
