/**
 * An instance from an image that fits, else one that is booted.
 *
 * Only what an image says of itself leads to a boot: another module or fingerprint, a file that is damaged, state that
 * it cannot bring back. An instance that an image was partly written into is given up, and another one is booted.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { BakingShape, InstantiateError, OpenOrBoot, Started } from "../../services/Baking.ts"
import { ModuleInvalid } from "../../services/Errors.ts"
import { ImageMismatch } from "../../services/ImageErrors.ts"
import type { WasmModule } from "../../src/binary/module.ts"
import { bakedFrom, type BakedNote } from "../../src/image/bake.ts"
import { Mismatch } from "../../src/image/mismatch.ts"
import { checkFingerprint, checkHooks, runHooks } from "../../src/image/replay.ts"
import { instantiate } from "./instantiate.ts"

/**
 * What the caller has at hand.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenTools {
  readonly open: BakingShape["open"]
  readonly decode: (name: string, bytes: Uint8Array) => Effect.Effect<WasmModule, ModuleInvalid>
  readonly attempt: <A>(source: string, work: () => A) => Effect.Effect<A, ImageMismatch>
}

type Failure = ImageMismatch | ModuleInvalid | InstantiateError

const NAME = "baked module"

const noteOf = (m: WasmModule): BakedNote => {
  const note = bakedFrom(m)
  if (note !== undefined) return note
  throw new Mismatch("baked", "the module", "no image is baked into it", "Pass what `bake` returned.")
}

const fromBaked = <E, R>(
  tools: OpenTools,
  baked: Uint8Array<ArrayBuffer>,
  { fingerprint, hooks = {}, imports, module }: OpenOrBoot<E, R>
): Effect.Effect<Started, Failure> =>
  Effect.gen(function*() {
    const decoded = yield* tools.decode(NAME, baked)
    const note = yield* tools.attempt(NAME, () => {
      const note = noteOf(decoded)
      checkFingerprint(note, { module: module?.digest ?? note.module, fingerprint })
      checkHooks(note, hooks)
      return note
    })
    const compiled = yield* Effect.tryPromise({
      try: () => WebAssembly.compile(baked),
      catch: (cause) => new ModuleInvalid({ source: NAME, reason: "malformed", detail: String(cause), cause })
    })
    const instance = yield* instantiate(NAME, compiled, imports())
    yield* tools.attempt(NAME, () => runHooks(instance.exports, note, hooks))
    return { instance, from: "baked" }
  })

/** The image's own refusal where there is nothing to open. */
const nothing = (source: string): ImageMismatch =>
  new ImageMismatch({
    source,
    code: "unreadable",
    place: "the image",
    detail: "none was given",
    remedy: "Pass an image, or a baked module."
  })

const fromImage = <E, R>(tools: OpenTools, request: OpenOrBoot<E, R>): Effect.Effect<Started, Failure> => {
  const { image, imports, module } = request
  if (module === undefined || image === undefined) return nothing(module?.name ?? "module")
  return Effect.gen(function*() {
    const instance = yield* instantiate(module.name, module.instrumented, imports())
    yield* tools.open(module, instance, image, { ...request, fresh: true })
    return { instance, from: "image" }
  })
}

/**
 * Opens what fits, or boots.
 *
 * @category opening
 * @since 0.1.0
 */
export const openOrBoot = <E, R>(
  tools: OpenTools,
  request: OpenOrBoot<E, R>
): Effect.Effect<Started, E | Failure, R> => {
  const { baked, boot, imports, module } = request
  const opened = baked === undefined ? fromImage(tools, request) : fromBaked(tools, baked, request)
  return Effect.catchTag(
    opened,
    "ImageMismatch",
    (mismatch): Effect.Effect<Started, E | Failure, R> =>
      module === undefined
        ? mismatch
        : Effect.gen(function*() {
          const instance = yield* instantiate(module.name, module.instrumented, imports())
          yield* boot(instance)
          return { instance, from: "boot", mismatch }
        })
  )
}
