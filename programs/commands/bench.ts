/**
 * `folio bench`: what a reset, a task and an image cost on this machine, for a module of the caller's own where that
 * says more. A subcommand measures with code of `programs/measure` and prints a table, or its samples as JSON.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { mkdtemp, rm } from "node:fs/promises"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { probeNative } from "../../layers/node/ffi.ts"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import { Baking } from "../../services/Baking.ts"
import { Mismatch } from "../../src/image/mismatch.ts"
import { measureOpenings, openIn, type Way, writeOpenings } from "../measure/openings.ts"
import { measureResets, soundRungs, spread, writerModule } from "../measure/resets.ts"
import { median, percentile, significant } from "../measure/statistics.ts"
import { measureTasks } from "../measure/tasks.ts"
import { bootModule, readHostScript } from "./boot.ts"
import { readModule } from "./file.ts"
import { help } from "./help.ts"
import { bootEntries } from "./host-script.ts"
import { imageFailed, onFiles, readImageModule, sizeOf } from "./image-files.ts"
import { CommandFailed, ExitCode, failedWith, printFailure, printJson, usage } from "./outcome.ts"
import { during, showProgress } from "./progress.ts"
import { type Row, table } from "./table.ts"

const optional = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)
const json = Options.boolean("json").pipe(Options.withDescription("print the samples as one JSON document"))
const init = optional("init", "an export that boots the program, called without arguments")
const imports = optional("imports", "a script whose default export is the import object, or makes it")
const count = (name: string, description: string, standard: number) =>
  Options.integer(name).pipe(
    Options.withDescription(description),
    Options.withDefault(standard),
    Options.filterMap(
      (given) => given > 0 ? Option.some(given) : Option.none(),
      `--${name} takes a whole number from 1 on`
    )
  )

const shown = (value: number): string => significant(value, 3).toLocaleString("en")
const numbers = (...values: ReadonlyArray<string>): Row => values.map((text) => ({ text, align: "right" }))

/** Prints how a command failed, besides ending with it. */
const told = <A>(work: Effect.Effect<A, CommandFailed>, asJson: boolean): Effect.Effect<A, CommandFailed> =>
  Effect.tapError(work, (error) => printFailure(error, asJson))

/** Whatever plain measuring code throws. */
const measured = <A>(what: string, work: () => A): Effect.Effect<A, CommandFailed> =>
  Effect.try({
    try: work,
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

interface ResetCase {
  readonly name: string
  readonly bytes: Uint8Array
  readonly guest: Parameters<typeof measureResets>[3]
}

/** Without a module of the caller's own: pages of a memory of 64 MiB. */
const writers = (): ReadonlyArray<ResetCase> =>
  [1, 16, 128].map((pages) => ({
    name: `64 MiB, ${pages} pages written`,
    bytes: writerModule(64),
    guest: {
      imports: {},
      begin: () => {},
      run: (exports) => {
        for (const at of spread(64, pages)) (exports["write"] as (at: number) => void)(at)
      }
    }
  }))

const ownCase = (
  file: string,
  script: Option.Option<string>,
  init: Option.Option<string>,
  run: Option.Option<string>
) =>
  Effect.gen(function*() {
    const { bytes, name } = yield* Effect.mapError(readModule(file), failedWith)
    const host = yield* readHostScript(script)
    const call = (exports: WebAssembly.Exports, entry: string): void => {
      if (typeof exports[entry] !== "function") throw usage(`${name} has no exported function "${entry}"`)
      ;(exports[entry] as () => unknown)()
    }
    return {
      name: Option.isSome(run) ? `${name}, "${run.value}" run` : `${name}, nothing run`,
      bytes,
      guest: {
        imports: host.imports,
        begin: (exports: WebAssembly.Exports) => {
          void host.boot?.({ exports } as WebAssembly.Instance)
          const entries = bootEntries({ exports } as WebAssembly.Instance, host, Option.getOrUndefined(init))
          for (const entry of entries) call(exports, entry)
        },
        run: (exports: WebAssembly.Exports) => Option.isSome(run) && call(exports, run.value)
      }
    } satisfies ResetCase
  })

const reset = Command.make(
  "reset",
  {
    file: Args.text({ name: "FILE" }).pipe(Args.withDescription("a .wasm or .wat file of your own"), Args.optional),
    init,
    run: optional("run", "an export that a use calls, without arguments"),
    imports,
    rounds: count("rounds", "resets of each rung", 100),
    json
  },
  ({ file, imports, init, json, rounds, run }) =>
    told(
      Effect.gen(function*() {
        const cases: ReadonlyArray<ResetCase> = Option.isSome(file)
          ? [yield* ownCase(file.value, imports, init, run)]
          : writers()
        const results = yield* Effect.forEach(cases, ({ bytes, guest, name }) =>
          Effect.map(
            Effect.forEach(soundRungs(), (rung) =>
              Effect.map(
                during(`${name}: ${rung}`, measured(name, () => measureResets(bytes, rung, rounds, guest))),
                (samples) => ({ rung, samples })
              )),
            (rungs) => ({ name, rungs })
          ))
        const heads: Row = [{ text: "" }, ...numbers("reset, µs", "slowest tenth", "use, µs")]
        yield* json
          ? printJson({ cases: results })
          : Console.log(
            results.map(({ name, rungs }) =>
              `${name}\n${
                table([
                  heads,
                  ...rungs.map(({ rung, samples }): Row =>
                    typeof samples === "string"
                      ? [{ text: rung }, ...numbers("", "", ""), { text: samples }]
                      : [
                        { text: rung },
                        ...numbers(
                          shown(median(samples.resetUs)),
                          shown(percentile(samples.resetUs, 90)),
                          shown(median(samples.runUs))
                        )
                      ]
                  )
                ])
              }`
            ).join("\n\n")
          )
      }),
      json
    )
).pipe(Command.withDescription(help(
  "Measure how long it takes to put an instance back, by every rung that this machine has.",
  [
    ["folio bench reset", "1, 16 and 128 written pages of 64 MiB"],
    ["folio bench reset tool.wasm --init boot --run handle", "your own module: booted once, reset behind each call"]
  ],
  "folio doctor says which rung is taken. Exit codes: 0 ok, 1 failed, 3 the module cannot be put back, 134 trap."
)))

const tasks = Command.make(
  "tasks",
  {
    lanes: count("lanes", "threads; default: as many as the process may run at once", availableParallelism()),
    rounds: count("rounds", "rounds of 200 single tasks and 4,000 at once", 20),
    json
  },
  ({ json, lanes, rounds }) =>
    told(
      Effect.gen(function*() {
        const samples = yield* during(
          `tasks on ${lanes} lanes`,
          measureTasks(lanes, rounds, (round) => showProgress(`tasks on ${lanes} lanes: round ${round + 1}`))
        ).pipe(
          Effect.mapError((error) =>
            new CommandFailed({ exit: ExitCode.failed, tag: error._tag, message: error.message })
          )
        )
        const { perSecond, roundTripUs } = samples
        yield* json ? printJson({ lanes, ...samples }) : Console.log(table([
          [{ text: `${lanes} lanes` }, ...numbers("median", "best")],
          [
            { text: "one task, there and back, µs" },
            ...numbers(shown(median(roundTripUs)), shown(Math.min(...roundTripUs)))
          ],
          [{ text: "small tasks a second" }, ...numbers(shown(median(perSecond)), shown(Math.max(...perSecond)))]
        ]))
      }),
      json
    )
).pipe(Command.withDescription(help(
  "Measure what a task costs beside its own work: a round trip, and how many end in a second.",
  [["folio bench tasks --lanes 2", "two threads"]],
  "A task that takes less than its round trip is better called. Exit codes: 0 ok, 1 failed, 2 usage."
)))

const WAYS: Readonly<Record<Exclude<Way, "bare">, string>> = {
  boot: "booted",
  active: "baked module",
  copy: "image, copied",
  verified: "image, mapped and checked",
  mapped: "image, mapped and trusted"
}

const bake = Command.make(
  "bake",
  {
    file: Args.text({ name: "FILE" }).pipe(Args.withDescription("a .wasm or .wat file")),
    init,
    imports,
    rounds: count("rounds", "processes of each way", 9),
    json
  },
  ({ file, imports, init, json, rounds }) =>
    told(
      Effect.gen(function*() {
        const folder = yield* Effect.acquireRelease(
          onFiles(tmpdir(), () => mkdtemp(join(tmpdir(), "folio-bench-"))),
          (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
        )
        const baking = yield* Baking
        const module = yield* readImageModule(file)
        const image = yield* Effect.flatMap(readHostScript(imports), (host) =>
          Effect.flatMap(bootModule(baking, module, host, init), (instance) => baking.capture(module, instance)))
        const bytes = yield* measured(module.name, () =>
          writeOpenings(folder, module.decoded, image))
        const boot = { script: Option.getOrUndefined(imports), init: Option.getOrUndefined(init) }
        const calls = probeNative()
        const ways = (Object.keys(WAYS) as ReadonlyArray<keyof typeof WAYS>).filter((way) =>
          typeof calls !== "string" || way !== "verified" && way !== "mapped"
        )
        const samples = yield* during(
          `${module.name}: opening`,
          measured(module.name, () =>
            measureOpenings(ways, rounds, (way) =>
              openIn(folder, way, boot), (round) =>
              showProgress(`${module.name}: round ${round + 1} of ${rounds + 1}`)))
        )
        const booting = median(samples.boot.wallMs)
        const sizes: Partial<Record<Way, number>> = {
          boot: module.bytes.length,
          active: bytes.active,
          copy: bytes.image,
          verified: bytes.image,
          mapped: bytes.image
        }
        yield* json
          ? printJson({ source: module.name, bytes, samples, unmapped: typeof calls === "string" ? calls : undefined })
          : Console.log(table([
            [{ text: module.name }, ...numbers("ms", "processor ms", "against booting", "file")],
            ...ways.map((way): Row => [
              { text: WAYS[way] },
              ...numbers(
                shown(median(samples[way].wallMs)),
                shown(median(samples[way].cpuMs)),
                `${shown(booting / median(samples[way].wallMs))}×`,
                sizeOf(sizes[way] ?? 0)
              )
            ]),
            ...typeof calls === "string" ? [[{ text: `nothing is mapped here: ${calls}` }]] : []
          ]))
      }).pipe(Effect.scoped, Effect.provide(NodeBaking.layer), Effect.mapError(imageFailed)),
      json
    )
).pipe(Command.withDescription(help(
  "Measure how long fresh processes take to have a module of yours ready: booted, baked, and from an image.",
  [["folio bench bake tool.wasm --init boot", "what folio bake would save"]],
  "Exit codes: 0 ok, 1 failed, 3 the state cannot be kept or mapped here, 134 trap."
)))

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const bench = Command.make("bench").pipe(
  Command.withDescription(help(
    "Measure on this machine what private state costs: resets, tasks, images.",
    [
      ["folio bench reset", "putting an instance back"],
      ["folio bench bake tool.wasm --init boot", "what an image would save"]
    ],
    "Figures of a busy machine are those of a busy machine: the median of several rounds is shown."
  )),
  Command.withSubcommands([reset, tasks, bake])
)
