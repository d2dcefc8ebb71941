/**
 * The verdict on a program, as a pure function of its samples.
 *
 * A program is *equal* when every output of every arm has one digest, the expected one where one is known, and all
 * memories and globals end alike. It is *not slower* when the pooled median of native/Folio is at least 0.98, or at
 * least the 5th percentile of what two native arms make of each other on this machine; and, where nothing was
 * dispatched, when Folio used at most 1.02 times the processor time.
 */
import { median, percentile, ratios, significant } from "../../programs/measure/statistics.ts"
import { armNames } from "./arms.ts"
import type { ProgramSamples, Restart } from "./program.ts"

/**
 * One line of the corpus' result. Times are milliseconds; ratios are native/Folio (above 1: Folio is faster) except
 * `cpuRatio`, which is Folio/native.
 *
 * @category models
 * @since 0.1.0
 */
export interface Verdict {
  readonly name: string
  readonly equal: boolean
  /** Calls of the Folio arm whose output was compared with native's, and the digest of all of them. */
  readonly calls: number
  readonly digest: string | undefined
  readonly ratio: number
  /** The pooled median of native A / native B. */
  readonly aa: number
  /** The 5th percentile of the medians of native against native, restart by restart, both ways round. */
  readonly aaLow: number
  readonly cpuRatio: number
  readonly dispatches: number
  /** Loops with a plan and loops refused, over all modules; undefined when the arm left no report. */
  readonly plan:
    | { readonly planned: number; readonly refused: number; readonly reasons: Readonly<Record<string, number>> }
    | undefined
  readonly prepareMs: number | undefined
  readonly rung: string
  /** The first call after start-up, apart from the steady state above. */
  readonly firstCall: { readonly native: number; readonly folio: number }
  /** From the start of the process until the harness is set up; `cold` has no cache yet. */
  readonly startup: { readonly native: number; readonly cold: number; readonly warm: number; readonly within: boolean }
  readonly callMs: { readonly native: number; readonly folio: number }
  readonly passed: boolean
  /** What is wrong, or worth knowing. */
  readonly notes: ReadonlyArray<string>
}

/**
 * What a start may take, from what native takes: 5 % more, or 10 ms more where that is more.
 *
 * @category judging
 * @since 0.1.0
 */
export const startupBound = (native: number): number => native + Math.max(0.05 * native, 10)

const leastRatio = 0.98
const mostIdleCpu = 1.02

const both = (restart: Restart, key: "wallMs" | "cpuMs", inverse: boolean): Array<number> => {
  const { folio, nativeA, nativeB } = restart.arms
  return [nativeA, nativeB].flatMap((native) =>
    inverse ? ratios(folio[key], native[key]) : ratios(native[key], folio[key])
  )
}

const digestNotes = (samples: ProgramSamples): Array<string> => {
  const seen = new Set([
    ...samples.restarts.flatMap((restart) => armNames.flatMap((name) => restart.arms[name].digests)),
    ...samples.states.digests
  ])
  if (seen.size > 1) return [`${seen.size} different outputs`]
  return samples.expected !== undefined && !seen.has(samples.expected) ? ["output is not the expected one"] : []
}

const stateNotes = (samples: ProgramSamples): Array<string> => {
  const { differs } = samples.states
  const settled = differs.map(({ name, ranges }) => {
    const first = ranges[0]
    return first === undefined
      ? `state ${name} differs`
      : `memory ${name} differs in ${ranges.length} ranges, the first ${first.start}–${first.end}`
  })
  const timed = samples.restarts.flatMap((restart) =>
    restart.stateDiffers.filter((name) => !restart.nativeDiffers.includes(name))
  )
  return [...settled, ...[...new Set(timed)].map((name) => `state ${name} differs after the timed rounds`)]
}

/**
 * Judges one program.
 *
 * @category judging
 * @since 0.1.0
 */
export const judge = (samples: ProgramSamples): Verdict => {
  const { restarts } = samples
  const ratio = median(restarts.flatMap((restart) => both(restart, "wallMs", false)))
  const aaOf = (restart: Restart) => ratios(restart.arms.nativeA.wallMs, restart.arms.nativeB.wallMs)
  const aaLow = percentile(
    restarts.flatMap((restart) => {
      const middle = median(aaOf(restart))
      return [middle, 1 / middle]
    }),
    5
  )
  const cpuRatio = median(restarts.flatMap((restart) => both(restart, "cpuMs", true)))
  const dispatches = restarts.reduce((total, { report }) => total + report.dispatches, 0)
  const unequal = [...digestNotes(samples), ...stateNotes(samples)]
  const slower = [
    ...(ratio >= Math.min(leastRatio, aaLow) ? [] : [`slower: ${significant(ratio)} of native`]),
    ...(dispatches > 0 || cpuRatio <= mostIdleCpu
      ? []
      : [`processor time ${significant(cpuRatio)} of native, nothing dispatched`])
  ]
  const reports = restarts.map(({ report }) => report)
  const missing = reports.some(({ present }) => !present) ? ["a Folio arm left no report"] : []
  const aside = samples.states.unsettled.length > 0
    ? [`native ends unlike itself in ${samples.states.unsettled.join(", ")}, which says nothing then`]
    : []
  const natives = restarts.flatMap(({ arms }) => [arms.nativeA, arms.nativeB])
  const folios = restarts.map(({ arms }) => arms.folio)
  const startupNative = median(natives.map(({ startupMs }) => startupMs))
  const warm = median(folios.slice(folios.length > 1 ? 1 : 0).map(({ startupMs }) => startupMs))
  const perCall = (values: ReadonlyArray<{ readonly wallMs: ReadonlyArray<number> }>) =>
    significant(median(values.flatMap(({ wallMs }) => wallMs)) / samples.callsPerSample)
  const last = reports.at(-1)
  return {
    name: samples.name,
    equal: unequal.length === 0,
    calls: samples.states.calls + restarts.reduce(
      (total, { arms }) => total + 1 + samples.warmupCalls + arms.folio.wallMs.length * samples.callsPerSample,
      0
    ),
    digest: samples.states.digests[0],
    ratio: significant(ratio),
    aa: significant(median(restarts.flatMap(aaOf))),
    aaLow: significant(aaLow),
    cpuRatio: significant(cpuRatio),
    dispatches,
    plan: last?.present === true ? { planned: last.planned, refused: last.refused, reasons: last.reasons } : undefined,
    prepareMs: reports[0]?.prepareMs,
    rung: last?.rung ?? "native",
    firstCall: {
      native: significant(median(natives.map(({ firstCallMs }) => firstCallMs))),
      folio: significant(median(folios.map(({ firstCallMs }) => firstCallMs)))
    },
    startup: {
      native: significant(startupNative),
      cold: significant(folios[0]!.startupMs),
      warm: significant(warm),
      within: warm <= startupBound(startupNative)
    },
    callMs: { native: perCall(natives), folio: perCall(folios) },
    passed: unequal.length + slower.length + missing.length === 0,
    notes: [...unequal, ...slower, ...missing, ...aside]
  }
}
