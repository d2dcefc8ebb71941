/**
 * Admission by plan and outcome.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Admission, type AdmissionShape, type Demand } from "../../services/Admission.ts"
import { ArenaRefused, NotWorthwhile, type RefusalReason, Refused } from "../../services/Errors.ts"
import { inspection } from "./inspection.ts"
import { whyNative } from "./tally.ts"

/** Most reasons that one error carries. */
const SHOWN = 20

/** Reasons of the entry's own functions, then those of the others. */
const reasonsFor = ({ entry, extracted }: Demand): ReadonlyArray<RefusalReason> => {
  const { functions } = inspection(extracted)
  const own = functions.filter((one) => one.exports.includes(entry))
  const others = functions.filter((one) => !one.exports.includes(entry))
  return [...own, ...others]
    .flatMap((one) =>
      one.loops.flatMap((loop) => loop.reasons.map((reason): RefusalReason => ({ ...reason, function: one.name })))
    )
    .slice(0, SHOWN)
}

/**
 * Admits what pays by `minimumWorkNs`, and words the verdicts for a caller who demands parallel.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeAdmission = (minimumWorkNs: number | undefined): AdmissionShape => ({
  minimumWorkNs,
  before: (demand) => {
    const { entry, extracted, tally, width } = demand
    const source = extracted.name
    if (extracted.nativeReason !== undefined) {
      return new Refused({ source, entry, reasons: reasonsFor(demand), detail: extracted.nativeReason })
    }
    if (width < 2) {
      const detail = "there is no lane besides the owner"
      return new NotWorthwhile({ source, entry, reason: "one-lane", detail, ran: false, result: undefined })
    }
    return tally?.unconnected === undefined
      ? Effect.void
      : new ArenaRefused({ source, reason: "unmapped", detail: tally.unconnected })
  },
  after: ({ entry, extracted, tally }, now, result) =>
    now.dispatches > (tally?.dispatches ?? 0) ? Effect.succeed(result) : new NotWorthwhile({
      source: extracted.name,
      entry,
      reason: "no-dispatch",
      detail: whyNative(now),
      ran: true,
      result
    })
})

/**
 * {@link Admission} with the least work to hand out; undefined is what the machine measures.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerAdmission = (minimumWorkNs?: number): Layer.Layer<Admission> =>
  Layer.sync(Admission, () => makeAdmission(minimumWorkNs))
