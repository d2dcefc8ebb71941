/**
 * Measures one program: native twice and under Folio, as long-lived processes driven in turn.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Arm, type ArmOptions } from "./arm.ts"
import { type ArmName, armNames, eachArm } from "./arms.ts"
import { differences } from "./compare.ts"
import type { CallSpan } from "./protocol.ts"
import { type FolioReport, readReport } from "./report.ts"
import { compareStates, type StateComparison } from "./states.ts"

/**
 * How to measure.
 *
 * @category models
 * @since 0.1.0
 */
export interface MeasureOptions {
  readonly folder: string
  readonly name: string
  /** The module that makes an arm a Folio arm. */
  readonly preload: string
  readonly restarts: number
  readonly rounds: number
}

/**
 * What one arm took in one restart. A sample is `callsPerSample` calls; times are per sample, in milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface ArmRestart {
  readonly startupMs: number
  readonly firstCallMs: number
  readonly wallMs: ReadonlyArray<number>
  readonly cpuMs: ReadonlyArray<number>
  readonly digests: ReadonlyArray<string>
  /** The last timed call, on the clock of the report's timeline. */
  readonly last: CallSpan
}

/**
 * Three processes from start to end. `stateDiffers` names memories and globals unlike in native A and Folio at the
 * end; `nativeDiffers` those in which the two native arms are unlike each other.
 *
 * @category models
 * @since 0.1.0
 */
export interface Restart {
  readonly arms: Readonly<Record<ArmName, ArmRestart>>
  readonly nativeDiffers: ReadonlyArray<string>
  readonly stateDiffers: ReadonlyArray<string>
  readonly report: FolioReport
}

/**
 * Everything measured about one program.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProgramSamples {
  readonly name: string
  readonly expected: string | undefined
  readonly callsPerSample: number
  readonly warmupCalls: number
  readonly restarts: ReadonlyArray<Restart>
  readonly states: StateComparison
}

const sampleMs = 10
const warmupMs = 500

/** The order of the arms, another one each time. */
const rotated = (turn: number): Array<ArmName> =>
  armNames.map((_, index) => armNames[(index + turn) % armNames.length]!)

interface Plan {
  readonly callsPerSample: number
  readonly warmupCalls: number
}

/** How many calls fill a sample and a warm-up, from what native takes. Every arm gets the same number of calls. */
const plan = async (options: ArmOptions): Promise<Plan> => {
  const arm = await Arm.start(options)
  try {
    const first = await arm.calls(1)
    const warmupCalls = Math.min(200, Math.max(3, Math.ceil(warmupMs / first.wallMs)))
    await arm.calls(warmupCalls)
    const timed = await arm.calls(Math.max(2, Math.ceil(sampleMs / first.wallMs)))
    const perCall = timed.wallMs / Math.max(2, Math.ceil(sampleMs / first.wallMs))
    return { callsPerSample: Math.max(1, Math.ceil(sampleMs / perCall)), warmupCalls }
  } finally {
    await arm.close()
  }
}

/** Options of the three arms; the Folio arm writes its report to `reportFile`. */
const armOptions =
  (options: MeasureOptions, cache: string, reportFile: string, settled: boolean) => (name: ArmName): ArmOptions => ({
    folder: options.folder,
    name: options.name,
    settled,
    ...(name === "folio"
      ? {
        preload: options.preload,
        env: { FOLIO_PREPARE: "wait", FOLIO_CACHE: cache, FOLIO_REPORT: reportFile }
      }
      : {})
  })

const measureRestart = async (
  of: (name: ArmName) => ArmOptions,
  plan: Plan,
  turn: number,
  rounds: number,
  progress: (step: string) => void
): Promise<Omit<Restart, "report">> => {
  const started: Array<Arm> = []
  try {
    const firsts = new Map<ArmName, number>()
    const lasts = new Map<ArmName, CallSpan>()
    const digests = new Map<ArmName, Set<string>>(armNames.map((name) => [name, new Set()]))
    const arms = await eachArm(rotated(turn), async (name) => {
      const arm = await Arm.start(of(name))
      started.push(arm)
      const first = await arm.calls(1)
      firsts.set(name, first.wallMs)
      for (const digest of first.digests) digests.get(name)!.add(digest)
      return arm
    })
    const samples = Object.fromEntries(
      armNames.map((name) => [name, { wallMs: [] as Array<number>, cpuMs: [] as Array<number> }])
    ) as Record<ArmName, { wallMs: Array<number>; cpuMs: Array<number> }>
    for (let round = -1; round < rounds; round++) {
      progress(round < 0 ? "warming up" : `round ${round + 1} of ${rounds}`)
      await eachArm(rotated(turn + round + 1), async (name) => {
        const answer = await arms[name].calls(round < 0 ? plan.warmupCalls : plan.callsPerSample)
        for (const digest of answer.digests) digests.get(name)!.add(digest)
        if (round < 0) return
        samples[name].wallMs.push(answer.wallMs)
        samples[name].cpuMs.push(answer.cpuMs)
        lasts.set(name, answer.last)
      })
    }
    const states = await eachArm(armNames, (name) => arms[name].state())
    return {
      arms: await eachArm(armNames, async (name) => ({
        startupMs: arms[name].startupMs,
        firstCallMs: firsts.get(name)!,
        ...samples[name],
        digests: [...digests.get(name)!],
        last: lasts.get(name)!
      })),
      nativeDiffers: differences(states.nativeA, states.nativeB),
      stateDiffers: differences(states.nativeA, states.folio)
    }
  } finally {
    for (const arm of started) await arm.close()
  }
}

/**
 * Measures one program. The first restart finds an empty cache, the others what it left.
 *
 * @category running
 * @since 0.1.0
 */
export const measureProgram = async (
  options: MeasureOptions,
  expected: string | undefined,
  progress: (step: string) => void = () => {}
): Promise<ProgramSamples> => {
  const scratch = mkdtempSync(join(tmpdir(), "folio-corpus-"))
  try {
    const cache = join(scratch, "cache")
    progress("counting calls")
    const counts = await plan({ folder: options.folder, name: options.name })
    const restarts: Array<Restart> = []
    for (let turn = 0; turn < options.restarts; turn++) {
      const file = join(scratch, `report-${turn}.json`)
      const each = (step: string): void => progress(`restart ${turn + 1} of ${options.restarts}, ${step}`)
      const measured = await measureRestart(armOptions(options, cache, file, false), counts, turn, options.rounds, each)
      restarts.push({ ...measured, report: readReport(file) })
    }
    progress("comparing memories and globals")
    const file = join(scratch, "report-states.json")
    const calls = counts.warmupCalls + counts.callsPerSample
    const states = await compareStates(armOptions(options, cache, file, true), calls, scratch)
    return {
      name: options.name,
      expected,
      ...counts,
      restarts,
      states: { ...states, dispatches: readReport(file).dispatches }
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
