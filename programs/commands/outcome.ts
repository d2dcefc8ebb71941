/**
 * How a command ends: what it prints where, and its exit code.
 *
 * Data goes to stdout, prose and errors to stderr. With `--json` stdout carries exactly one document, an error too.
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { stripVTControlCharacters } from "node:util"
import type { FallbackError, OpenError, RunError } from "../../services/Errors.ts"

/**
 * Exit codes.
 *
 * @category constants
 * @since 0.1.0
 */
export const ExitCode = {
  ok: 0,
  /** The work failed. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The module or the machine does not fit what was asked for. */
  refused: 3,
  /** The result differs from that of the original module. */
  differs: 4,
  /** The program trapped. */
  trap: 134
} as const

/**
 * Why a command fails, ready to be printed.
 *
 * @category errors
 * @since 0.1.0
 */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly exit: number
  /** Tag of the error behind it. */
  readonly tag: string
  readonly message: string
  /** Fields for `--json`, besides tag and message. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
  /** Whether stdout has the document that tells it already. */
  readonly told?: boolean | undefined
}> {}

type KnownError = OpenError | RunError | FallbackError

const EXITS: Readonly<Record<KnownError["_tag"], number>> = {
  ModuleInvalid: ExitCode.failed,
  LinkFailed: ExitCode.refused,
  EntryMissing: ExitCode.usage,
  ArgumentInvalid: ExitCode.usage,
  RunConflict: ExitCode.failed,
  SessionClosed: ExitCode.failed,
  Cancelled: ExitCode.failed,
  Refused: ExitCode.refused,
  NotWorthwhile: ExitCode.refused,
  ArenaRefused: ExitCode.refused,
  CreditsExhausted: ExitCode.refused,
  LaneLost: ExitCode.failed,
  LaneStartTimeout: ExitCode.refused,
  ProtocolMismatch: ExitCode.failed,
  Trap: ExitCode.trap,
  HostException: ExitCode.failed
}

/** Fields of an error as JSON: no cause, no numbers that JSON lacks. */
const fieldsOf = (error: KnownError): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(error).filter(([key]) => key !== "_tag" && key !== "cause" && key !== "message" && key !== "result")
  )

/**
 * An error of the services as the end of a command.
 *
 * @category errors
 * @since 0.1.0
 */
export const failedWith = (error: KnownError): CommandFailed =>
  new CommandFailed({
    exit: EXITS[error._tag],
    tag: error._tag,
    message: error.message,
    fields: fieldsOf(error)
  })

/**
 * The command line is wrong.
 *
 * @category errors
 * @since 0.1.0
 */
export const usage = (message: string): CommandFailed =>
  new CommandFailed({ exit: ExitCode.usage, tag: "Usage", message })

const oneLine = (text: string): string =>
  stripVTControlCharacters(text).split("\n").map((line) => line.trim()).filter((line) => line.length > 0).join(" ")

/**
 * Prints an error: one line, or with `json` one document on stdout.
 *
 * @category printing
 * @since 0.1.0
 */
export const printFailure = (error: CommandFailed, json: boolean): Effect.Effect<void> =>
  error.told === true
    ? Effect.void
    : json
    ? Console.log(
      JSON.stringify({ error: { tag: error.tag, message: oneLine(error.message), ...error.fields } }, null, 2)
    )
    : Console.error(`folio: ${oneLine(error.message)}`)

/**
 * A document as text. Integers beyond 2^53 are written as strings.
 *
 * @category printing
 * @since 0.1.0
 */
export const jsonText = (document: unknown): string =>
  JSON.stringify(document, (_, value) => typeof value === "bigint" ? value.toString() : value, 2)

/**
 * Prints a document on stdout.
 *
 * @category printing
 * @since 0.1.0
 */
export const printJson = (document: unknown): Effect.Effect<void> => Console.log(jsonText(document))

/**
 * Runs a program whose console prints without colours where the reader wants none (`NO_COLOR`, or no terminal), and in
 * which what others say of an error, the parser of the command line above all, takes the form of our own errors.
 *
 * @category printing
 * @since 0.1.0
 */
export const withReadersConsole = <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.consoleWith((console) => {
    const plain = !process.stdout.isTTY || (process.env["NO_COLOR"] ?? "") !== ""
    const strip = (value: unknown) => typeof value === "string" ? stripVTControlCharacters(value) : value
    const error = (value: unknown) =>
      typeof value === "string" && !value.startsWith("folio: ") ? `folio: ${oneLine(value)}` : value
    return Effect.withConsole(program, {
      ...console,
      log: (...args) => console.log(...plain ? args.map(strip) : args),
      error: (...args) => console.error(...args.map(error))
    })
  })
