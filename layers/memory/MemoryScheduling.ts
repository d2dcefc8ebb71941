/**
 * Scheduling without threads: the dispatcher of every host, over lanes that are turns of this thread.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Admission } from "../../services/Admission.ts"
import { type Bound, Scheduling, type SchedulingShape } from "../../services/Scheduling.ts"
import { Transport } from "../../services/Transport.ts"
import { Attachment } from "../../src/lane/attachment.ts"
import { Dispatcher, type DispatcherHost } from "../../src/lane/dispatcher.ts"
import { defaultPolicy } from "../../src/lane/monitor.ts"
import { hiddenMemory, originalExports } from "../core/exports.ts"
import { tallyOf } from "../core/tally.ts"
import { InProcessMemory } from "./lanes.ts"

/** Between two looks at the clock. */
const LEAP_MS = 3_600_000

/**
 * What a run does must not depend on the time of day, so that a seed gives the same run each time: an hour passes with
 * each look at the clock, and a loop that was stopped may be tried again at once.
 */
const makeHost = (): DispatcherHost => {
  let time = 0
  return {
    now: () => time += LEAP_MS,
    // Whether it pays is no question here.
    busy: () => 0,
    compile: (bytes) => new WebAssembly.Module(bytes as BufferSource),
    instantiate: (module, imports) => new WebAssembly.Instance(module, imports),
    later: (_, run) => run()
  }
}

/**
 * One chunk a participant, the owner's the last of the loop.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<SchedulingShape, never, Admission | Transport> = Effect.gen(function*() {
  const { minimumWorkNs = 0 } = yield* Admission
  const { lanes } = yield* Transport
  const dispatcher = new Dispatcher(lanes, { ...defaultPolicy, minimumWorkNs }, makeHost(), "fixed")
  return {
    bind: (instance, prepared) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const memory = hiddenMemory(instance.exports)
          if (memory === undefined) throw new TypeError("the instance is not one of the emitted module")
          return {
            memory,
            attachment: new Attachment(dispatcher, instance.exports, prepared, memory, new InProcessMemory(memory))
          }
        }),
        ({ attachment }) => Effect.sync(() => attachment.close())
      ).pipe(
        Effect.map(({ attachment, memory }): Bound => ({
          exports: originalExports(instance.exports),
          memory,
          tally: () => tallyOf(attachment.counts.report(), undefined)
        }))
      )
  }
})

/**
 * {@link Scheduling} over the lanes in the context.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Scheduling, never, Admission | Transport> = Layer.effect(Scheduling, make)
