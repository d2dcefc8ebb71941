/**
 * Extraction of bytes and compiled modules, on any host.
 *
 * @since 0.1.0
 */
import * as Layer from "effect/Layer"
import { ModuleInvalid } from "../../services/Errors.ts"
import { Extraction } from "../../services/Extraction.ts"
import type { PrepareOptions } from "../../src/plan/prepare.ts"
import { makeExtraction } from "../core/CoreExtraction.ts"

/**
 * {@link Extraction} that reads no files.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (prepare: PrepareOptions = {}): Layer.Layer<Extraction> =>
  Layer.succeed(
    Extraction,
    makeExtraction({
      load: (place, name) =>
        new ModuleInvalid({
          source: name,
          reason: "unsupported",
          detail: `${place} is a place, and no files are read here`
        }),
      prepare: () => prepare
    })
  )
