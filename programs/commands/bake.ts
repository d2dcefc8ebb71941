/**
 * `folio bake`: boots a module once and keeps its state, baked into a new module or as an image.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import { Baking } from "../../services/Baking.ts"
import { chunkImage } from "../../src/image/chunks.ts"
import { bootModule, readHostScript } from "./boot.ts"
import { help } from "./help.ts"
import { imageFailed, readImageModule, sizeOf, writeFolder, writeInPlace } from "./image-files.ts"
import { CommandFailed, ExitCode, printFailure, printJson } from "./outcome.ts"
import { oneOutput, sayBeside, writeOutput } from "./output.ts"
import { during } from "./progress.ts"
import { endedBySignals } from "./signals.ts"

interface Parsed {
  readonly file: string
  readonly init: Option.Option<string>
  readonly imports: Option.Option<string>
  readonly output: Option.Option<string>
  readonly image: Option.Option<string>
  readonly chunks: Option.Option<string>
  readonly fingerprint: string
  readonly json: boolean
}

/** Where the baked module goes when nothing else is asked for. */
const besides = (file: string): string => `${file.replace(/\.wa(?:sm|t)$/i, "")}.baked.wasm`

/** Boots, captures and writes; says what it has written. */
const keep = ({ chunks, file, fingerprint, image, init, imports, output }: Parsed) =>
  Effect.gen(function*() {
    const baking = yield* Baking
    const module = yield* readImageModule(file)
    const host = yield* readHostScript(imports)
    const booting = bootModule(baking, module, host, init)
    // What a script's host prints must not run into a line of ours.
    const instance = yield* Option.isSome(imports) ? booting : during(`${module.name}: booting`, booting)
    const state = yield* during(
      `${module.name}: capturing`,
      baking.capture(module, instance, { ...host, fingerprint })
    )

    const written: Array<{ readonly what: string; readonly file: string; readonly bytes: number }> = []
    const wanted = Option.isSome(output) || Option.isSome(image) || Option.isSome(chunks)
      ? output
      : Option.some(besides(file === "-" ? "stdin" : file))
    if (Option.isSome(wanted)) {
      const baked = yield* during(`${module.name}: baking`, baking.bake(module, state))
      const [difference] = yield* during(`${module.name}: checking`, baking.checkBaked(module, baked, state))
      if (difference !== undefined) {
        return yield* new CommandFailed({
          exit: ExitCode.differs,
          tag: "Difference",
          message: `${module.name}: the baked module differs: ${difference.place} ${difference.detail}`
        })
      }
      yield* writeOutput(wanted.value, baked)
      written.push({ what: "module", file: wanted.value, bytes: baked.length })
    }
    if (Option.isSome(image)) {
      const bytes = baking.encode(state)
      yield* during(`${module.name}: writing ${image.value}`, writeInPlace(image.value, bytes))
      written.push({ what: "image", file: image.value, bytes: bytes.length })
    }
    if (Option.isSome(chunks)) {
      const files = chunkImage(state, module.decoded)
      yield* during(`${module.name}: writing ${chunks.value}`, writeFolder(chunks.value, files))
      const bytes = [...files.values()].reduce((sum, file) => sum + file.length, 0)
      written.push({ what: `${files.size} files`, file: chunks.value, bytes })
    }
    const pages = state.memories.reduce((sum, { delta }) => sum + delta.length, 0)
    return { source: module.name, module: module.digest, fingerprint, pages, written }
  })

const work = (parsed: Parsed) =>
  Effect.gen(function*() {
    const output = Option.getOrUndefined(parsed.output)
    yield* oneOutput(output, parsed.json)
    const document = yield* keep(parsed)
    const { pages, source, written } = document
    yield* parsed.json
      ? printJson(document)
      : sayBeside(output)(
        [
          `${source}: ${
            pages === 1 ? "1 page of 64 KiB differs" : `${pages} pages of 64 KiB differ`
          } from the module's own memory`,
          ...written.map(({ bytes, file, what }) => `${what}: ${file}, ${sizeOf(bytes)}`)
        ].join("\n")
      )
  })

const text = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const bake = Command.make(
  "bake",
  {
    file: Args.text({ name: "FILE" }).pipe(Args.withDescription("a .wasm or .wat file, or - for stdin")),
    init: text("init", "an export that boots the program, called without arguments"),
    imports: text(
      "imports",
      "a script whose default export is the import object, or makes it; its boot(instance), if any, comes before init"
    ),
    output: text(
      "output",
      "where the baked module goes, - is stdout; default: FILE.baked.wasm, unless an image is asked for"
    ),
    image: text("image", "where the image goes, to be applied or mapped"),
    chunks: text(
      "chunks",
      "a folder for the image in files of 4 MiB and the module to load them into, for static hosting"
    ),
    fingerprint: Options.text("fingerprint").pipe(
      Options.withDescription("what the state depends on besides the module; compared before use"),
      Options.withDefault("")
    ),
    json: Options.boolean("json").pipe(Options.withDescription("print one JSON document"))
  },
  (parsed) =>
    endedBySignals(work(parsed)).pipe(
      Effect.provide(NodeBaking.layer),
      Effect.mapError(imageFailed),
      Effect.tapError((error) => printFailure(error, parsed.json))
    )
).pipe(
  Command.withDescription(help(
    "Boot a module once and keep its state: memories, globals, tables. What is written has all of it in it, secrets too.",
    [
      ["folio bake tool.wasm --init boot", "writes tool.baked.wasm, which is born booted"],
      ["folio bake tool.wasm --init boot --image tool.folio", "writes an image, to be mapped by many instances"],
      ["folio bake tool.wasm --imports host.mjs --chunks public/", "files of 4 MiB for static hosting"]
    ],
    "See folio image scan before you publish one. Exit codes: 0 ok, 1 failed, 2 usage, 3 the state cannot be kept, 134 trap."
  ))
)
