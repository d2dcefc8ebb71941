/**
 * `folio bench cold-start`: what a request costs for one of many tenants of a module, more than there are contexts.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { join } from "node:path"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import * as NodeTenants from "../../layers/node/NodeTenants.ts"
import { Baking } from "../../services/Baking.ts"
import type { HostException, Trap } from "../../services/Errors.ts"
import { TenantRefused } from "../../services/TenantErrors.ts"
import type { TenantContext, TenantError } from "../../services/Tenants.ts"
import { makeRandom, makeZipf, measureRequests, type RequestSamples } from "../measure/requests.ts"
import { median, percentile } from "../measure/statistics.ts"
import { count, imports, init, json, numbers, optional, scratchFolder, shown, told } from "./bench-options.ts"
import { bootModule, readHostScript } from "./boot.ts"
import { help } from "./help.ts"
import { imageFailed, readImageModule } from "./image-files.ts"
import { CommandFailed, ExitCode, printJson, usage } from "./outcome.ts"
import { during } from "./progress.ts"
import { type Row, table } from "./table.ts"

const failed = (error: TenantError | Trap | HostException | CommandFailed): CommandFailed =>
  error instanceof TenantRefused
    ? new CommandFailed({ exit: ExitCode.refused, tag: "TenantRefused", message: error.message })
    : imageFailed(error)

/** Boots without an image, each time anew. */
const BOOTS = 5

const rowOf = (
  name: string,
  { totalUs, memoryUs, runUs }: RequestSamples,
  which: (request: number) => boolean
): Row => {
  const of = (values: ReadonlyArray<number>): ReadonlyArray<number> => values.filter((_, request) => which(request))
  const total = of(totalUs)
  if (total.length === 0) return [{ text: name }, ...numbers("0")]
  return [
    { text: name },
    ...numbers(
      String(total.length),
      shown(median(total)),
      shown(percentile(total, 99)),
      shown(median(of(memoryUs))),
      shown(median(of(runUs)))
    )
  ]
}

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const coldStart = Command.make(
  "cold-start",
  {
    file: Args.text({ name: "FILE" }).pipe(Args.withDescription("a .wasm or .wat file")),
    init,
    run: optional("run", "an export that a request calls, without arguments"),
    imports,
    tenants: count("tenants", "how many tenants", 64),
    contexts: count("contexts", "how many contexts they share", 8),
    requests: count("requests", "how many requests", 2_000),
    json
  },
  ({ contexts, file, imports, init, json, requests, run, tenants: many }) =>
    told(
      Effect.gen(function*() {
        const folder = yield* scratchFolder
        const baking = yield* Baking
        const module = yield* readImageModule(file)
        const host = yield* readHostScript(imports)
        const bootUs: Array<number> = []
        const boot = Effect.gen(function*() {
          const start = performance.now()
          const instance = yield* bootModule(baking, module, host, init)
          bootUs.push((performance.now() - start) * 1_000)
          return instance
        })
        for (let round = 1; round < BOOTS; round++) yield* boot
        const image = yield* Effect.flatMap(boot, (instance) => baking.capture(module, instance))
        const request = ({ exports }: TenantContext<WebAssembly.Exports>): void => {
          if (Option.isSome(run)) (exports[run.value] as () => unknown)()
        }
        if (
          Option.isSome(run) &&
          !module.decoded.exports.some(({ kind, name }) => kind === "function" && name === run.value)
        ) {
          return yield* usage(`${module.name} has no exported function "${run.value}"`)
        }
        const tenants = yield* NodeTenants.make({ budgetBytes: Number.MAX_SAFE_INTEGER })
        const program = yield* tenants.program({
          name: module.name,
          module: module.bytes,
          open: (instantiate) => instantiate(host.imports).exports,
          contexts
        })
        for (let tenant = 0; tenant < many; tenant++) {
          const place = join(folder, `${tenant}.folio`)
          yield* baking.write(image, place)
          yield* tenants.add(String(tenant), { program, image: place })
        }
        const next = makeZipf(many, makeRandom(777))
        const samples = yield* during(
          `${module.name}: requests`,
          measureRequests(tenants, program, {
            warmup: Math.ceil(requests / 10),
            requests,
            next: () => ({ tenant: String(next()), request })
          })
        )
        yield* json
          ? printJson({ source: module.name, tenants: many, contexts, samples, bootUs })
          : Console.log(table([
            [{ text: module.name }, ...numbers("requests", "median, µs", "99 %, µs", "memory, µs", "request, µs")],
            rowOf("all", samples, () => true),
            rowOf("with a context", samples, (request) => samples.opened[request] === 0),
            rowOf("without one", samples, (request) => samples.opened[request] === 1),
            [{ text: "booted instead" }, ...numbers(String(BOOTS), shown(median(bootUs)))]
          ]))
      }).pipe(Effect.scoped, Effect.provide(NodeBaking.layer), Effect.mapError(failed)),
      json
    )
).pipe(Command.withDescription(help(
  "Measure what a request costs for one of many tenants of a module of yours, whose popularity follows Zipf's law.",
  [["folio bench cold-start tool.wasm --init boot --run handle", "64 tenants on 8 contexts"]],
  "Exit codes: 0 ok, 1 failed, 2 no such export, 3 the state cannot be kept here, 134 trap."
)))
