/**
 * Credits: nothing of a process is held without one.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { CreditsExhausted } from "./Errors.ts"

/**
 * What is counted: open sessions, and bytes of memories that Folio allocates itself. Lanes are counted by the
 * transport, for all owners of a process.
 *
 * @category models
 * @since 0.1.0
 */
export type Credit = "sessions" | "bytes"

/**
 * How much there is of each.
 *
 * @category options
 * @since 0.1.0
 */
export const CreditLimits = Schema.Struct({
  sessions: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 1024 }),
  bytes: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 8 * 2 ** 30 })
})

/**
 * @category options
 * @since 0.1.0
 */
export type CreditLimits = typeof CreditLimits.Type

/**
 * The operations of {@link Credits}.
 *
 * @category models
 * @since 0.1.0
 */
export interface CreditsShape {
  /** Takes an amount, all or nothing, until the scope ends. Never waits. */
  readonly take: (credit: Credit, amount: number) => Effect.Effect<void, CreditsExhausted, Scope.Scope>
  /** What is left now. */
  readonly available: (credit: Credit) => number
}

/**
 * Counts sessions and bytes against their limits.
 *
 * @category services
 * @since 0.1.0
 */
export class Credits extends Context.Tag("folio/services/Credits")<Credits, CreditsShape>() {}
