/**
 * Instances of modules that images are made of, with the engine's refusals as typed errors.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { InstantiateError } from "../../services/Baking.ts"
import { type HostException, LinkFailed, type Trap } from "../../services/Errors.ts"
import { thrown } from "./session.ts"

/**
 * Why there is no instance, from what was thrown while it was made.
 *
 * @category conversions
 * @since 0.1.0
 */
export const instantiateFailure = (source: string, cause: unknown): InstantiateError => {
  const message = cause instanceof Error ? cause.message : String(cause)
  const detail = message.replace(/^WebAssembly\.(?:instantiate|Instance)\(\): /, "")
  return cause instanceof WebAssembly.LinkError || (cause instanceof TypeError && detail !== message)
    ? new LinkFailed({ source, reason: "incompatible", imports: [], detail, cause })
    : thrown(source, "(start)", cause) as Trap | HostException
}

/**
 * Instantiates a compiled module.
 *
 * @category constructors
 * @since 0.1.0
 */
export const instantiate = (
  source: string,
  module: WebAssembly.Module,
  imports: WebAssembly.Imports
): Effect.Effect<WebAssembly.Instance, InstantiateError> =>
  Effect.tryPromise({
    try: () => WebAssembly.instantiate(module, imports),
    catch: (cause) => instantiateFailure(source, cause)
  })
