/**
 * Memories allocated by the engine that runs this.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Arena, type ArenaShape, type MemoryRequest } from "../../services/Arena.ts"
import { Credits } from "../../services/Credits.ts"
import { ArenaRefused } from "../../services/Errors.ts"

/** Bytes of a page. */
const PAGE = 65536

const label = (request: MemoryRequest): string => `the memory import "${request.module}" "${request.name}"`

/** Descriptor of a memory with the declared limits, or in words why there is none. */
const descriptorOf = (request: MemoryRequest): WebAssembly.MemoryDescriptor | string => {
  const { is64, max, min, pageSizeLog2, shared } = request.limits
  if (is64) return `${label(request)} is addressed by 64 bits; such a memory is not allocated by itself`
  if (pageSizeLog2 !== undefined && pageSizeLog2 !== 16) return `${label(request)} has pages of an unusual size`
  return max === undefined ? { initial: min, shared } : { initial: min, maximum: max, shared }
}

/**
 * Allocates with `WebAssembly.Memory`, counted as bytes of `Credits`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeArena: Effect.Effect<ArenaShape, never, Credits> = Effect.gen(function*() {
  const credits = yield* Credits
  return {
    allocate: Effect.fnUntraced(function*(request: MemoryRequest) {
      const descriptor = descriptorOf(request)
      if (typeof descriptor === "string") {
        return yield* new ArenaRefused({ source: request.source, reason: "limit", detail: descriptor })
      }
      const bytes = request.limits.min * PAGE
      yield* credits.take("bytes", bytes)
      return yield* Effect.try({
        try: () => new WebAssembly.Memory(descriptor),
        catch: (cause) =>
          new ArenaRefused({
            source: request.source,
            reason: "allocation",
            detail: `${label(request)} of ${bytes} bytes: ${cause instanceof Error ? cause.message : String(cause)}`,
            cause
          })
      })
    })
  }
})

/**
 * {@link Arena} of the engine that runs this.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerArena: Layer.Layer<Arena, never, Credits> = Layer.effect(Arena, makeArena)
