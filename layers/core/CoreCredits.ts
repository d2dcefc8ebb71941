/**
 * Credits as counters of this process.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type Credit, CreditLimits, Credits, type CreditsShape } from "../../services/Credits.ts"
import { CreditsExhausted } from "../../services/Errors.ts"

/**
 * Counters with the given limits.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeCredits = (options: typeof CreditLimits.Encoded = {}): CreditsShape => {
  const limits = Schema.decodeSync(CreditLimits)(options)
  const held: Record<Credit, number> = { sessions: 0, bytes: 0 }
  const available = (credit: Credit): number => limits[credit] - held[credit]
  return {
    available,
    take: (credit, amount) =>
      Effect.acquireRelease(
        Effect.suspend(() => {
          if (amount > available(credit)) {
            return new CreditsExhausted({
              credit,
              wanted: amount,
              available: available(credit),
              limit: limits[credit]
            })
          }
          held[credit] += amount
          return Effect.void
        }),
        () => Effect.sync(() => void (held[credit] -= amount))
      )
  }
}

/**
 * {@link Credits} with the given limits.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerCredits = (options?: typeof CreditLimits.Encoded): Layer.Layer<Credits> =>
  Layer.sync(Credits, () => makeCredits(options))
