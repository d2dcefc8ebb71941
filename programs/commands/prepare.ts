/**
 * `folio prepare`: fills the drop-in's cache ahead of time.
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
import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { buildIdentity } from "../../layers/node/build-identity.ts"
import { type Lookup, PatchCache } from "../../layers/node/cache.ts"
import { checksum, hexadecimal } from "../../layers/node/checksum.ts"
import type { PreparationSummary } from "../../layers/node/preparation.ts"
import { DEFAULT_BUDGET, type PreparationBudget } from "../../layers/node/settings.ts"
import { loopShares } from "../../src/profile/profile.ts"
import { cacheOption, cachePlace } from "./cache-place.ts"
import { readModule } from "./file.ts"
import { help } from "./help.ts"
import { CommandFailed, ExitCode, failedWith, printFailure, printJson, usage } from "./outcome.ts"
import { prepareApart } from "./prepare-apart.ts"
import { findProfile, isProfileFolder } from "./profile-file.ts"
import { endProgress, PROGRESS_MS, showsProgress } from "./progress.ts"
import { type Row, table } from "./table.ts"

/** The only rung that the drop-in has. */
const RUNG = "alias"

interface Parsed {
  readonly places: ReadonlyArray<string>
  readonly cache: Option.Option<string>
  readonly budgetMs: number
  readonly budgetMib: number
  readonly profile: Option.Option<string>
  readonly again: boolean
  readonly json: boolean
}

/** What became of a file. */
interface Done {
  readonly file: string
  /** Hash of the module's bytes, as `folio cache list` shows it. */
  readonly module: string
  readonly bytes: number
  /** `known`: the cache had it. `native`: no loop of it can run on several threads. */
  readonly state: "prepared" | "known" | "native"
  readonly reason: string | undefined
  readonly summary: PreparationSummary
}

/** Every `.wasm` file below a folder, `node_modules` in it included; a file is itself. */
const filesAt = (place: string): Effect.Effect<ReadonlyArray<string>, CommandFailed> => {
  if (place === "-") return Effect.succeed([place])
  return Effect.tryPromise({
    try: async () => {
      if (!(await stat(place)).isDirectory()) return [place]
      const found = await readdir(place, { recursive: true, withFileTypes: true })
      return found
        .filter((one) => one.isFile() && one.name.endsWith(".wasm"))
        .map((one) => join(one.parentPath, one.name))
        .sort()
    },
    catch: (cause) =>
      new CommandFailed({
        exit: ExitCode.failed,
        tag: "FileFailed",
        message: `${place}: ${cause instanceof Error ? cause.message : String(cause)}`
      })
  })
}

const stateOf = (patched: boolean, { complete, refusal }: PreparationSummary): Pick<Done, "state" | "reason"> =>
  patched
    ? { state: "prepared", reason: complete ? undefined : "the budget ended before all loops were seen" }
    : {
      state: "native",
      reason: refusal ?? `no loop of it can run on several threads${complete ? "" : " as far as the budget reached"}`
    }

/** What the cache has, unless it is to be done again or was not done to the end. */
const knownAs = (found: Lookup, again: boolean): Omit<Done, "file" | "module" | "bytes"> | undefined => {
  if (found._tag !== "found" || again) return undefined
  const summary = JSON.parse(found.entry.summary) as PreparationSummary
  if (!summary.complete) return undefined
  const { reason, state } = stateOf(found.entry.patched !== undefined, summary)
  return { state: state === "native" ? state : "known", reason, summary }
}

const prepareFile = (
  file: string,
  directory: string,
  budget: PreparationBudget,
  profile: Option.Option<string>,
  again: boolean
): Effect.Effect<Done, CommandFailed> =>
  Effect.gen(function*() {
    const module = yield* Effect.mapError(readModule(file), failedWith)
    const { bytes } = module
    if (!WebAssembly.validate(bytes)) {
      return yield* new CommandFailed({
        exit: ExitCode.failed,
        tag: "ModuleInvalid",
        message: `${file}: not a usable module: the engine refuses it. Check that the file is complete and WebAssembly.`
      })
    }
    const about = { file, module: hexadecimal(checksum([bytes])), bytes: bytes.length }
    const build = buildIdentity()
    const ran = Option.isSome(profile) ? yield* findProfile(profile.value, module) : undefined
    const shares = ran === undefined ? undefined : loopShares(ran)
    const known = knownAs(new PatchCache(directory, { build, rung: RUNG }).lookup(bytes), again || shares !== undefined)
    if (known !== undefined) return { ...about, ...known }
    const progressMs = showsProgress() ? PROGRESS_MS : undefined
    const target = { directory, build, rung: RUNG, budget, profile: shares, progressMs }
    const { patched, refused, summary } = yield* prepareApart(file, bytes, target)
    if (refused !== undefined) {
      return yield* new CommandFailed({
        exit: ExitCode.failed,
        tag: "CacheRefused",
        message: `${file}: it was not kept: ${refused}`
      })
    }
    return { ...about, ...stateOf(patched, summary), summary }
  })

const row = ({ file, reason, state, summary }: Done): Row => {
  const { milliseconds, planned, refused } = summary
  const colour = state === "native" ? "yellow" : "green"
  return [
    { text: file },
    { text: state, colour },
    { text: `${planned} of ${planned + refused} loops`, align: "right" },
    { text: state === "known" ? "" : `${Math.round(milliseconds)} ms`, align: "right" },
    { text: reason ?? "" }
  ]
}

const document = (done: Done) => {
  const { file, module, bytes, state, reason, summary } = done
  return { file, module, bytes, state, reason, ...summary }
}

const work = (
  { again, budgetMib, budgetMs, cache, json, places, profile }: Parsed
): Effect.Effect<void, CommandFailed> =>
  Effect.gen(function*() {
    if (budgetMs < 1) return yield* usage("--budget-ms takes milliseconds, 1 or more")
    if (budgetMib < 64) return yield* usage("--budget-mib takes MiB, 64 or more")
    const directory = yield* cachePlace(cache)
    const found = yield* Effect.forEach(places, (place) => Effect.either(filesAt(place)))
    const files = found.filter(Either.isRight).flatMap(({ right }) => right)
    const absent = found.filter(Either.isLeft).map(({ left }) => left)
    if (files.length + absent.length === 0) {
      return yield* new CommandFailed({
        exit: ExitCode.failed,
        tag: "NothingFound",
        message: `no .wasm file in ${places.join(", ")}; modules inside of scripts are prepared when a program runs`
      })
    }
    if (Option.isSome(profile) && files.length > 1 && !isProfileFolder(profile.value)) {
      return yield* usage("a file of --profile is of one module: give that, or a folder of profiles")
    }
    const budget = { budgetMs, budgetBytes: budgetMib * 1024 ** 2 }
    const outcomes = yield* Effect.forEach(
      files,
      (file) => Effect.either(prepareFile(file, directory, budget, profile, again))
    ).pipe(Effect.ensuring(Effect.sync(endProgress)))
    const done = outcomes.filter(Either.isRight).map(({ right }) => right)
    const failures = [...absent, ...outcomes.filter(Either.isLeft).map(({ left }) => left)]
    const [first] = failures
    if (json) {
      const errors = failures.map(({ message, tag }) => ({ tag, message }))
      // One file that failed is the error itself.
      if (first === undefined || files.length + absent.length > 1) {
        yield* printJson({ directory, files: done.map(document), ...first === undefined ? {} : { errors } })
        if (first !== undefined) return yield* new CommandFailed({ ...first, told: true })
      }
    } else if (done.length > 0) yield* Console.log(table(done.map(row)))
    if (first !== undefined) {
      yield* Effect.forEach(failures.slice(1), (failure) => printFailure(failure, false))
      return yield* first
    }
  })

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const prepare = Command.make(
  "prepare",
  {
    places: Args.text({ name: "FILE | DIR" }).pipe(
      Args.withDescription("a .wasm or .wat file, - for stdin, or a folder: every .wasm file below it"),
      Args.atLeast(1)
    ),
    cache: cacheOption,
    budgetMs: Options.integer("budget-ms").pipe(
      Options.withDescription(
        "milliseconds that the analysis of one module may take; what it has not seen stays serial"
      ),
      Options.withDefault(DEFAULT_BUDGET.budgetMs)
    ),
    budgetMib: Options.integer("budget-mib").pipe(
      Options.withDescription("MiB that the analysis of one module may hold"),
      Options.withDefault(DEFAULT_BUDGET.budgetBytes / 1024 ** 2)
    ),
    profile: Options.text("profile").pipe(
      Options.withDescription(
        "a profile of the module, or a folder of profiles: hottest loops first, those without work not at all"
      ),
      Options.optional
    ),
    again: Options.boolean("again").pipe(Options.withDescription("prepare what the cache knows already, too")),
    json: Options.boolean("json").pipe(Options.withDescription("print one JSON document"))
  },
  (parsed) => Effect.tapError(work(parsed), (error) => printFailure(error, parsed.json))
).pipe(
  Command.withDescription(help(
    "Analyse modules ahead of time, so that a program with the drop-in has them patched at its first start.",
    [
      ["folio prepare node_modules/photon/photon.wasm", "one module"],
      ["folio prepare node_modules", "every .wasm file of every package"],
      ["folio prepare php.wasm --budget-ms 5000", "the best loops that can be found in five seconds"],
      ["folio prepare sum.wasm --profile sum.json", "guided by a run: hot loops first, cold ones not planned"]
    ],
    "Entries belong to one build of Folio and one V8: prepare with the Node.js that will run the program. Exit codes: 0 " +
      "ok, 1 a file is no module or the cache cannot be written, 2 usage, 3 there is no cache, 130 interrupted."
  ))
)
