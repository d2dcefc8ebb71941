/**
 * Baking on Node.js: modules and images from files, and images mapped from theirs.
 *
 * ```ts
 * const program = Effect.gen(function*() {
 *   const baking = yield* Baking
 *   const module = yield* baking.prepare("interpreter.wasm")
 *   const { instance } = yield* baking.openOrBoot({ module, image: "interpreter.folio", fingerprint, imports, boot })
 * })
 *
 * await program.pipe(Effect.provide(NodeBaking.layer), Effect.runPromise)
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { readFile, rename, rm, writeFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { Baking } from "../../services/Baking.ts"
import { ModuleInvalid } from "../../services/Errors.ts"
import { ImageMismatch } from "../../services/ImageErrors.ts"
import { Mismatch } from "../../src/image/mismatch.ts"
import { imageName, makeBaking } from "../core/CoreBaking.ts"
import { openImageFile } from "./image-file.ts"

const messageOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

const unreadable = (place: URL | string, cause: unknown): ImageMismatch =>
  ImageMismatch.from(
    imageName(place),
    cause instanceof Mismatch
      ? cause
      : new Mismatch("unreadable", "the file", messageOf(cause), "Check the path and its permissions.")
  )

/** A file that is mapped must not be written into: the new one takes its name, and the old one its leave. */
const replace = async (place: URL | string, bytes: Uint8Array): Promise<void> => {
  const file = place instanceof URL ? fileURLToPath(place) : place
  const temporary = `${file}.${process.pid}.tmp`
  try {
    await writeFile(temporary, bytes)
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/**
 * {@link Baking} on Node.js.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Baking> = Layer.succeed(
  Baking,
  makeBaking({
    loadModule: (place, source) =>
      Effect.tryPromise({
        try: async () => new Uint8Array(await readFile(place)),
        catch: (cause) => new ModuleInvalid({ source, reason: "unreadable", detail: messageOf(cause), cause })
      }),
    readImage: (place) => Effect.tryPromise({ try: () => readFile(place), catch: (cause) => unreadable(place, cause) }),
    writeImage: (bytes, place) =>
      Effect.tryPromise({ try: () => replace(place, bytes), catch: (cause) => unreadable(place, cause) }),
    openFile: (module, instance, place, options, check) =>
      Effect.try({
        try: () => openImageFile(module.decoded, instance.exports, place, options, check),
        catch: (cause) => unreadable(place, cause)
      })
  })
)
