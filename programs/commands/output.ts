/**
 * What a command makes, in a file or on stdout.
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { onFiles, writeInPlace } from "./image-files.ts"
import { type CommandFailed, usage } from "./outcome.ts"

/** What stands for stdout where a file is asked for. @category constants @since 0.1.0 */
export const STDOUT = "-"

/**
 * Writes what a command makes: into a file as {@link writeInPlace} does, or to stdout, which then holds nothing else.
 *
 * @category output
 * @since 0.1.0
 */
export const writeOutput = (file: string, data: Uint8Array | string): Effect.Effect<void, CommandFailed> =>
  file === STDOUT
    ? onFiles(
      "stdout",
      () => new Promise<void>((done, failed) => process.stdout.write(data, (error) => error ? failed(error) : done()))
    )
    : writeInPlace(file, data)

/**
 * Where prose goes: to stderr where stdout is the output.
 *
 * @category output
 * @since 0.1.0
 */
export const sayBeside = (output: string | undefined): (text: string) => Effect.Effect<void> =>
  output === STDOUT ? Console.error : Console.log

/** Refuses a document on a stdout that is the output already. @category output @since 0.1.0 */
export const oneOutput = (output: string | undefined, json: boolean): Effect.Effect<void, CommandFailed> =>
  output === STDOUT && json ? usage("stdout takes one of them: --output FILE with --json") : Effect.void
