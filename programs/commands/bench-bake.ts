/**
 * `folio bench bake`: how long fresh processes take to have a module ready, booted, baked and from an image.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { probeNative } from "../../layers/node/ffi.ts"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import { Baking } from "../../services/Baking.ts"
import { measureOpenings, openIn, type Way, writeOpenings } from "../measure/openings.ts"
import { median } from "../measure/statistics.ts"
import { count, imports, init, json, measured, numbers, scratchFolder, shown, told } from "./bench-options.ts"
import { bootModule, readHostScript } from "./boot.ts"
import { help } from "./help.ts"
import { imageFailed, readImageModule, sizeOf } from "./image-files.ts"
import { printJson } from "./outcome.ts"
import { during, showProgress } from "./progress.ts"
import { type Row, table } from "./table.ts"

const WAYS: Readonly<Record<Exclude<Way, "bare">, string>> = {
  boot: "booted",
  active: "baked module",
  copy: "image, copied",
  verified: "image, mapped and checked",
  mapped: "image, mapped and trusted"
}

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const bake = Command.make(
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
        const folder = yield* scratchFolder
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
