/**
 * Extraction with paths and `file:` URLs.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { readFile } from "node:fs/promises"
import { ModuleInvalid } from "../../services/Errors.ts"
import { Extraction } from "../../services/Extraction.ts"
import type { PrepareOptions } from "../../src/plan/prepare.ts"
import { makeExtraction } from "../core/CoreExtraction.ts"
import { measured } from "./measured.ts"

const messageOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

/** Text with a scheme of two letters or more is a URL; `C:\\x` is a path. */
const placeOf = (place: URL | string): URL | string =>
  typeof place === "string" && /^[a-z][a-z0-9+.-]+:/i.test(place) && URL.canParse(place) ? new URL(place) : place

const load = (where: URL | string, name: string): Effect.Effect<Uint8Array<ArrayBuffer>, ModuleInvalid> => {
  const place = placeOf(where)
  return place instanceof URL && place.protocol !== "file:"
    ? new ModuleInvalid({
      source: name,
      reason: "unsupported",
      detail: `only files are read, not ${place.protocol} addresses; fetch the bytes first`
    })
    : Effect.tryPromise({
      try: async () => new Uint8Array(await readFile(place)),
      catch: (cause) => new ModuleInvalid({ source: name, reason: "unreadable", detail: messageOf(cause), cause })
    })
}

/**
 * {@link Extraction} on Node.js.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (prepare: PrepareOptions = {}): Layer.Layer<Extraction> =>
  Layer.succeed(Extraction, makeExtraction({ load, prepare: () => ({ ...prepare, ...measured(prepare) }) }))
