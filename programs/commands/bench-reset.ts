/**
 * `folio bench reset`: how long it takes to put an instance back, by every rung of the machine.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { measureResets, soundRungs, spread, writerModule } from "../measure/resets.ts"
import { median, percentile } from "../measure/statistics.ts"
import { count, imports, init, json, measured, numbers, optional, shown, told } from "./bench-options.ts"
import { readHostScript } from "./boot.ts"
import { readModule } from "./file.ts"
import { help } from "./help.ts"
import { bootEntries } from "./host-script.ts"
import { failedWith, printJson, usage } from "./outcome.ts"
import { during } from "./progress.ts"
import { type Row, table } from "./table.ts"

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
        begin: async (exports: WebAssembly.Exports) => {
          const instance = { exports } as WebAssembly.Instance
          await host.boot?.(instance)
          for (const entry of bootEntries(instance, host, Option.getOrUndefined(init))) call(exports, entry)
        },
        run: (exports: WebAssembly.Exports) => Option.isSome(run) && call(exports, run.value)
      }
    } satisfies ResetCase
  })

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const reset = Command.make(
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
