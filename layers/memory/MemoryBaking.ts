/**
 * Baking on any host: modules and images from memory, and images fetched in chunks.
 *
 * @since 0.1.0
 */
import * as Layer from "effect/Layer"
import { Baking } from "../../services/Baking.ts"
import { ModuleInvalid } from "../../services/Errors.ts"
import { ImageMismatch } from "../../services/ImageErrors.ts"
import { imageName, makeBaking } from "../core/CoreBaking.ts"

const noFiles = (place: URL | string): ImageMismatch =>
  new ImageMismatch({
    source: imageName(place),
    code: "unreadable",
    place: String(place),
    detail: "there are no files here",
    remedy: "Keep the image's bytes, or load it in chunks."
  })

/**
 * {@link Baking} that reads no files.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Baking> = Layer.succeed(
  Baking,
  makeBaking({
    loadModule: (place, source) =>
      new ModuleInvalid({ source, reason: "unsupported", detail: `${place} is a place, and no files are read here` }),
    readImage: noFiles,
    writeImage: (_bytes, place) => noFiles(place),
    openFile: (_module, _instance, place) => noFiles(place)
  })
)
