/**
 * Compiles the modules of some files, once, and says how long it took:
 *
 *     node [--import REGISTER] bench/lib/startup-child.ts FILE…
 */
import { readFileSync } from "node:fs"

/**
 * What one process took.
 *
 * @category models
 * @since 0.1.0
 */
export interface StartupRecord {
  readonly modules: number
  /** Milliseconds from the start of the process to its first line. */
  readonly bootMs: number
  /** Milliseconds to compile every module. */
  readonly openMs: number
  /** Milliseconds of the process' threads until then. */
  readonly cpuMs: number
}

const bootMs = performance.now()
const modules = process.argv.slice(2).map((file) => readFileSync(file))
const start = performance.now()
const compiled = modules.map((bytes) => new WebAssembly.Module(bytes))
const openMs = performance.now() - start
const { system, user } = process.cpuUsage()
console.log(
  JSON.stringify({ modules: compiled.length, bootMs, openMs, cpuMs: (user + system) / 1000 } satisfies StartupRecord)
)
