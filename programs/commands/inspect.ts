/**
 * `folio inspect`: what can run apart in a module, and why the rest cannot.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { stripVTControlCharacters } from "node:util"
import * as NodeExtraction from "../../layers/node/NodeExtraction.ts"
import { type Extracted, Extraction, type Inspection, type LoopInspection } from "../../services/Extraction.ts"
import { loopShares, type Profile } from "../../src/profile/profile.ts"
import { moduleMap } from "../map/module-map.ts"
import { mapPage } from "../map/page.ts"
import { type ModuleFile, readModule } from "./file.ts"
import { help } from "./help.ts"
import { writeInPlace } from "./image-files.ts"
import { CommandFailed, ExitCode, failedWith, jsonText, printFailure, usage } from "./outcome.ts"
import { STDOUT } from "./output.ts"
import { readProfile } from "./profile-file.ts"
import { endedBySignals } from "./signals.ts"
import { type Row, table } from "./table.ts"

const hex = (offset: number): string => `0x${offset.toString(16)}`

/** Shares of a run, by the offset of a loop. */
type Shares = ReadonlyMap<number, number> | undefined

const verdict = ({ obligations, reasons, tier }: LoopInspection): Row => {
  if (tier !== undefined) return [{ text: `planned, ${tier}`, colour: "green" }, { text: obligations.join(", ") }]
  const [first, ...more] = reasons
  if (first.code === "inside-planned") return [{ text: "inside" }, { text: first.detail }]
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`
  return [{ text: first.code, colour: "yellow" }, { text: `at ${hex(first.offset)}: ${first.detail}${others}` }]
}

/** A cell only where there is a profile. */
const shareCell = (shares: Shares, text: () => string): Row =>
  shares === undefined ? [] : [{ text: text(), align: "right" }]

const loopRows = (inspection: Inspection, shares: Shares): ReadonlyArray<Row> =>
  inspection.functions.flatMap(({ index, loops, name }) =>
    loops.map((loop, position): Row => [
      { text: position === 0 ? `${name} [${index}]` : "" },
      { text: hex(loop.offset), align: "right" },
      ...shareCell(shares, () => `${((shares?.get(loop.offset) ?? 0) * 100).toFixed(1)} %`),
      ...verdict(loop)
    ])
  )

/** Each code of a refusal once, with its remedy. */
const reasonRows = (inspection: Inspection): ReadonlyArray<Row> => {
  const remedies = new Map(
    inspection.functions.flatMap(({ loops }) =>
      loops.flatMap(({ reasons }) => reasons.map((reason) => [reason.code, reason.remedy] as const))
    )
  )
  return Object.entries(inspection.totals.reasons).map(([code, count]): Row => [
    { text: String(count), align: "right" },
    { text: code, colour: "yellow" },
    { text: remedies.get(code) ?? "" }
  ])
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

const report = (inspection: Inspection, shares: Shares): string => {
  const { functions, inside, loops, planned, refused } = inspection.totals
  const title =
    `${inspection.source}: ${plural(functions, "function")}, ${plural(loops, "loop")}: ${planned} planned, ` +
    `${inside} inside these, ${refused} ${refused === 1 ? "stays" : "stay"} serial`
  const native = inspection.nativeReason === undefined ? [] : [`Runs natively: ${inspection.nativeReason}.`]
  const partial = inspection.complete ? [] : ["The budget ended the analysis before all loops were seen."]
  const found = loops === 0
    ? []
    : [
      "",
      table([
        [{ text: "function" }, { text: "loop" }, ...shareCell(shares, () => "of run"), { text: "verdict" }, {
          text: ""
        }],
        ...loopRows(inspection, shares)
      ])
    ]
  const reasons = refused === 0 ? [] : ["", "Serial by first reason:", table(reasonRows(inspection))]
  return [title, ...native, ...partial, ...found, ...reasons].join("\n")
}

/** What is found in a module; with a profile, what its preparation guided by it would plan. */
const inspectModule = ({ bytes, name }: ModuleFile, shares: Shares) =>
  Effect.gen(function*() {
    const extraction = yield* Extraction
    const extracted = yield* extraction.extract(bytes, name)
    return { extracted, found: extraction.inspect(extracted) }
  }).pipe(Effect.provide(NodeExtraction.layer(shares === undefined ? {} : { profile: shares })))

/** The share of each loop beside what was found at it. */
const withShares = (found: Inspection, shares: ReadonlyMap<number, number>) => ({
  ...found,
  functions: found.functions.map((one) => ({
    ...one,
    loops: one.loops.map((loop) => ({ ...loop, share: shares.get(loop.offset) ?? 0 }))
  }))
})

const pageOf = (
  { decoded, name, nativeReason }: Extracted,
  found: Inspection,
  profile: Profile | undefined
): Effect.Effect<string, CommandFailed> =>
  decoded === undefined
    ? new CommandFailed({
      exit: ExitCode.refused,
      tag: "Refused",
      message: `${name}: there is no map of it: ${nativeReason ?? "it could not be read"}`
    })
    : Effect.sync(() => mapPage(moduleMap(decoded, found, profile), found))

/** Text on a terminal has its colours, elsewhere it has none. */
const writeText = (output: string, text: string): Effect.Effect<void, CommandFailed> =>
  output === STDOUT
    ? Console.log(text.trimEnd())
    : writeInPlace(output, `${stripVTControlCharacters(text.trimEnd())}\n`)

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const inspect = Command.make(
  "inspect",
  {
    file: Args.text({ name: "FILE" }).pipe(Args.withDescription("a .wasm or .wat file, or - for stdin")),
    html: Options.boolean("html").pipe(
      Options.withDescription("a page with a map of the module, coloured by what stands in the way")
    ),
    profile: Options.text("profile").pipe(
      Options.withDescription(
        "a profile of the module, or a folder of profiles: weighs the map, tells each loop's share of the run"
      ),
      Options.optional
    ),
    output: Options.text("output").pipe(
      Options.withDescription("a file instead of stdout (-)"),
      Options.withDefault("-")
    ),
    json: Options.boolean("json").pipe(Options.withDescription("print one JSON document, with every reason"))
  },
  ({ file, html, json, output, profile: profileFile }) =>
    Effect.gen(function*() {
      if (html && json) return yield* usage("--html and --json are two documents: ask for one")
      const module = yield* readModule(file)
      if (module.assembler !== undefined) {
        yield* Console.error(`folio: assembled ${module.name} with ${module.assembler}`)
      }
      const profile = Option.isSome(profileFile) ? yield* readProfile(profileFile.value, module) : undefined
      const shares = profile === undefined ? undefined : loopShares(profile)
      const { extracted, found } = yield* inspectModule(module, shares)
      if (html) yield* writeText(output, yield* pageOf(extracted, found, profile))
      else if (json) yield* writeText(output, jsonText(shares === undefined ? found : withShares(found, shares)))
      else yield* writeText(output, report(found, shares))
    }).pipe(
      endedBySignals,
      Effect.mapError((error) => error._tag === "CommandFailed" ? error : failedWith(error)),
      Effect.tapError((error) => printFailure(error, json))
    )
).pipe(
  Command.withDescription(help(
    "Show for each function and loop how it can run apart, or why it stays serial: where, the reason, and what to do.",
    [
      ["folio inspect photon.wasm", "a table, and the reasons by number of loops"],
      ["folio inspect photon.wasm --json | jq .totals", "everything, for programs"],
      ["folio inspect photon.wasm --html --output photon.html", "a map: functions by code size, planned loops green"],
      ["folio inspect sum.wasm --html --profile sum.json > sum.html", "weighed by what a run executed"]
    ],
    "Nothing is executed. Exit codes: 0 ok, 1 not a module, 2 usage, 3 the profile is of another module."
  ))
)
