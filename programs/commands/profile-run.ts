/**
 * Taking a profile: a copy of the module that counts is run beside it, natively.
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import type { FunctionType, WasmModule } from "../../src/binary/module.ts"
import { COUNTERS_EXPORT, instrument } from "../../src/profile/instrument.ts"
import { loopShares, type Profile, readProfile } from "../../src/profile/profile.ts"
import type { ModuleFile } from "./file.ts"
import { writeInPlace } from "./image-files.ts"
import { CommandFailed, ExitCode } from "./outcome.ts"
import { encodeProfile } from "./profile-file.ts"
import { nativeInstance } from "./verify.ts"

/**
 * A call to profile.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProfiledCall {
  readonly entry: string
  readonly type: FunctionType
  readonly args: ReadonlyArray<bigint>
  /** An export without parameters that is called first, if there is one. */
  readonly initializer: string | undefined
}

const count = async (decoded: WasmModule, { args, entry, initializer, type }: ProfiledCall): Promise<Profile> => {
  const { bytes, functions } = instrument(decoded)
  const { call, exports } = await nativeInstance(decoded, bytes)
  if (initializer !== undefined) call(initializer, { params: [], results: [] }, [])
  // A trap ends the run, and what was executed before it counts.
  call(entry, type, args)
  return readProfile(functions, (exports[COUNTERS_EXPORT] as WebAssembly.Memory).buffer)
}

/**
 * Runs the counting copy and writes its profile into a file; says on stderr where most of the work was.
 *
 * @category profiling
 * @since 0.1.0
 */
export const writeProfile = (
  file: string,
  module: ModuleFile,
  decoded: WasmModule,
  call: ProfiledCall
): Effect.Effect<void, CommandFailed> =>
  Effect.gen(function*() {
    const profile = yield* Effect.tryPromise({
      try: () => count(decoded, call),
      catch: (cause) =>
        new CommandFailed({
          exit: ExitCode.failed,
          tag: "ProfileFailed",
          message: `${module.name}: the counting copy could not be run: ${
            cause instanceof Error ? cause.message : cause
          }`
        })
    })
    yield* writeInPlace(file, encodeProfile(module, decoded, profile))
    const [hottest] = [...loopShares(profile)].sort(([, a], [, b]) => b - a)
    const most = hottest === undefined
      ? "none of them in a loop"
      : `${(hottest[1] * 100).toFixed(1)} % of them in the loop at 0x${hottest[0].toString(16)}`
    yield* Console.error(`folio: ${file}: ${profile.instructions.toLocaleString("en")} instructions, ${most}`)
  })
