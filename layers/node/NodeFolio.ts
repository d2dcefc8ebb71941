/**
 * Folio on Node.js: lanes are worker threads, and they see the guest's own memory.
 *
 * ```ts
 * import { Folio } from "folio-wasm"
 * import { NodeFolio } from "folio-wasm/node"
 *
 * const program = Effect.gen(function*() {
 *   const session = yield* Folio.open("sum.wasm")
 *   return yield* session.run("sum", [0, 1_000_000])
 * })
 *
 * await program.pipe(Effect.scoped, Effect.provide(NodeFolio.layer({ workers: 2 })), Effect.runPromise)
 * ```
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { CreditLimits } from "../../services/Credits.ts"
import type { Folio } from "../../services/Folio.ts"
import { layerAdmission } from "../core/CoreAdmission.ts"
import { layerArena } from "../core/CoreArena.ts"
import { layerCredits } from "../core/CoreCredits.ts"
import { layerFolio } from "../core/CoreFolio.ts"
import * as NodeExtraction from "./NodeExtraction.ts"
import * as NodeScheduling from "./NodeScheduling.ts"
import * as NodeThread from "./NodeThread.ts"
import * as NodeTransport from "./NodeTransport.ts"

/**
 * How Folio runs on Node.js. Everything has a default.
 *
 * @category options
 * @since 0.1.0
 */
export const NodeFolioOptions = Schema.Struct({
  /** Threads that work, the owner counted: 1 to 32. Default: as many as this process may run at once. */
  workers: Schema.optional(Schema.Int.pipe(Schema.between(1, 32))),
  /** Grant more workers than there are CPUs: for checking, not for speed. */
  oversubscribe: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  /**
   * Hand out loops over a shared memory that the guest was given. Such a guest may have threads of its own, which then
   * must not touch the memory while an export runs.
   */
  sharedGiven: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  /**
   * Make an owned memory of fixed size shared: for hosts where the pages of an unshared one cannot be mapped. The
   * program then sees a `SharedArrayBuffer`.
   */
  sharedFixed: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  /** Least work of a loop in nanoseconds to be handed out; 0 admits all. Default: what this machine measures. */
  minimumWorkNs: Schema.optional(Schema.NonNegative),
  /** Milliseconds that a run with `fallback: "fail"`, or `awaitLanes`, waits for lanes to come up. */
  startTimeoutMs: Schema.optionalWith(Schema.Positive, { default: () => 5_000 }),
  /** Milliseconds that the analysis of a module may take; what it has not seen by then stays serial. Default: no limit. */
  prepareBudgetMs: Schema.optional(Schema.Positive),
  /** MiB that the analysis of a module may hold; what it has not seen by then stays serial. Default: no limit. */
  prepareBudgetMib: Schema.optional(Schema.Positive),
  /** Limits of what is held at a time. */
  limits: Schema.optionalWith(CreditLimits, { default: () => Schema.decodeSync(CreditLimits)({}) })
})

/**
 * @category options
 * @since 0.1.0
 */
export type NodeFolioOptions = typeof NodeFolioOptions.Encoded

const layerDecoded = (options: typeof NodeFolioOptions.Type): Layer.Layer<Folio> => {
  const { limits, minimumWorkNs, oversubscribe, sharedFixed, sharedGiven, startTimeoutMs, workers } = options
  const { prepareBudgetMib, prepareBudgetMs } = options
  const prepare = {
    ...prepareBudgetMs === undefined ? {} : { budgetMs: prepareBudgetMs },
    ...prepareBudgetMib === undefined ? {} : { budgetBytes: prepareBudgetMib * 1024 ** 2 },
    sharedFixed
  }
  return layerFolio.pipe(
    Layer.provide([
      layerArena,
      NodeExtraction.layer(prepare),
      NodeScheduling.layer,
      NodeTransport.layer(startTimeoutMs)
    ]),
    Layer.provide([layerCredits(limits), NodeThread.layer({ workers, oversubscribe, sharedGiven })]),
    Layer.provide(layerAdmission(minimumWorkNs))
  )
}

/**
 * Folio with the given options. Options out of range are a defect.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: NodeFolioOptions = {}): Layer.Layer<Folio> =>
  Layer.unwrapEffect(Effect.map(Effect.orDie(Schema.decode(NodeFolioOptions)(options)), layerDecoded))

/** A whole number, unset when it is missing or empty. */
const whole = (name: string, low: number, high: number): Config.Config<number | undefined> =>
  Config.string(name).pipe(
    Config.withDefault(""),
    Config.mapOrFail((text) => {
      if (text === "") return Either.right(undefined)
      const value = Number(text)
      return /^\d+$/.test(text) && value >= low && value <= high
        ? Either.right(value)
        : Either.left(ConfigError.InvalidData([name], `${text} is no whole number from ${low} to ${high}`))
    })
  )

const fromEnv: Config.Config<NodeFolioOptions> = Config.all({
  workers: whole("FOLIO_WORKERS", 1, 32),
  minimumWorkNs: whole("FOLIO_MINIMUM_WORK_NS", 0, 1e12),
  startTimeoutMs: whole("FOLIO_START_TIMEOUT_MS", 1, 3_600_000),
  prepareBudgetMs: whole("FOLIO_PREPARE_BUDGET_MS", 1, 3_600_000),
  prepareBudgetMib: whole("FOLIO_PREPARE_BUDGET_MIB", 64, 65_536)
}).pipe(
  Config.map((given): NodeFolioOptions =>
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  )
)

/**
 * Folio with options that are a `Config`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  config: Config.Config.Wrap<NodeFolioOptions>
): Layer.Layer<Folio, ConfigError.ConfigError> => Layer.unwrapEffect(Effect.map(Config.unwrap(config), layer))

/**
 * Folio with options from the environment: `FOLIO_WORKERS`, `FOLIO_MINIMUM_WORK_NS`, `FOLIO_START_TIMEOUT_MS`,
 * `FOLIO_PREPARE_BUDGET_MS`, `FOLIO_PREPARE_BUDGET_MIB`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFromEnv: Layer.Layer<Folio, ConfigError.ConfigError> = Layer.unwrapEffect(
  Effect.map(fromEnv, layer)
)
