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
import * as NodeExtraction from "../../layers/node/NodeExtraction.ts"
import { Extraction, type Inspection, type LoopInspection } from "../../services/Extraction.ts"
import { readModule } from "./file.ts"
import { help } from "./help.ts"
import { failedWith, printFailure, printJson } from "./outcome.ts"
import { type Row, table } from "./table.ts"

const hex = (offset: number): string => `0x${offset.toString(16)}`

const verdict = ({ obligations, reasons, tier }: LoopInspection): Row => {
  if (tier !== undefined) return [{ text: `planned, ${tier}`, colour: "green" }, { text: obligations.join(", ") }]
  const [first, ...more] = reasons
  if (first.code === "inside-planned") return [{ text: "inside" }, { text: first.detail }]
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`
  return [{ text: first.code, colour: "yellow" }, { text: `at ${hex(first.offset)}: ${first.detail}${others}` }]
}

const loopRows = (inspection: Inspection): ReadonlyArray<Row> =>
  inspection.functions.flatMap(({ index, loops, name }) =>
    loops.map((loop, position): Row => [
      { text: position === 0 ? `${name} [${index}]` : "" },
      { text: hex(loop.offset), align: "right" },
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

const report = (inspection: Inspection): string => {
  const { functions, inside, loops, planned, refused } = inspection.totals
  const title =
    `${inspection.source}: ${plural(functions, "function")}, ${plural(loops, "loop")}: ${planned} planned, ` +
    `${inside} inside these, ${refused} ${refused === 1 ? "stays" : "stay"} serial`
  const native = inspection.nativeReason === undefined ? [] : [`Runs natively: ${inspection.nativeReason}.`]
  const partial = inspection.complete ? [] : ["The analysis ended before all functions were seen."]
  const found = loops === 0
    ? []
    : [
      "",
      table([[{ text: "function" }, { text: "loop" }, { text: "verdict" }, { text: "" }], ...loopRows(inspection)])
    ]
  const reasons = refused === 0 ? [] : ["", "Serial by first reason:", table(reasonRows(inspection))]
  return [title, ...native, ...partial, ...found, ...reasons].join("\n")
}

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
    json: Options.boolean("json").pipe(Options.withDescription("print one JSON document, with every reason"))
  },
  ({ file, json }) =>
    Effect.gen(function*() {
      const extraction = yield* Extraction
      const module = yield* readModule(file)
      if (module.assembler !== undefined) {
        yield* Console.error(`folio: assembled ${module.name} with ${module.assembler}`)
      }
      const found = extraction.inspect(yield* extraction.extract(module.bytes, module.name))
      yield* json ? printJson(found) : Console.log(report(found))
    }).pipe(
      Effect.provide(NodeExtraction.layer()),
      Effect.mapError(failedWith),
      Effect.tapError((error) => printFailure(error, json))
    )
).pipe(
  Command.withDescription(help(
    "Show for each function and loop how it can run apart, or why it stays serial: where, the reason, and what to do.",
    [
      ["folio inspect photon.wasm", "a table, and the reasons by number of loops"],
      ["folio inspect photon.wasm --json | jq .totals", "everything, for programs"]
    ],
    "Nothing is executed. Exit codes: 0 ok, 1 not a module, 2 usage."
  ))
)
