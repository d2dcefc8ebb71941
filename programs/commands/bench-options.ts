/**
 * What the subcommands of `folio bench` share: options, figures, and how measuring code fails.
 *
 * @since 0.1.0
 */
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Mismatch } from "../../src/image/mismatch.ts"
import { significant } from "../measure/statistics.ts"
import { onFiles } from "./image-files.ts"
import { CommandFailed, ExitCode, printFailure } from "./outcome.ts"
import type { Row } from "./table.ts"

/** An option that takes text. @category options @since 0.1.0 */
export const optional = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

/** Prints the samples. @category options @since 0.1.0 */
export const json = Options.boolean("json").pipe(Options.withDescription("print the samples as one JSON document"))

/** The export that boots. @category options @since 0.1.0 */
export const init = optional("init", "an export that boots the program, called without arguments")

/** The script that brings imports. @category options @since 0.1.0 */
export const imports = optional("imports", "a script whose default export is the import object, or makes it")

/** An option that takes a whole number from 1 on. @category options @since 0.1.0 */
export const count = (name: string, description: string, standard: number) =>
  Options.integer(name).pipe(
    Options.withDescription(description),
    Options.withDefault(standard),
    Options.filterMap(
      (given) => given > 0 ? Option.some(given) : Option.none(),
      `--${name} takes a whole number from 1 on`
    )
  )

/** A figure of three digits. @category formatting @since 0.1.0 */
export const shown = (value: number): string => significant(value, 3).toLocaleString("en")

/** Cells of figures. @category formatting @since 0.1.0 */
export const numbers = (...values: ReadonlyArray<string>): Row => values.map((text) => ({ text, align: "right" }))

/** Prints how a command failed, besides ending with it. @category errors @since 0.1.0 */
export const told = <A>(work: Effect.Effect<A, CommandFailed>, asJson: boolean): Effect.Effect<A, CommandFailed> =>
  Effect.tapError(work, (error) => printFailure(error, asJson))

/** Plain measuring code: what it throws ends the command. @category errors @since 0.1.0 */
export const measured = <A>(what: string, work: () => A | Promise<A>): Effect.Effect<A, CommandFailed> =>
  Effect.tryPromise({
    try: async () => await work(),
    catch: (cause) =>
      cause instanceof CommandFailed ? cause : new CommandFailed({
        exit: cause instanceof Mismatch || cause instanceof Error && cause.name === "NotResettable"
          ? ExitCode.refused
          : cause instanceof WebAssembly.RuntimeError
          ? ExitCode.trap
          : ExitCode.failed,
        tag: cause instanceof Error ? cause.name : "Failed",
        message: `${what}: ${cause instanceof Error ? cause.message : String(cause)}`
      })
  })

/**
 * A folder for what is measured, removed with its scope.
 *
 * @category resources
 * @since 0.1.0
 */
export const scratchFolder: Effect.Effect<string, CommandFailed, Scope.Scope> = Effect.acquireRelease(
  onFiles(tmpdir(), () => mkdtemp(join(tmpdir(), "folio-bench-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
)
