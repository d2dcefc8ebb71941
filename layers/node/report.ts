/**
 * What the drop-in did in one thread, written when the thread ends.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import { threadId } from "node:worker_threads"
import type { PreparationSummary } from "./preparation.ts"

/**
 * What became of a module.
 *
 * - `patched`: its planned loops can run on several threads
 * - `native`: nothing of it can
 * - `pending`: it runs natively and is being prepared for the next start
 * - `unprepared`: it runs natively and was not analysed
 *
 * @category models
 * @since 0.1.0
 */
export type ModuleState = "patched" | "native" | "pending" | "unprepared"

/**
 * A module that the program compiled.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModuleReport {
  /** SHA-256 of its bytes in hexadecimal digits; `undefined` where another thread compiled it. */
  readonly sha256: string | undefined
  readonly bytes: number | undefined
  /** The script that compiled it first. */
  readonly from: string | undefined
  readonly state: ModuleState
  /** Why it is not `patched`; `undefined` where it is. */
  readonly reason: string | undefined
  readonly cacheHit: boolean
  /** What the analysis found; `undefined` where there was none. */
  readonly summary: PreparationSummary | undefined
  readonly compilations: number
  /** Instances whose exports were read. */
  readonly instances: number
}

/**
 * What the drop-in knows when the thread ends.
 *
 * @category models
 * @since 0.1.0
 */
export interface DropInFacts {
  readonly build: string
  readonly rung: string
  readonly cache: {
    /** `undefined`: there is none. */
    readonly directory: string | undefined
    /** What the directory refused last. */
    readonly reason: string | undefined
  }
  readonly modules: ReadonlyArray<ModuleReport>
  /** Modules beyond the number that is looked at. */
  readonly overflow: number
  /** What lanes and planned loops did; `undefined` where no instance was bound. */
  readonly engine: unknown
}

/**
 * The report of one thread.
 *
 * @category models
 * @since 0.1.0
 */
export interface DropInReport {
  readonly node: string
  readonly v8: string
  readonly platform: string
  readonly process: number
  /** 0 is the main thread. */
  readonly thread: number
  readonly command: ReadonlyArray<string>
  /** Why no loop ran on several threads; `undefined` where one did. */
  readonly serial: string | undefined
  /** `undefined` where the program compiled no module, or where Folio was off. */
  readonly facts: DropInFacts | undefined
}

/** Why nothing ran on several threads, from the modules alone. */
const reasonOf = (facts: DropInFacts | undefined): string | undefined => {
  if (facts === undefined) return "the program compiled no module"
  const patched = facts.modules.filter(({ state }) => state === "patched")
  if (patched.length > 0) {
    return patched.some(({ instances }) => instances > 0) ? undefined : "no module with a plan was instantiated"
  }
  return facts.modules.length === 1 ? facts.modules[0]?.reason : "no module has a loop that can run on several threads"
}

/**
 * The report of this thread as it is now.
 *
 * @param off why the program runs natively; `undefined` where it does not
 * @category constructors
 * @since 0.1.0
 */
export const makeReport = (facts: DropInFacts | undefined, off: string | undefined): DropInReport => ({
  node: process.versions.node,
  v8: process.versions.v8,
  platform: `${process.platform}-${process.arch}`,
  process: process.pid,
  thread: threadId,
  command: process.argv,
  serial: off ?? reasonOf(facts),
  facts
})

const percent = (count: number, of: number): string => of === 0 ? "" : ` (${Math.round(count / of * 100)} %)`

const moduleLines = (module: ModuleReport): ReadonlyArray<string> => {
  const { bytes, cacheHit, from, instances, reason, state, summary } = module
  const size = bytes === undefined ? "compiled in another thread" : `${bytes.toLocaleString("en")} bytes`
  const lines = [`  module ${from ?? "of unknown origin"}, ${size}: ${state}`]
  if (module.sha256 !== undefined) lines.push(`    sha256 ${module.sha256}`)
  if (reason !== undefined) lines.push(`    ${reason}`)
  if (summary !== undefined) {
    const { milliseconds, planned, reasons, refused } = summary
    const source = cacheHit ? "from the cache" : `prepared in ${milliseconds} ms`
    lines.push(`    ${planned} of ${planned + refused} loops planned, ${instances} instances, ${source}`)
    const top = Object.entries(reasons).sort(([, left], [, right]) => right - left).slice(0, 5)
    const shown = top.map(([code, count]) => `${code} ${count}${percent(count, refused)}`).join(", ")
    if (shown !== "") lines.push(`    not planned: ${shown}`)
  }
  return lines
}

/**
 * A report as people read it.
 *
 * @category writing
 * @since 0.1.0
 */
export const reportText = ({ command, facts, node, process, serial, thread }: DropInReport): string => {
  const where = `process ${process}${thread === 0 ? "" : `, thread ${thread}`}`
  const lines = [`folio: ${where}, Node.js ${node}: ${command.slice(1).join(" ")}`]
  if (serial !== undefined) lines.push(`  serial: ${serial}`)
  if (facts !== undefined) {
    const { cache, modules, overflow } = facts
    lines.push(`  build ${facts.build}, memory rung ${facts.rung}, cache ${cache.directory ?? "off"}`)
    if (cache.reason !== undefined) lines.push(`  cache: ${cache.reason}`)
    for (const module of modules) lines.push(...moduleLines(module))
    if (overflow > 0) lines.push(`  ${overflow} more modules were not looked at`)
  }
  return lines.join("\n")
}

/**
 * Writes the report of this thread: text to stderr for `-`, else JSON to a file, `%p` in its name being the process id.
 * Threads besides the main one write their own file, with their number behind the name, and only where they compiled
 * something. A report that cannot be written is a line on stderr.
 *
 * @category writing
 * @since 0.1.0
 */
export const writeReport = (destination: string, facts: DropInFacts | undefined, off: string | undefined): void => {
  const report = makeReport(facts, off)
  if (report.thread !== 0 && facts === undefined) return
  try {
    if (destination === "-") Fs.writeSync(2, `${reportText(report)}\n`)
    else {
      const file = destination.replaceAll("%p", String(report.process))
      Fs.writeFileSync(
        report.thread === 0 ? file : `${file}.thread-${report.thread}`,
        `${JSON.stringify(report, null, 2)}\n`
      )
    }
  } catch (error) {
    Fs.writeSync(2, `folio: the report cannot be written: ${error instanceof Error ? error.message : String(error)}\n`)
  }
}
