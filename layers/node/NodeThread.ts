/**
 * The engine of this thread as a resource: what transport and scheduling on Node.js both stand on.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Admission } from "../../services/Admission.ts"
import { cacheDirectory } from "./cache.ts"
import { readCalibration } from "./calibration.ts"
import { cpuBudget } from "./cpu.ts"
import { NodeEngine } from "./engine.ts"

/**
 * Which threads work.
 *
 * @category options
 * @since 0.1.0
 */
export interface NodeThreadOptions {
  /** Threads that work, the owner counted; undefined: as many as this process may run at once. */
  readonly workers?: number | undefined
  /** Grant more of them than there are CPUs. */
  readonly oversubscribe?: boolean | undefined
  /** Hand out loops over a shared memory that the guest was given. */
  readonly sharedGiven?: boolean | undefined
}

/**
 * The engine of the thread that built the layer. Its worker threads start when they are first wanted, and are joined
 * when the layer ends.
 *
 * @category services
 * @since 0.1.0
 */
export class NodeThread extends Context.Tag("folio/layers/node/NodeThread")<NodeThread, NodeEngine>() {}

/**
 * {@link NodeThread} with the given threads.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: NodeThreadOptions): Layer.Layer<NodeThread, never, Admission> =>
  Layer.scoped(
    NodeThread,
    Effect.flatMap(Admission, ({ minimumWorkNs }) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const workers = options.workers ?? cpuBudget().width
          const directory = cacheDirectory(process.env["FOLIO_CACHE"] || undefined, process.env)
          return new NodeEngine({
            ...options,
            minimumWorkNs,
            workers,
            calibration: readCalibration(directory, workers)
          })
        }),
        (engine) => Effect.promise(() => engine.close())
      ))
  )
