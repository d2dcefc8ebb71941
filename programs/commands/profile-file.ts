/**
 * Files of profiles: what a run executed, by function and loop.
 *
 * ```json
 * {
 *   "format": "folio-profile", "version": 1,
 *   "module": { "name": "squares.wat", "bytes": 272, "sha256": "9f3a…" },
 *   "instructions": 2400012,
 *   "functions": [{
 *     "index": 0, "name": "squares", "calls": 1, "instructions": 2400012,
 *     "loops": [{ "offset": 143, "executions": 1, "iterations": 200000, "instructions": 2400000, "called": 0 }]
 *   }]
 * }
 * ```
 *
 * `instructions` of a function are its own, those of its loops included; of a loop its own, without loops inside it,
 * whose `parent` is its offset; `called` are those of functions that it called. Offsets are bytes of the module.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { existsSync, statSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { WasmModule } from "../../src/binary/module.ts"
import { type Profile, PROFILE_VERSION, profileDocument } from "../../src/profile/profile.ts"
import type { ModuleFile } from "./file.ts"
import { CommandFailed, ExitCode } from "./outcome.ts"

const Count = Schema.NonNegativeInt

/**
 * A profile as JSON.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ProfileFile = Schema.Struct({
  format: Schema.Literal("folio-profile"),
  version: Schema.Literal(PROFILE_VERSION),
  /** The module that was run, by the SHA-256 of its bytes. */
  module: Schema.Struct({ name: Schema.String, bytes: Count, sha256: Schema.String }),
  instructions: Count,
  functions: Schema.Array(Schema.Struct({
    index: Count,
    name: Schema.optional(Schema.String),
    calls: Count,
    instructions: Count,
    loops: Schema.Array(Schema.Struct({
      offset: Count,
      parent: Schema.optional(Count),
      executions: Count,
      iterations: Count,
      instructions: Count,
      called: Count
    }))
  }))
})

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

/**
 * A profile as it is written.
 *
 * @category encoding
 * @since 0.1.0
 */
export const encodeProfile = ({ bytes, name }: ModuleFile, decoded: WasmModule, profile: Profile): string => {
  const module = { name, bytes: bytes.length, sha256: sha256(bytes) }
  const document: typeof ProfileFile.Type = profileDocument(module, decoded.functionNames, profile)
  return `${JSON.stringify(document, null, 1)}\n`
}

const messageOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

/**
 * Whether a profile is to be looked for in a folder: that of a module is named by its SHA-256 there.
 *
 * @category queries
 * @since 0.1.0
 */
export const isProfileFolder = (place: string): boolean =>
  statSync(place, { throwIfNoEntry: false })?.isDirectory() === true

const fileIn = (folder: string, { bytes }: ModuleFile): string => join(folder, `${sha256(bytes)}.json`)

/**
 * The profile of a module, where there is one: a file is read, out of a folder only what is there.
 *
 * @category decoding
 * @since 0.1.0
 */
export const findProfile = (place: string, module: ModuleFile): Effect.Effect<Profile | undefined, CommandFailed> =>
  isProfileFolder(place) && !existsSync(fileIn(place, module)) ? Effect.succeed(undefined) : readProfile(place, module)

/**
 * Reads the profile of a module, from its file or out of a folder. Fails where it is none, or that of another module.
 *
 * @category decoding
 * @since 0.1.0
 */
export const readProfile = (place: string, module: ModuleFile): Effect.Effect<Profile, CommandFailed> => {
  const failed = (exit: number, detail: string) => new CommandFailed({ exit, tag: "ProfileInvalid", message: detail })
  return Effect.gen(function*() {
    const file = isProfileFolder(place) ? fileIn(place, module) : place
    const text = yield* Effect.tryPromise({
      try: () => readFile(file, "utf8"),
      catch: (cause) => failed(ExitCode.failed, `${file}: ${messageOf(cause)}`)
    })
    const profile = yield* Schema.decode(Schema.parseJson(ProfileFile))(text).pipe(
      Effect.mapError((error) =>
        failed(ExitCode.failed, `${file}: not a profile: ${ParseResult.TreeFormatter.formatErrorSync(error)}`)
      )
    )
    return profile.module.sha256 === sha256(module.bytes)
      ? profile
      : yield* failed(
        ExitCode.refused,
        `${file}: the profile is of another module: ${profile.module.name}, ${profile.module.bytes} bytes, sha256 ` +
          `${profile.module.sha256}. Take one of ${module.name} with folio run --profile.`
      )
  })
}
