/**
 * `folio cache`: what the drop-in keeps of modules, whether it is whole, and taking it away.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import { buildIdentity } from "../../layers/node/build-identity.ts"
import { readEntries, removeEntries, type StoredEntry } from "../../layers/node/cache-entries.ts"
import { CACHE_LIMITS } from "../../layers/node/cache.ts"
import { cacheOption, cachePlace } from "./cache-place.ts"
import { help } from "./help.ts"
import { sizeOf } from "./image-files.ts"
import { CommandFailed, ExitCode, printFailure, printJson } from "./outcome.ts"
import { type Row, table } from "./table.ts"

/** A directory with what is in it. */
interface Content {
  readonly directory: string
  readonly entries: ReadonlyArray<StoredEntry>
}

const onDirectory = <A>(directory: string, work: () => A): Effect.Effect<A, CommandFailed> =>
  Effect.try({
    try: work,
    catch: (cause) =>
      new CommandFailed({
        exit: ExitCode.failed,
        tag: "FileFailed",
        message: `${directory}: ${cause instanceof Error ? cause.message : String(cause)}`
      })
  })

const contentOf = (given: Option.Option<string>): Effect.Effect<Content, CommandFailed> =>
  Effect.gen(function*() {
    const directory = yield* cachePlace(given)
    return { directory, entries: yield* onDirectory(directory, () => readEntries(directory, buildIdentity())) }
  })

const bytesOf = (entries: ReadonlyArray<StoredEntry>): number => entries.reduce((sum, { bytes }) => sum + bytes, 0)

const plural = (count: number): string => `${count.toLocaleString("en")} ${count === 1 ? "entry" : "entries"}`

const title = ({ directory, entries }: Content): string =>
  `${directory}: ${plural(entries.length)}, ${sizeOf(bytesOf(entries))} of ${sizeOf(CACHE_LIMITS.bytes)}`

/** How long ago, in the largest unit that fits. */
const ago = (used: number): string => {
  const seconds = Math.max(0, Math.round((Date.now() - used) / 1000))
  const [unit, length] = ([["d", 86_400], ["h", 3_600], ["min", 60]] as const).find(([, one]) => seconds >= one) ??
    ["s", 1]
  return `${Math.floor(seconds / length)} ${unit}`
}

const stateOf = ({ content, pausedUntil, usable }: StoredEntry): string =>
  content === undefined
    ? "damaged"
    : !usable
    ? "other build"
    : !content.patched
    ? "native"
    : pausedUntil > Date.now()
    ? "paused"
    : "patched"

const heads: Row = ["module", "size", "state", "planned", "kept", "used", "build"].map((text) => ({ text }))

const entryRow = (entry: StoredEntry): Row => {
  const { build, bytes, content, used } = entry
  const state = stateOf(entry)
  const loops = content === undefined
    ? ""
    : `${content.summary.planned} of ${content.summary.planned + content.summary.refused}`
  return [
    { text: content?.module.slice(0, 12) ?? "?" },
    { text: content === undefined ? "?" : sizeOf(content.moduleBytes), align: "right" },
    { text: state, colour: state === "patched" ? "green" : state === "damaged" ? "red" : "yellow" },
    { text: loops, align: "right" },
    { text: sizeOf(bytes), align: "right" },
    { text: ago(used), align: "right" },
    { text: build ?? "?" }
  ]
}

const entryDocument = ({ build, bytes, content, damage, file, pausedUntil, rung, usable, used, v8 }: StoredEntry) => ({
  file,
  bytes,
  used: new Date(used).toISOString(),
  build,
  v8,
  rung,
  usable,
  pausedUntil: pausedUntil > 0 ? new Date(pausedUntil).toISOString() : undefined,
  damage,
  ...content
})

const document = ({ directory, entries }: Content) => ({
  directory,
  bytes: bytesOf(entries),
  limits: CACHE_LIMITS,
  entries: entries.map(entryDocument)
})

const json = Options.boolean("json").pipe(Options.withDescription("print one JSON document"))

const list = Command.make("list", { cache: cacheOption, json }, ({ cache, json }) =>
  contentOf(cache).pipe(
    Effect.flatMap((content) =>
      json
        ? printJson(document(content))
        : Console.log(
          [title(content), ...content.entries.length === 0 ? [] : [table([heads, ...content.entries.map(entryRow)])]]
            .join("\n")
        )
    ),
    Effect.tapError((error) => printFailure(error, json))
  )).pipe(
    Command.withDescription(help(
      "List the entries, those used last first: module, size, planned loops, when it was used, which build made it.",
      [["folio cache list", "a line for each"], ["folio cache list --json | jq .bytes", "for programs"]],
      "The number of a module is the one that folio prepare prints with --json. A module that is paused gained nothing in " +
        "earlier runs and is left as it is for a while. Exit codes: 0 ok, 1 it cannot be read, 3 " +
        "there is no cache."
    ))
  )

const verify = Command.make("verify", { cache: cacheOption, json }, ({ cache, json }) =>
  Effect.gen(function*() {
    const content = yield* contentOf(cache)
    const damaged = content.entries.filter(({ damage }) => damage !== undefined)
    const lines = [title(content), ...damaged.map(({ damage, file }) => `damaged: ${file}: ${damage}`)]
    yield* json ? printJson({ ...document(content), damaged: damaged.length }) : Console.log(lines.join("\n"))
    if (damaged.length > 0) {
      return yield* new CommandFailed({
        exit: ExitCode.failed,
        tag: "CacheDamaged",
        message: `${plural(damaged.length)} damaged; folio cache clear --unusable removes what cannot be used`,
        told: json
      })
    }
  }).pipe(Effect.tapError((error) => printFailure(error, json)))).pipe(
    Command.withDescription(help(
      "Read every entry: its sum and its bundle, and let the engine judge the modules in it.",
      [["folio cache verify", "a line for each that is damaged"]],
      "A program that meets a damaged entry runs natively and removes it. Exit codes: 0 all are whole, 1 some are not, 3 " +
        "there is no cache."
    ))
  )

const clear = Command.make(
  "clear",
  {
    cache: cacheOption,
    unusable: Options.boolean("unusable").pipe(
      Options.withDescription("only what is damaged, or of another build or another V8")
    ),
    json
  },
  ({ cache, json, unusable }) =>
    Effect.gen(function*() {
      const { directory, entries } = yield* contentOf(cache)
      const gone = entries.filter(({ damage, usable }) => !unusable || damage !== undefined || !usable)
      yield* onDirectory(directory, () => removeEntries(gone))
      const bytes = bytesOf(gone)
      yield* json
        ? printJson({ directory, removed: gone.length, bytes, left: entries.length - gone.length })
        : Console.log(`${directory}: ${plural(gone.length)} removed, ${sizeOf(bytes)}`)
    }).pipe(Effect.tapError((error) => printFailure(error, json)))
).pipe(
  Command.withDescription(help(
    "Remove entries and what was learnt of their modules. Programs that run are not disturbed; the next start analyses its modules again.",
    [["folio cache clear", "all"], ["folio cache clear --unusable", "what this build cannot use"]],
    "Exit codes: 0 ok, 1 they cannot be removed, 3 there is no cache."
  ))
)

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const cache = Command.make("cache").pipe(
  Command.withDescription(help(
    "The drop-in's cache of prepared modules: where it is, what it holds.",
    [
      ["folio cache list", "entries with their modules"],
      ["folio cache verify", "read them all"],
      ["folio cache clear", "remove them"]
    ],
    "It holds at most 256 MiB and 4,096 entries; what was not used for longest goes first."
  )),
  Command.withSubcommands([list, verify, clear])
)
