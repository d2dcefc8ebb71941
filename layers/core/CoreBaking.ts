/**
 * Baking by the plain code in `src/image`: the same on every host. A host adds how files are read and mapped.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type {
  BakingShape,
  CaptureRequest,
  ImageModule,
  ImageSource,
  Opened,
  OpenImageOptions
} from "../../services/Baking.ts"
import { ModuleInvalid } from "../../services/Errors.ts"
import { ImageMismatch } from "../../services/ImageErrors.ts"
import { decodeModule, type WasmModule } from "../../src/binary/module.ts"
import { applyImage } from "../../src/image/apply.ts"
import { bakeModule } from "../../src/image/bake.ts"
import { capture } from "../../src/image/capture.ts"
import { checkBaked } from "../../src/image/check.ts"
import { loadChunks, loadIndex } from "../../src/image/chunks.ts"
import { decodeImage, encodeImage } from "../../src/image/format.ts"
import { instrument } from "../../src/image/instrument.ts"
import { Mismatch } from "../../src/image/mismatch.ts"
import type { Image } from "../../src/image/model.ts"
import { captureContract, checkFingerprint, checkHooks, type ReplayHooks, runHooks } from "../../src/image/replay.ts"
import { scanImage } from "../../src/image/scan.ts"
import { compareImages } from "../../src/image/verdict.ts"
import { instantiate } from "./instantiate.ts"
import { openOrBoot } from "./openOrBoot.ts"
import { readSource, sourceName } from "./source.ts"

/**
 * What a host adds.
 *
 * @category options
 * @since 0.1.0
 */
export interface BakingHost {
  /** Reads a module's bytes at a path or URL. */
  readonly loadModule: (place: URL | string, name: string) => Effect.Effect<Uint8Array<ArrayBuffer>, ModuleInvalid>
  /** Reads an image's file. */
  readonly readImage: (place: URL | string) => Effect.Effect<Uint8Array, ImageMismatch>
  /** Writes an image's file so that it is there as a whole or not at all. */
  readonly writeImage: (bytes: Uint8Array, place: URL | string) => Effect.Effect<void, ImageMismatch>
  /**
   * Applies an image straight from its file. `check` looks at the image before anything is written, and throws a
   * `Mismatch`.
   */
  readonly openFile: (
    module: ImageModule,
    instance: WebAssembly.Instance,
    place: URL | string,
    options: OpenImageOptions,
    check: (image: Image) => void
  ) => Effect.Effect<Opened, ImageMismatch>
}

/** What a source of an image is called in messages. @category formatting @since 0.1.0 */
export const imageName = (source: ImageSource): string =>
  source instanceof URL || typeof source === "string" ? sourceName({ kind: "place", place: source }) : "image"

/**
 * Plain code that refuses by throwing a `Mismatch`. A secret that is too short to be told from chance is a `RangeError`
 * of the caller's making, and a defect.
 *
 * @category conversions
 * @since 0.1.0
 */
export const attempt = <A>(source: string, work: () => A): Effect.Effect<A, ImageMismatch> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(work())
    } catch (error) {
      return error instanceof Mismatch ? ImageMismatch.from(source, error) : Effect.die(error)
    }
  })

const messageOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

const decode = (name: string, bytes: Uint8Array): Effect.Effect<WasmModule, ModuleInvalid> =>
  Effect.try({
    try: () => decodeModule(bytes),
    catch: (cause) => new ModuleInvalid({ source: name, reason: "malformed", detail: messageOf(cause), cause })
  })

/** SHA-256 in hex. @category conversions @since 0.1.0 */
export const digestOf = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)), (byte) => byte.toString(16).padStart(2, "0"))
    .join("")

const prepareBytes = (
  name: string,
  bytes: Uint8Array<ArrayBuffer>
): Effect.Effect<ImageModule, ModuleInvalid | ImageMismatch> =>
  Effect.gen(function*() {
    const decoded = yield* decode(name, bytes)
    const emitted = yield* attempt(name, () => instrument(decoded))
    const compiled = yield* Effect.tryPromise({
      try: () => WebAssembly.compile(emitted),
      catch: (cause) => new ModuleInvalid({ source: name, reason: "malformed", detail: messageOf(cause), cause })
    })
    const digest = yield* Effect.promise(() => digestOf(bytes))
    return { name, bytes, decoded, digest, instrumented: compiled }
  })

/** Looks at an image before it is used: what it was made for, and what it asks for. */
const checker = (module: ImageModule, { fingerprint, hooks }: OpenImageOptions) => (image: Image): void => {
  checkFingerprint(image, { module: module.digest, fingerprint })
  checkHooks(image, hooks ?? {})
}

/** Fetches reject with whatever they like; a `Mismatch` is ours, and the rest says that a file was not to be had. */
const fetchFailure = (cause: unknown): ImageMismatch =>
  ImageMismatch.from(
    "image",
    cause instanceof Mismatch
      ? cause
      : new Mismatch("unreadable", "a file of the image", messageOf(cause), "Check that all files of it are served.")
  )

/**
 * Baking on a host.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeBaking = (host: BakingHost): BakingShape => {
  const replay = (instance: WebAssembly.Instance, opened: Opened, hooks: ReplayHooks | undefined, name: string) =>
    Effect.as(attempt(name, () => runHooks(instance.exports, opened.image, hooks ?? {})), opened)

  const read = (source: ImageSource, trusted = false): Effect.Effect<Image, ImageMismatch> => {
    const name = imageName(source)
    if (source instanceof Uint8Array) return attempt(name, () => decodeImage(source, trusted))
    return source instanceof URL || typeof source === "string"
      ? Effect.flatMap(host.readImage(source), (bytes) => attempt(name, () => decodeImage(bytes)))
      : Effect.succeed(source)
  }

  const open: BakingShape["open"] = (module, instance, source, options = {}) => {
    const name = imageName(source)
    const check = checker(module, options)
    const opened = source instanceof URL || typeof source === "string"
      ? host.openFile(module, instance, source, options, check)
      : Effect.flatMap(read(source, options.trusted), (image) =>
        attempt(name, (): Opened => {
          check(image)
          applyImage(module.decoded, instance.exports, image, options)
          return { image, how: "copied" }
        }))
    return Effect.flatMap(opened, (done) => replay(instance, done, options.hooks, name))
  }

  const captureState = (module: ImageModule, instance: WebAssembly.Instance, request: CaptureRequest = {}) =>
    attempt(module.name, () =>
      capture(module.decoded, instance.exports, {
        module: module.digest,
        fingerprint: request.fingerprint,
        ...captureContract(request)
      }))

  return {
    prepare: (source, label) =>
      Effect.suspend((): Effect.Effect<ImageModule, ModuleInvalid | ImageMismatch> => {
        const found = readSource(source)
        const name = label ?? sourceName(found)
        if (found.kind === "bytes") return prepareBytes(name, found.bytes)
        if (found.kind === "place") {
          return Effect.flatMap(host.loadModule(found.place, name), (bytes) => prepareBytes(name, bytes))
        }
        const detail = found.kind === "module" ? "a compiled module does not give its bytes" : `it is ${found.found}`
        return new ModuleInvalid({ source: name, reason: "unsupported", detail })
      }),
    instantiate: (module, imports = {}) => instantiate(module.name, module.instrumented, imports),
    capture: captureState,
    encode: encodeImage,
    write: (image, place) =>
      Effect.flatMap(attempt(imageName(place), () => encodeImage(image)), (bytes) => host.writeImage(bytes, place)),
    read: (source) => read(source),
    open,
    load: (module, instance, fetchFile, options = {}) =>
      Effect.tryPromise({
        try: async (): Promise<Opened> => {
          const image = await loadIndex(fetchFile)
          checker(module, options)(image)
          await loadChunks(module.decoded, instance.exports, image, fetchFile, options)
          return { image, how: "copied" }
        },
        catch: fetchFailure
      }).pipe(Effect.flatMap((opened) => replay(instance, opened, options.hooks, "image"))),
    openOrBoot: (request) => openOrBoot({ open, decode, attempt }, request),
    bake: (module, image) =>
      attempt(module.name, () => {
        checkFingerprint(image, { module: module.digest, fingerprint: undefined })
        return bakeModule(module.decoded, image)
      }),
    checkBaked: (module, baked, image) =>
      Effect.flatMap(
        decode("baked module", baked),
        (decoded) => attempt(module.name, () => checkBaked(module.decoded, decoded, image))
      ),
    scan: (module, image, secrets) => attempt(module.name, () => scanImage(module.decoded, image, secrets)),
    verdict: (module, boot) =>
      Effect.gen(function*() {
        const from = Date.now()
        const first = yield* captureState(module, yield* boot)
        const second = yield* captureState(module, yield* boot)
        return yield* attempt(module.name, () => compareImages(module.decoded, first, second, { from, to: Date.now() }))
      })
  }
}
