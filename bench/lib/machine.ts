/**
 * What a figure was measured on: without it a number cannot be compared with another one.
 */
import { readFileSync } from "node:fs"
import * as os from "node:os"
import { cpuQuota } from "../../layers/node/cpu.ts"

/**
 * The machine and its software. `load` is the one-minute load average before and after the run.
 *
 * @category models
 * @since 0.1.0
 */
export interface MachineRecord {
  readonly cpu: string
  readonly cores: number
  /** Cores that the scheduler lets this process use at once, after quota; undefined where there is no quota. */
  readonly quota: number | undefined
  readonly governor: string | undefined
  readonly memoryMiB: number
  readonly system: string
  readonly node: string
  readonly v8: string
  readonly load: { readonly before: number; readonly after: number }
}

const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8").trim()
  } catch {
    return undefined
  }
}

const load = (): number => Number(os.loadavg()[0]!.toFixed(2))

/**
 * Begins a record; the returned function completes it after the run.
 *
 * @category recording
 * @since 0.1.0
 */
export const recordMachine = (): () => MachineRecord => {
  const before = load()
  return () => ({
    cpu: os.cpus()[0]?.model.trim() ?? "unknown",
    cores: os.availableParallelism(),
    quota: cpuQuota(),
    governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    memoryMiB: Math.round(os.totalmem() / 2 ** 20),
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    node: process.versions.node,
    v8: process.versions.v8,
    load: { before, after: load() }
  })
}
