/**
 * The command line: its commands, its errors and its exit code.
 *
 * @since 0.1.0
 */
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { arrange, unknownOption } from "./argv.ts"
import { bake } from "./bake.ts"
import { bench } from "./bench.ts"
import { cache } from "./cache.ts"
import { doctor } from "./doctor.ts"
import { help } from "./help.ts"
import { image } from "./image.ts"
import { inspect } from "./inspect.ts"
import { CommandFailed, ExitCode, printFailure, usage, withReadersConsole } from "./outcome.ts"
import { prepare } from "./prepare.ts"
import { run } from "./run.ts"
import { packageVersion } from "./version.ts"

const folio = Command.make("folio").pipe(
  Command.withDescription(help(
    "Run ordinary WebAssembly on all cores, bit for bit.",
    [
      ["folio inspect photon.wasm", "what can run apart, and why the rest cannot"],
      ["folio run sum.wasm sum 0 1000000 --verify", "run an export and compare it with the original"],
      ["folio prepare node_modules", "analyse the modules of all packages before they are first run"],
      ["folio doctor", "what this machine allows"]
    ],
    "Whole programs: node --import folio-wasm/register app.mjs"
  )),
  Command.withSubcommands([run, inspect, prepare, cache, bake, image, bench, doctor])
)

const cli = Command.run(folio, { name: "Folio", version: packageVersion, executable: "folio" })

/** A trap of the program is its own exit code; everything else is one of `ExitCode`. */
const exitCodeOf = <A, E>(exit: Exit.Exit<A, E>): number => {
  if (Exit.isSuccess(exit)) return ExitCode.ok
  const failure = Cause.failureOption(exit.cause)
  if (failure._tag === "None") return Cause.isInterruptedOnly(exit.cause) ? 130 : ExitCode.failed
  const error: unknown = failure.value
  if (error instanceof CommandFailed) return error.exit
  return ValidationError.isValidationError(error) ? ExitCode.usage : ExitCode.failed
}

const tokens = process.argv.slice(2)
const json = tokens.includes("--json")

/** The parser has printed its error on stderr; with `--json` there is a document besides. */
const asDocument = (error: ValidationError.ValidationError): Effect.Effect<void> =>
  json ? printFailure(usage(HelpDoc.toAnsiText(error.error)), json) : Effect.void

const arranged = Effect.suspend(() => {
  const unknown = unknownOption(tokens)
  if (unknown === undefined) {
    return cli([...process.argv.slice(0, 2), ...(tokens.length === 0 ? ["--help"] : arrange(tokens))])
  }
  const error = usage(`there is no option ${unknown}; folio ${tokens[0]} --help shows them`)
  return Effect.zipRight(printFailure(error, json), error)
})

const program = arranged.pipe(
  Effect.tapError((error) => ValidationError.isValidationError(error) ? asDocument(error) : Effect.void),
  Effect.catchAllDefect((defect) => {
    const message = `this is a bug in folio, please report it: ${defect instanceof Error ? defect.message : defect}`
    const error = new CommandFailed({ exit: ExitCode.failed, tag: "Defect", message })
    return Effect.zipRight(printFailure(error, json), error)
  }),
  withReadersConsole,
  Effect.provide(Layer.merge(NodeContext.layer, CliConfig.layer({ showBuiltIns: false, showTypes: false })))
)

/**
 * Runs the command of `process.argv` and sets the exit code.
 *
 * @category commands
 * @since 0.1.0
 */
export const main = (): void =>
  NodeRuntime.runMain(program, {
    disableErrorReporting: true,
    disablePrettyLogger: true,
    teardown: (exit, onExit) => {
      // Output may still be on its way to a pipe: only a signal ends the process here and now.
      process.exitCode = exitCodeOf(exit)
      if (process.exitCode === 130) onExit(130)
    }
  })
