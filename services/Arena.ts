/**
 * Arena: the memories of guests.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Limits } from "../src/binary/module.ts"
import type { ArenaRefused, CreditsExhausted } from "./Errors.ts"

/**
 * A memory that a module imports and that the caller did not give.
 *
 * @category models
 * @since 0.1.0
 */
export interface MemoryRequest {
  /** The module that wants it, for messages. */
  readonly source: string
  /** Names of the import. */
  readonly module: string
  readonly name: string
  /** As declared. */
  readonly limits: Limits
}

/**
 * The operations of {@link Arena}.
 *
 * @category models
 * @since 0.1.0
 */
export interface ArenaShape {
  /**
   * Allocates a memory with the declared limits; its minimum counts as bytes of `Credits` until the scope ends. A
   * maximum that cannot be reserved is a refusal: a module sees the maximum that it declared, or nothing.
   */
  readonly allocate: (
    request: MemoryRequest
  ) => Effect.Effect<WebAssembly.Memory, ArenaRefused | CreditsExhausted, Scope.Scope>
}

/**
 * Allocates the memories of guests.
 *
 * @category services
 * @since 0.1.0
 */
export class Arena extends Context.Tag("folio/services/Arena")<Arena, ArenaShape>() {}
