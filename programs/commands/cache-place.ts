/**
 * The cache that a command works on: the one that the drop-in uses.
 *
 * @since 0.1.0
 */
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { cacheDirectory } from "../../layers/node/cache.ts"
import { CommandFailed, ExitCode } from "./outcome.ts"

/**
 * The option that names another one.
 *
 * @category options
 * @since 0.1.0
 */
export const cacheOption = Options.text("cache").pipe(
  Options.withDescription("the cache directory (default: as the drop-in has it, FOLIO_CACHE or ~/.cache/folio)"),
  Options.optional
)

/**
 * The directory; fails where there is none.
 *
 * @category input
 * @since 0.1.0
 */
export const cachePlace = (given: Option.Option<string>): Effect.Effect<string, CommandFailed> => {
  const setting = Option.getOrElse(given, () => process.env["FOLIO_CACHE"] || undefined)
  const directory = cacheDirectory(setting, process.env)
  return directory === undefined
    ? new CommandFailed({
      exit: ExitCode.refused,
      tag: "NoCache",
      message: setting === "off"
        ? "there is no cache: FOLIO_CACHE is off. Unset it, or give --cache DIR"
        : "there is no cache: no home directory is known. Give --cache DIR"
    })
    : Effect.succeed(directory)
}
