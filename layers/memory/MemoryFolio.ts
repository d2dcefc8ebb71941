/**
 * Folio without threads: the same plans, guards and chunks, with all chunks of a loop on the caller's own thread in an
 * order that is chosen.
 *
 * It is available everywhere, and it is the differential driver: chunks that run out of order give the serial bytes
 * only if the plan is right.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { CreditLimits } from "../../services/Credits.ts"
import type { Folio } from "../../services/Folio.ts"
import { layerAdmission } from "../core/CoreAdmission.ts"
import { layerArena } from "../core/CoreArena.ts"
import { layerCredits } from "../core/CoreCredits.ts"
import { layerFolio } from "../core/CoreFolio.ts"
import * as MemoryExtraction from "./MemoryExtraction.ts"
import * as MemoryScheduling from "./MemoryScheduling.ts"
import * as MemoryTransport from "./MemoryTransport.ts"

/**
 * How chunks are cut and ordered. Everything has a default. Loops of any size are cut: nothing is gained by it here.
 *
 * @category options
 * @since 0.1.0
 */
export const MemoryFolioOptions = Schema.Struct({
  /** Participants of one loop, the owner counted: 2 to 32. */
  width: Schema.optionalWith(Schema.Int.pipe(Schema.between(2, 32)), { default: () => 4 }),
  /** `forward`, `reverse`, or the seed of a shuffle. */
  order: Schema.optionalWith(Schema.Union(Schema.Literal("forward", "reverse"), Schema.Int), {
    default: () => "forward" as const
  }),
  /** Limits of what is held at a time. */
  limits: Schema.optionalWith(CreditLimits, { default: () => Schema.decodeSync(CreditLimits)({}) })
})

/**
 * @category options
 * @since 0.1.0
 */
export type MemoryFolioOptions = typeof MemoryFolioOptions.Encoded

const layerDecoded = ({ limits, order, width }: typeof MemoryFolioOptions.Type): Layer.Layer<Folio> =>
  layerFolio.pipe(
    Layer.provide([layerArena, MemoryExtraction.layer(), MemoryScheduling.layer]),
    Layer.provide([
      layerAdmission(0),
      layerCredits(limits),
      MemoryTransport.layer({ width, order })
    ])
  )

/**
 * Folio on one thread. Options out of range are a defect.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: MemoryFolioOptions = {}): Layer.Layer<Folio> =>
  Layer.unwrapEffect(Effect.map(Effect.orDie(Schema.decode(MemoryFolioOptions)(options)), layerDecoded))
