/**
 * `folio image`: looks at images, searches them for secrets, compares them and bakes them into their module.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { readFile, stat } from "node:fs/promises"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import { Baking } from "../../services/Baking.ts"
import type { Image } from "../../src/image/model.ts"
import { pageKinds, pageMap } from "../../src/image/picture.ts"
import { type Secret, SHORTEST_SECRET } from "../../src/image/scan.ts"
import { compareImages } from "../../src/image/verdict.ts"
import { help } from "./help.ts"
import { imageFailed, onFiles, readImage, readImageModule, sizeOf, writeInPlace } from "./image-files.ts"
import { CommandFailed, ExitCode, printFailure, printJson, usage } from "./outcome.ts"
import { oneOutput, sayBeside, writeOutput } from "./output.ts"
import { during } from "./progress.ts"
import { type Row, table } from "./table.ts"

const imageArgument = Args.text({ name: "IMAGE" }).pipe(Args.withDescription("what folio bake --image wrote"))
const moduleArgument = Args.text({ name: "MODULE" }).pipe(
  Args.withDescription("the module that the image was made from")
)
const jsonOption = Options.boolean("json").pipe(Options.withDescription("print one JSON document"))
const svgOption = Options.text("svg").pipe(
  Options.withDescription("draw the map of its pages into this file"),
  Options.optional
)

/** Runs the work of a command, and prints how it fails. */
const command = <A, E extends Parameters<typeof imageFailed>[0]>(
  json: boolean,
  work: Effect.Effect<A, E, Baking>
): Effect.Effect<A, CommandFailed> =>
  work.pipe(
    Effect.provide(NodeBaking.layer),
    Effect.mapError(imageFailed),
    Effect.tapError((error) => printFailure(error, json))
  )

const summary = (image: Image) => ({
  module: image.module,
  fingerprint: image.fingerprint,
  memories: image.memories.map(({ delta, pages }) => ({
    pages,
    delta: delta.length,
    zeroed: delta.filter(({ hash }) => hash === "").length
  })),
  globals: image.globals.map(({ bits, index, mutable, type }) => ({
    index,
    type,
    mutable,
    bits: `0x${bits.toString(16)}`
  })),
  tables: image.tables.map(({ index, slots }) => ({ index, slots: slots.length })),
  dropped: image.dropped,
  renew: image.renew,
  rebind: image.rebind
})

const rows = (image: Image): ReadonlyArray<Row> => {
  const { globals, memories, tables } = summary(image)
  const list = (names: ReadonlyArray<string>) => names.length === 0 ? "nothing" : names.join(", ")
  const all: ReadonlyArray<readonly [string, string]> = [
    ["module", image.module],
    ["fingerprint", image.fingerprint === "" ? "none" : image.fingerprint],
    ...memories.map(({ delta, pages, zeroed }, index): readonly [string, string] => [
      `memory ${index}`,
      `${pages} pages, ${delta} in the image${zeroed === 0 ? "" : `, ${zeroed} of them zero`}`
    ]),
    ["globals", globals.map(({ bits, index, type }) => `${index} ${type} ${bits}`).join(", ") || "none"],
    ["tables", tables.map(({ index, slots }) => `${index}: ${slots} slots`).join(", ") || "none"],
    ["to renew", list(image.renew)],
    ["to rebind", list(image.rebind)]
  ]
  return all.map(([name, value]) => [{ text: name }, { text: value }])
}

const inspect = Command.make(
  "inspect",
  {
    image: imageArgument,
    module: Options.text("module").pipe(
      Options.withDescription("the module, so that the map tells its own data from zeros"),
      Options.optional
    ),
    svg: svgOption,
    json: jsonOption
  },
  ({ image: file, json, module: moduleFile, svg }) =>
    command(
      json,
      Effect.gen(function*() {
        const image = yield* readImage(file)
        if (Option.isSome(svg)) {
          if (Option.isNone(moduleFile)) {
            return yield* usage("--svg needs --module: the map shows the module's own data")
          }
          const module = yield* readImageModule(moduleFile.value)
          yield* writeInPlace(svg.value, pageMap(pageKinds(module.decoded, image), file))
        }
        yield* json ? printJson(summary(image)) : Console.log(table(rows(image)))
      })
    )
).pipe(Command.withDescription(help(
  "Show what is in an image: sizes, globals, tables, and what its user must renew and rebind. Every byte is checked.",
  [["folio image inspect tool.folio --module tool.wasm --svg pages.svg", "a table, and the map of its pages"]],
  "Exit codes: 0 ok, 1 unreadable, 3 damaged."
)))

/** Lines of `NAME=VALUE`; empty ones and those that begin with `#` are left out. */
const secretsOf = (text: string): ReadonlyArray<Secret> | string => {
  const found: Array<Secret> = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "" || line.startsWith("#")) continue
    const at = line.indexOf("=")
    const bytes = new TextEncoder().encode(line.slice(at + 1))
    if (at <= 0) return `line ${index + 1} is not NAME=VALUE`
    if (bytes.length < SHORTEST_SECRET) return `line ${index + 1}: secrets from ${SHORTEST_SECRET} bytes on can be told`
    found.push({ name: line.slice(0, at), bytes })
  }
  return found.length === 0 ? "there is no secret in it" : found
}

const scan = Command.make(
  "scan",
  {
    image: imageArgument,
    module: moduleArgument,
    secrets: Options.text("secrets").pipe(
      Options.withDescription("a file of lines NAME=VALUE; values never appear in what is printed")
    ),
    json: jsonOption
  },
  ({ image: file, json, module: moduleFile, secrets }) =>
    command(
      json,
      Effect.gen(function*() {
        const baking = yield* Baking
        const wanted = secretsOf(yield* onFiles(secrets, () => readFile(secrets, "utf8")))
        if (typeof wanted === "string") return yield* usage(`${secrets}: ${wanted}`)
        const module = yield* readImageModule(moduleFile)
        const image = yield* readImage(file)
        const found = yield* during(`${file}: searching`, baking.scan(module, image, wanted))
        yield* json
          ? printJson({ secrets: wanted.length, found })
          : Console.log(
            found.length === 0
              ? `none of ${wanted.length} found`
              : table(found.map(({ form, memory, offset, origin, secret }): Row => [
                { text: secret, colour: "red" },
                { text: form },
                { text: `memory ${memory}, byte ${offset}` },
                { text: origin === "image" ? "in the image" : "in the module's own data" }
              ]))
          )
        if (found.length === 0) return
        const names = new Set(found.map(({ secret }) => secret))
        return yield* new CommandFailed({
          exit: ExitCode.differs,
          tag: "SecretFound",
          message: `${file}: ${names.size} of ${wanted.length} found. Boot with other values, then bake again.`,
          told: json
        })
      })
    )
).pipe(Command.withDescription(help(
  "Look for secrets in an image: as they are, as UTF-16, base64, hex and url-encoded.",
  [["folio image scan tool.folio tool.wasm --secrets secrets.env", "where each is, by name"]],
  "Exit codes: 0 none found, 1 failed, 2 usage, 3 damaged, 4 found."
)))

const diff = Command.make(
  "diff",
  {
    first: Args.text({ name: "IMAGE" }).pipe(Args.withDescription("an image")),
    second: Args.text({ name: "OTHER" }).pipe(Args.withDescription("another one of the same module")),
    module: moduleArgument,
    svg: svgOption,
    json: jsonOption
  },
  ({ first, json, module: moduleFile, second, svg }) =>
    command(
      json,
      Effect.gen(function*() {
        const module = yield* readImageModule(moduleFile)
        const [a, b] = [yield* readImage(first), yield* readImage(second)]
        // A time of the clock in them lies between the writing of the first and of the last, with a day for the boot.
        const written = yield* onFiles(first, () => Promise.all([first, second].map((file) => stat(file))))
        const times = written.map(({ mtimeMs }) => mtimeMs)
        const clock = { from: Math.min(...times) - 86_400_000, to: Math.max(...times) }
        const verdict = yield* during(
          `${first} and ${second}: comparing`,
          Effect.sync(() => compareImages(module.decoded, a, b, clock))
        )
        if (Option.isSome(svg)) {
          const kinds = pageKinds(module.decoded, a, verdict.pages)
          yield* writeInPlace(svg.value, pageMap(kinds, `${first} and ${second}`))
        }
        const pages = verdict.pages.reduce((sum, list) => sum + list.length, 0)
        const kinds = Object.entries(verdict.bytes).filter(([, bytes]) => bytes > 0)
        yield* json
          ? printJson(verdict)
          : Console.log(
            verdict.same
              ? "equal"
              : [
                `${pages} pages differ`,
                table(kinds.map(([kind, bytes]): Row => [{ text: kind }, { text: sizeOf(bytes), align: "right" }])),
                ...verdict.outside
              ].join("\n")
          )
        if (verdict.same) return
        return yield* new CommandFailed({
          exit: ExitCode.differs,
          tag: "Difference",
          message: `${first} and ${second} differ`,
          told: json
        })
      })
    )
).pipe(Command.withDescription(help(
  "Compare two images of one module, made by booting it twice: what differs is seeds, times, addresses.",
  [["folio image diff a.folio b.folio tool.wasm --svg pages.svg", "bytes by kind, and the map of the pages"]],
  "A seed that every user of an image shares must be renewed. Exit codes: 0 equal, 1 failed, 3 damaged, 4 they differ."
)))

const apply = Command.make(
  "apply",
  {
    image: imageArgument,
    module: moduleArgument,
    output: Options.text("output").pipe(Options.withDescription("where the baked module goes, - is stdout")),
    json: jsonOption
  },
  ({ image: file, json, module: moduleFile, output }) =>
    command(
      json,
      Effect.gen(function*() {
        yield* oneOutput(output, json)
        const baking = yield* Baking
        const module = yield* readImageModule(moduleFile)
        const image = yield* readImage(file)
        const baked = yield* during(`${module.name}: baking`, baking.bake(module, image))
        const differences = yield* during(`${module.name}: checking`, baking.checkBaked(module, baked, image))
        if (differences.length > 0) {
          return yield* new CommandFailed({
            exit: ExitCode.differs,
            tag: "Difference",
            message: `${module.name}: the baked module differs: ${differences[0].place} ${differences[0].detail}`
          })
        }
        yield* writeOutput(output, baked)
        yield* json
          ? printJson({ output, bytes: baked.length, module: module.digest })
          : sayBeside(output)(`module: ${output}, ${sizeOf(baked.length)}, born with the state of ${file}`)
      })
    )
).pipe(Command.withDescription(help(
  "Bake an image into its module: a new module that is born with the state.",
  [["folio image apply tool.folio tool.wasm --output tool.baked.wasm", "and nothing boots any more"]],
  "Exit codes: 0 ok, 1 failed, 3 it does not fit."
)))

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const image = Command.make("image").pipe(
  Command.withDescription(help(
    "Look at images of booted modules, search them for secrets, compare them, bake them into their module.",
    [
      ["folio image inspect tool.folio", "what is in it"],
      ["folio image scan tool.folio tool.wasm --secrets secrets.env", "what must not be"]
    ],
    "folio bake --image makes one."
  )),
  Command.withSubcommands([inspect, scan, diff, apply])
)
