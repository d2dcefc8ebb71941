/**
 * Extraction by the compiler in `src`: the same on every host. A host adds how a path is read.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { ModuleInvalid } from "../../services/Errors.ts"
import type { Extracted, ExtractionShape } from "../../services/Extraction.ts"
import { decodeModule, type WasmModule } from "../../src/binary/module.ts"
import { prepare, type Prepared, type PrepareOptions } from "../../src/plan/prepare.ts"
import { inspection } from "./inspection.ts"
import { readSource, sourceName } from "./source.ts"

/**
 * What a host adds.
 *
 * @category options
 * @since 0.1.0
 */
export interface ExtractionHost {
  /** Reads the bytes at a path or URL. */
  readonly load: (place: URL | string, name: string) => Effect.Effect<Uint8Array<ArrayBuffer>, ModuleInvalid>
  /** How one analysis is bounded, from the moment of the call on. */
  readonly prepare?: (() => PrepareOptions) | undefined
}

interface Analysed {
  readonly decoded: WasmModule
  readonly prepared: Prepared
}

/** Whether the engine has the multi-memory proposal, asked with a module that declares two. */
const takesSeveralMemories = WebAssembly.validate(
  new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 5, 2, 0, 0, 0, 0])
)

const messageOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

const compile = (name: string, bytes: Uint8Array<ArrayBuffer>): Effect.Effect<WebAssembly.Module, ModuleInvalid> =>
  Effect.tryPromise({
    try: () => WebAssembly.compile(bytes),
    catch: (cause) =>
      new ModuleInvalid({
        source: name,
        reason: "malformed",
        detail: messageOf(cause).replace(/^WebAssembly\.compile\(\): /, ""),
        cause
      })
  })

/**
 * Analyses and emits. The engine is the judge of validity: bytes that the compiler cannot read are compiled as they
 * are, and are either refused in the engine's own words or run natively.
 */
const extractBytes = (
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  options: PrepareOptions | undefined
): Effect.Effect<Extracted, ModuleInvalid> =>
  Effect.gen(function*() {
    const original = (nativeReason: string, analysed: Analysed | undefined) =>
      Effect.map(compile(name, bytes), (module): Extracted => ({
        name,
        bytes,
        module,
        decoded: analysed?.decoded,
        prepared: analysed?.prepared,
        nativeReason
      }))
    const analysed = yield* Effect.either(
      Effect.try((): Analysed => ({ decoded: decodeModule(bytes), prepared: prepare(bytes, options) }))
    )
    if (analysed._tag === "Left") {
      return yield* original(`the analysis does not know this module: ${messageOf(analysed.left.cause)}`, undefined)
    }
    const { decoded, prepared } = analysed.right
    if (prepared.guest === undefined) {
      return yield* original(prepared.plan.refusal?.detail ?? "no loop of this module can run apart", analysed.right)
    }
    if (!takesSeveralMemories) {
      return yield* original("this engine takes one memory a module, and lanes need two", analysed.right)
    }
    const emitted = yield* Effect.either(compile(name, new Uint8Array(prepared.guest)))
    return emitted._tag === "Right"
      ? { name, bytes, module: emitted.right, decoded, prepared, nativeReason: undefined }
      : yield* original(`the engine refuses the emitted module: ${emitted.left.detail}`, analysed.right)
  })

/**
 * Extraction on a host.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeExtraction = (host: ExtractionHost): ExtractionShape => ({
  extract: (source, label) =>
    Effect.suspend((): Effect.Effect<Extracted, ModuleInvalid> => {
      const read = readSource(source)
      const name = label ?? sourceName(read)
      switch (read.kind) {
        case "bytes":
          return extractBytes(name, read.bytes, host.prepare?.())
        case "place":
          return Effect.flatMap(host.load(read.place, name), (bytes) => extractBytes(name, bytes, host.prepare?.()))
        case "module":
          return Effect.succeed({
            name,
            bytes: undefined,
            module: read.module,
            decoded: undefined,
            prepared: undefined,
            nativeReason: "the source is a compiled module, whose bodies cannot be read; pass its bytes instead"
          })
        case "unknown":
          return new ModuleInvalid({ source: name, reason: "unsupported", detail: `the source is ${read.found}` })
      }
    }),
  inspect: inspection
})
