/**
 * From a module's bytes to what the cache keeps of it: analysis, emission, number, difference, and the engine's own
 * judgement of the result.
 *
 * @since 0.1.0
 */
import type { prepare as Prepare, PrepareOptions } from "../../src/plan/prepare.ts"
import type { Plan } from "../../src/plan/types.ts"
import { encodeBundle, withBundle } from "./bundle.ts"
import { checksum } from "./checksum.ts"
import { encodeEntry } from "./entry.ts"
import { withIdentity } from "./identity.ts"
import { measured } from "./measured.ts"
import { clock, original } from "./original.ts"
import { commonRuns } from "./patch.ts"

/**
 * What was found in a module, for the report.
 *
 * @category models
 * @since 0.1.0
 */
export interface PreparationSummary {
  /** SHA-256 of the module in hexadecimal digits; `undefined` where its preparation failed. */
  readonly sha256: string | undefined
  readonly functions: number
  readonly planned: number
  readonly refused: number
  /** Refused loops by the code of their first reason. */
  readonly reasons: Readonly<Record<string, number>>
  /** Why the whole module is native; `undefined` where only its loops decide. */
  readonly refusal: string | undefined
  /** False where a budget ended the analysis before all loops were seen. */
  readonly complete: boolean
  /** Milliseconds that the analysis and the emission took. */
  readonly milliseconds: number
}

/**
 * A prepared module.
 *
 * @category models
 * @since 0.1.0
 */
export interface Preparation {
  /** False where a budget ended the analysis; the entry has what was seen by then, or nothing with `allOrNothing`. */
  readonly complete: boolean
  /** What the cache keeps of the module (`entry.ts`). */
  readonly entry: Uint8Array<ArrayBuffer>
}

/**
 * How to prepare.
 *
 * @category models
 * @since 0.1.0
 */
export interface PreparationOptions
  extends Pick<PrepareOptions, "budgetMs" | "budgetBytes" | "allOrNothing" | "progress" | "profile">
{
  readonly build: string
  /** The compiler: {@link Prepare}. */
  readonly prepare: typeof Prepare
}

/** Counts of a plan. */
const summarise = (
  bytes: Uint8Array,
  plan: Plan,
  refusal: string | undefined,
  milliseconds: number
): PreparationSummary => {
  const reasons: Record<string, number> = {}
  let planned = 0
  for (const loop of plan.loops) {
    if (loop._tag === "planned") planned++
    else {
      const code = loop.reasons[0]?.code ?? "unknown"
      reasons[code] = (reasons[code] ?? 0) + 1
    }
  }
  const { complete, functions, loops } = plan
  const refused = loops.length - planned
  // Here and not in the drop-in: loading what hashes takes longer than all else that a start does.
  const sha256 = process.getBuiltinModule("node:crypto").hash("sha256", bytes, "hex")
  return { sha256, functions, planned, refused, reasons, refusal, complete, milliseconds: round(milliseconds) }
}

const round = (milliseconds: number): number => Math.round(milliseconds * 100) / 100

/**
 * What is said of a module that runs natively for a reason outside its plan.
 *
 * @category constructors
 * @since 0.1.0
 */
export const nativeSummary = (refusal: string): PreparationSummary => ({
  sha256: undefined,
  functions: 0,
  planned: 0,
  refused: 0,
  reasons: {},
  refusal,
  complete: true,
  milliseconds: 0
})

/**
 * The entry of such a module.
 *
 * @category constructors
 * @since 0.1.0
 */
export const nativeEntry = (bytes: Uint8Array, refusal: string): Uint8Array<ArrayBuffer> =>
  encodeEntry(bytes, { summary: JSON.stringify(nativeSummary(refusal)), patched: undefined })

/**
 * Milliseconds for each MiB of a module that go by behind the analysis: emission, difference, hashes and the engine's
 * judgement. On a 2-core machine of today 25 MiB took 0.35 s of processor time; here is room for a busy one.
 */
const emissionMsPerMib = 30

/** What is left of the time for the analysis, half of it at least. */
const analysisMs = (bytes: number, { allOrNothing, budgetMs }: PreparationOptions) =>
  budgetMs === undefined || allOrNothing === true
    ? budgetMs
    : Math.max(budgetMs / 2, budgetMs - bytes / 1024 ** 2 * emissionMsPerMib)

/**
 * Prepares a module. What the engine accepts of the original it must accept of the patched module too, or the module
 * stays native.
 *
 * @category preparing
 * @since 0.1.0
 */
export const prepareModule = (bytes: Uint8Array, options: PreparationOptions): Preparation => {
  const { allOrNothing = false, budgetBytes, build, prepare, profile, progress = () => {} } = options
  const { now } = clock
  const start = now()
  const limits = measured({ budgetBytes, budgetMs: analysisMs(bytes.length, options) })
  const { chunks, guard, guest, plan } = prepare(bytes, {
    ...limits,
    allOrNothing,
    progress,
    ...profile === undefined ? {} : { profile }
  })
  const summary = (refusal: string | undefined): string =>
    JSON.stringify(summarise(bytes, plan, refusal, now() - start))
  const native = (refusal: string | undefined): Preparation => ({
    complete: plan.complete,
    entry: encodeEntry(bytes, { summary: summary(refusal), patched: undefined })
  })
  if (guest === undefined || guard === undefined) return native(plan.refusal?.detail)

  // Two plans of one module are two modules: instances of the one must never be bound with the other.
  const identity = BigInt.asIntN(64, checksum([bytes, guard]))
  const numbered = withIdentity(guest, identity)
  if (!original.validate(numbered as Uint8Array<ArrayBuffer>)) {
    return native("the engine does not accept the patched module")
  }
  const bundle = encodeBundle({ build, identity, plan, guard, chunks })
  const module = withBundle(numbered, bundle)
  return {
    complete: plan.complete,
    entry: encodeEntry(
      bytes,
      { summary: summary(undefined), patched: { module, bundle: module.length - bundle.length } },
      commonRuns(bytes, numbered)
    )
  }
}
