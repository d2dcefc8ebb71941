/**
 * `folio run`: one exported function, once.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as NodeFolio from "../../layers/node/NodeFolio.ts"
import { EntryMissing, type FallbackError, type RunError, type Trap } from "../../services/Errors.ts"
import { type Fallback, Folio, type Session } from "../../services/Folio.ts"
import { decodeModule, type FunctionType, type WasmModule } from "../../src/binary/module.ts"
import { formatBits, formatSignature, formatValue, hasBits, parseValue } from "../../src/wire/values.ts"
import { type ModuleFile, readModule } from "./file.ts"
import { help } from "./help.ts"
import { CommandFailed, ExitCode, failedWith, printFailure, printJson, usage } from "./outcome.ts"
import { writeProfile } from "./profile-run.ts"
import { endedBySignals } from "./signals.ts"
import { type Difference, differences, type Ending, nativeInstance, withStateExported } from "./verify.ts"

/** What a module that follows the reactor convention wants to be called before anything else. */
const INITIALIZER = "_initialize"

interface Parsed {
  readonly file: string
  readonly entry: string
  readonly args: ReadonlyArray<string>
  readonly workers: Option.Option<number>
  readonly fallback: Fallback
  readonly verify: boolean
  readonly profile: Option.Option<string>
  readonly json: boolean
}

const decode = (file: ModuleFile): WasmModule | undefined =>
  Either.getOrUndefined(Either.try(() => decodeModule(file.bytes)))

const signatureOf = (decoded: WasmModule | undefined, entry: string): FunctionType | undefined => {
  const found = decoded?.exports.find((one) => one.kind === "function" && one.name === entry)
  return found === undefined ? undefined : decoded?.types[decoded.functions[found.index].typeIndex]
}

const parseArguments = (
  entry: string,
  type: FunctionType,
  texts: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<bigint>, CommandFailed> => {
  const signature = `${entry} is ${formatSignature(type)}`
  if (![...type.params, ...type.results].every(hasBits)) {
    return new CommandFailed({
      exit: ExitCode.refused,
      tag: "Refused",
      message: `references cannot be written on a command line: ${signature}; call it from a program`
    })
  }
  if (texts.length !== type.params.length) {
    return usage(`${texts.length} given where ${type.params.length} wanted: ${signature}`)
  }
  return Effect.forEach(texts, (text, index) => {
    const param = type.params[index]
    const bits = hasBits(param) ? parseValue(param, text) : "a reference"
    return typeof bits === "bigint" ? Effect.succeed(bits) : usage(`argument ${index + 1}: ${bits}; ${signature}`)
  })
}

/** The entry's ending; a trap is one. */
const runOnce = (
  session: Session,
  entry: string,
  args: ReadonlyArray<bigint>,
  fallback: Fallback
): Effect.Effect<{ readonly ending: Ending; readonly trap: Trap | undefined }, RunError | FallbackError> =>
  (fallback === "fail" ? session.runBits(entry, args, { fallback }) : session.runBits(entry, args)).pipe(
    Effect.map((bits) => ({ ending: { kind: "returned" as const, bits }, trap: undefined })),
    Effect.catchTag("Trap", (trap) => Effect.succeed({ ending: { kind: "trapped" as const, trap: trap.reason }, trap }))
  )

const results = (type: FunctionType, bits: ReadonlyArray<bigint>) =>
  type.results.flatMap((result, index) =>
    hasBits(result)
      ? [{ type: result, value: formatValue(result, bits[index]), bits: formatBits(result, bits[index]) }]
      : []
  )

const verification = (
  decoded: WasmModule,
  bytes: Uint8Array<ArrayBuffer>,
  { args, entry, type }: { readonly entry: string; readonly type: FunctionType; readonly args: ReadonlyArray<bigint> },
  folio: { readonly exports: WebAssembly.Exports; readonly ending: Ending }
): Effect.Effect<ReadonlyArray<Difference>, CommandFailed> =>
  Effect.tryPromise({
    try: async () => {
      const native = await nativeInstance(decoded, bytes)
      if (signatureOf(decoded, INITIALIZER) !== undefined && entry !== INITIALIZER) {
        native.call(INITIALIZER, { params: [], results: [] }, [])
      }
      return differences(decoded, type, { exports: native.exports, ending: native.call(entry, type, args) }, folio)
    },
    catch: (cause) =>
      new CommandFailed({
        exit: ExitCode.failed,
        tag: "VerificationFailed",
        message: `the original module could not be run beside it: ${cause instanceof Error ? cause.message : cause}`
      })
  })

/** One sentence about how it ran, on stderr. */
const sayHow = (session: Session): Effect.Effect<void> => {
  const { dispatches, lanesUsed, reason } = session.report()
  return Console.error(
    dispatches > 0
      ? `folio: ran on ${lanesUsed} threads (${dispatches} ${dispatches === 1 ? "loop" : "loops"} handed out)`
      : `folio: ran natively: ${reason}`
  )
}

const runFile = (parsed: Parsed): Effect.Effect<void, CommandFailed, Folio | Scope.Scope> =>
  Effect.gen(function*() {
    const file = yield* readModule(parsed.file)
    if (file.assembler !== undefined) yield* Console.error(`folio: assembled ${file.name} with ${file.assembler}`)
    const decoded = decode(file)
    const type = signatureOf(decoded, parsed.entry)
    const bytes = parsed.verify && decoded !== undefined ? withStateExported(decoded) : file.bytes
    const session = yield* Folio.open(bytes, { name: file.name })
    if (decoded === undefined || type === undefined) {
      const entries = Object.keys(session.exports).filter((name) => typeof session.exports[name] === "function")
      const kind = decoded?.exports.find((one) => one.name === parsed.entry)?.kind
      return yield* new EntryMissing({ source: file.name, entry: parsed.entry, kind, entries })
    }
    const args = yield* parseArguments(parsed.entry, type, parsed.args)
    // A lane that does not come up is no reason to stop: the run is native then, and its report says so.
    yield* Effect.ignore(session.awaitLanes)
    if (signatureOf(decoded, INITIALIZER) !== undefined && parsed.entry !== INITIALIZER) {
      yield* session.runBits(INITIALIZER)
    }
    const began = performance.now()
    const { ending, trap } = yield* runOnce(session, parsed.entry, args, parsed.fallback)
    const milliseconds = Math.round((performance.now() - began) * 1000) / 1000
    const different = parsed.verify
      ? yield* verification(decoded, bytes, { entry: parsed.entry, type, args }, { exports: session.exports, ending })
      : undefined
    if (Option.isSome(parsed.profile)) {
      const initialises = signatureOf(decoded, INITIALIZER) !== undefined && parsed.entry !== INITIALIZER
      const initializer = initialises ? INITIALIZER : undefined
      yield* writeProfile(parsed.profile.value, file, decoded, { entry: parsed.entry, type, args, initializer })
    }
    if (trap !== undefined && (different === undefined || different.length === 0)) return yield* trap
    const values = ending.kind === "returned" ? results(type, ending.bits) : []
    const verify = different === undefined ? {} : { verify: { equal: different.length === 0, differences: different } }
    if (parsed.json) {
      yield* printJson({
        file: file.name,
        entry: parsed.entry,
        results: values,
        milliseconds,
        report: session.report(),
        ...verify
      })
    } else {
      for (const { value } of values) yield* Console.log(value)
      yield* sayHow(session)
      if (different?.length === 0) yield* Console.error("folio: equal to the original: results, memories, globals")
    }
    if (different !== undefined && different.length > 0) {
      const [first] = different
      return yield* new CommandFailed({
        exit: ExitCode.differs,
        tag: "Differs",
        message: `${file.name}: differs from the original at ${first.where}: native ${first.native}, folio ` +
          `${first.folio}${different.length > 1 ? `, and ${different.length - 1} more places` : ""}. Please report it.`,
        told: parsed.json
      })
    }
  }).pipe(Effect.catchAll((error) => error._tag === "CommandFailed" ? error : failedWith(error)))

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const run = Command.make(
  "run",
  {
    file: Args.text({ name: "FILE" }).pipe(Args.withDescription("a .wasm or .wat file, or - for stdin")),
    entry: Args.text({ name: "ENTRY" }).pipe(Args.withDescription("an exported function")),
    args: Args.text({ name: "ARG" }).pipe(
      Args.withDescription("its arguments, read by its signature: -5, 0xff, 1.5, 0x1.8p3, inf, nan:0x7fc001"),
      Args.repeated
    ),
    workers: Options.integer("workers").pipe(
      Options.withDescription("threads that work, this one counted (default: as many as this process may run)"),
      Options.optional
    ),
    fallback: Options.choice("fallback", ["native", "fail"] as const).pipe(
      Options.withDescription("what happens when nothing runs in parallel: run natively, or exit 3 with the reason"),
      Options.withDefault("native" as const)
    ),
    verify: Options.boolean("verify").pipe(
      Options.withDescription(
        "run the original beside it and compare results, memories and globals (exit 4 if unequal)"
      )
    ),
    profile: Options.text("profile").pipe(
      Options.withDescription("run a copy that counts beside it, and write what it executed into this file"),
      Options.optional
    ),
    json: Options.boolean("json").pipe(Options.withDescription("print one JSON document"))
  },
  (parsed) =>
    Effect.suspend(() => {
      const workers = Option.getOrUndefined(parsed.workers)
      if (workers !== undefined && (workers < 1 || workers > 32)) return usage("--workers takes a number from 1 to 32")
      return endedBySignals(runFile(parsed)).pipe(
        Effect.scoped,
        Effect.provide(NodeFolio.layer(workers === undefined ? {} : { workers }))
      )
    }).pipe(Effect.tapError((error) => printFailure(error, parsed.json)))
).pipe(
  Command.withDescription(help(
    "Run an exported function of a module on all cores, with exactly the serial result.",
    [
      ["folio run sum.wasm sum 0 1000000", "one result a line"],
      ["folio run sum.wat sum 0 1000000 --verify", "and compare with the original module"],
      ["folio run sum.wasm sum 0 1000000 --json --workers 2", "results with their bits, and the report"],
      ["folio run sum.wasm sum 0 1000000 --profile sum.json", "and count what it executes, for inspect and prepare"],
      ["cat sum.wasm | folio run - sum 0 -5", "from stdin"]
    ],
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 refused, 4 differs from native, 134 trap. An `_initialize` export is " +
      "called first. Modules that import functions need the program that provides them: use folio-wasm/register there."
  ))
)
