/**
 * What handing out costs on this machine, measured once by `npm run bench -- calibration` and kept beside the cache, in a
 * file named by processor model, CPU quota and threads. Where there is none, the defaults of the policy hold.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import type { Policy } from "../../src/lane/monitor.ts"
import { cpuBudget } from "./cpu.ts"

/**
 * Measured costs, in nanoseconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Calibration {
  /** Fork and join with lanes that poll. */
  readonly hotNs: number
  /** Fork and join with lanes that sleep. */
  readonly coldNs: number
  /** Work of one thread from which handing it out to lanes that poll is faster. */
  readonly breakEvenNs: number
}

/** Above these (ns) it was not the machine that was measured, but what else was going on. */
const MOST = { hotNs: 100_000, coldNs: 1_000_000, breakEvenNs: 200_000 } as const

const isPlausible = (value: unknown, most: number): value is number =>
  typeof value === "number" && value > 0 && value <= most

/**
 * Whether these can be the costs of a machine that did nothing else.
 *
 * @category reading
 * @since 0.1.0
 */
export const plausible = (measured: Partial<Calibration>): measured is Calibration =>
  isPlausible(measured.hotNs, MOST.hotNs) && isPlausible(measured.coldNs, MOST.coldNs) &&
  isPlausible(measured.breakEvenNs, MOST.breakEvenNs)

/**
 * The file of this machine below a cache's directory.
 *
 * @param width threads that work on a loop
 * @category locations
 * @since 0.1.0
 */
export const calibrationFile = (directory: string, width: number): string => {
  const model = Os.cpus()[0]?.model.trim() ?? "unknown"
  const quota = cpuBudget().quota ?? "none"
  const name = `${model}-quota-${quota}-threads-${width}`.replace(/[^\w.+-]+/g, "_")
  return Path.join(directory, "calibration", `${name}.json`)
}

/**
 * What was measured on this machine; `undefined`: nothing, or nothing that can be used.
 *
 * @category reading
 * @since 0.1.0
 */
export const readCalibration = (directory: string | undefined, width: number): Calibration | undefined => {
  if (directory === undefined) return undefined
  try {
    const content = JSON.parse(Fs.readFileSync(calibrationFile(directory, width), "utf8")) as Partial<Calibration>
    return plausible(content)
      ? { hotNs: content.hotNs, coldNs: content.coldNs, breakEvenNs: content.breakEvenNs }
      : undefined
  } catch {
    return undefined
  }
}

/**
 * Keeps what was measured; the file it is in. Throws what the file system throws.
 *
 * @category writing
 * @since 0.1.0
 */
export const writeCalibration = (directory: string, width: number, calibration: Calibration): string => {
  const file = calibrationFile(directory, width)
  const unfinished = `${file}.${process.pid}`
  Fs.mkdirSync(Path.dirname(file), { recursive: true, mode: 0o700 })
  try {
    Fs.writeFileSync(unfinished, `${JSON.stringify(calibration, undefined, 2)}\n`, { mode: 0o600 })
    Fs.renameSync(unfinished, file)
  } catch (error) {
    Fs.rmSync(unfinished, { force: true })
    throw error
  }
  return file
}

/**
 * The policy of a machine: measured costs in the place of the defaults, and the least work that is handed out a few times
 * the break-even, so that what is handed out gains and not only does not lose.
 *
 * @category reading
 * @since 0.1.0
 */
export const calibratedPolicy = (policy: Policy, calibration: Calibration | undefined): Policy =>
  calibration === undefined ? policy : {
    ...policy,
    hotNs: calibration.hotNs,
    coldNs: calibration.coldNs,
    minimumWorkNs: Math.max(LEAST_WORK_NS, MARGIN * calibration.breakEvenNs)
  }

/** Least work to hand out over the break-even. */
const MARGIN = 2.5

/** Below this the clock says too little about a loop. */
const LEAST_WORK_NS = 5_000
