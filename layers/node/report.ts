/**
 * What the drop-in did in one thread, written when the thread ends. A serial run always says why.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import { isMainThread, threadId } from "node:worker_threads"
import type { LoopReport } from "../../src/lane/counts.ts"
import type { EngineReport, InstanceReport } from "./engine.ts"
import { paysOf } from "./history.ts"
import type { PreparationSummary } from "./preparation.ts"
import { reportOnSignals } from "./report-signals.ts"
import { reportText } from "./report-text.ts"

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
  /** Why it is not `patched`, or why nothing of it was handed out; `undefined` where something was. */
  readonly reason: string | undefined
  readonly cacheHit: boolean
  /** What the analysis found; `undefined` where there was none. */
  readonly summary: PreparationSummary | undefined
  readonly compilations: number
  /** Instances whose exports were read. */
  readonly instances: number
  /** What its instances did; `undefined` where none was bound. */
  readonly execution: ModuleExecution | undefined
}

/**
 * What the instances of a module did, added up.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModuleExecution {
  readonly rung: string | undefined
  /** Most threads that worked on one loop, the program's own counted; 0 where no loop was handed out. */
  readonly lanesUsed: number
  readonly dispatches: number
  readonly iterations: number
  readonly aborts: number
  /** Whether lanes paid for the program, as far as it was judged. */
  readonly pays: boolean | undefined
  /** Executions of planned loops that stayed native, by reason. */
  readonly declined: Readonly<Record<string, number>>
  /** Planned loops that were reached, by the number of their plan. */
  readonly loops: ReadonlyArray<LoopReport>
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
  /** What lanes did; `undefined` where no instance was bound. */
  readonly engine: Omit<EngineReport, "instances"> | undefined
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

const addTo = (into: Record<string, number>, from: Readonly<Record<string, number>>): void => {
  for (const [name, count] of Object.entries(from)) into[name] = (into[name] ?? 0) + count
}

/** The same loop in two instances. */
const joined = (left: LoopReport, right: LoopReport): LoopReport => {
  const declined = { ...left.declined }
  addTo(declined, right.declined)
  return {
    ...left,
    dispatches: left.dispatches + right.dispatches,
    iterations: left.iterations + right.iterations,
    aborts: left.aborts + right.aborts,
    declined,
    nsPerUnit: right.nsPerUnit ?? left.nsPerUnit
  }
}

const wasReached = ({ aborts, declined, dispatches }: LoopReport): boolean =>
  dispatches + aborts > 0 || Object.keys(declined).length > 0

/**
 * Adds up the instances of one module.
 *
 * @category constructors
 * @since 0.1.0
 */
export const addUp = (instances: ReadonlyArray<InstanceReport>): ModuleExecution | undefined => {
  if (instances.length === 0) return undefined
  const loops = new Map<number, LoopReport>()
  const declined: Record<string, number> = {}
  for (const loop of instances.flatMap(({ loops }) => loops).filter(wasReached)) {
    const known = loops.get(loop.plan)
    loops.set(loop.plan, known === undefined ? loop : joined(known, loop))
    addTo(declined, loop.declined)
  }
  const sum = (pick: (report: InstanceReport) => number): number => instances.reduce((n, one) => n + pick(one), 0)
  return {
    rung: instances.find(({ rung }) => rung !== undefined)?.rung,
    lanesUsed: instances.reduce((most, one) => Math.max(most, one.lanesUsed), 0),
    dispatches: sum(({ dispatches }) => dispatches),
    iterations: sum(({ iterations }) => iterations),
    aborts: sum(({ aborts }) => aborts),
    pays: paysOf(instances),
    declined,
    loops: [...loops.values()].sort((left, right) => left.plan - right.plan)
  }
}

/** The dispatcher's words for an execution that stays native, as sentences. */
const declinedBecause: Readonly<Record<string, string>> = {
  small: "too little work in one execution",
  cold: "too little work to wake sleeping lanes for",
  evidence: "not enough work seen yet",
  suspended: "it did not gain before",
  resting: "lanes did not pay for the program",
  trial: "the program was timed without lanes",
  starting: "lanes were still starting",
  memory: "the memory could not be mapped, or too little work was seen to pay for it",
  load: "a lane refused the loop",
  snapshot: "too much memory to save",
  compile: "the engine did not compile its code for several threads",
  windows: "a lane had no room for its scratch memory",
  stack: "the stack was nearly full",
  "no-lanes": "there were no lanes"
}

/**
 * Why a module with planned loops did nothing on several threads; `undefined` where it did.
 *
 * @param count instances of it whose exports were read
 * @param instances those that the engine was given
 * @category constructors
 * @since 0.1.0
 */
export const idleReason = (
  count: number,
  execution: ModuleExecution | undefined,
  instances: ReadonlyArray<InstanceReport>
): string | undefined => {
  if (count === 0) return "it was not instantiated"
  if (execution === undefined) return "its planned loops did too little for threads to be started"
  if (execution.dispatches > 0) return undefined
  const unbound = instances.find(({ native, unmapped }) => (native ?? unmapped) !== undefined)
  if (unbound !== undefined) return unbound.native ?? unbound.unmapped
  const [most] = Object.entries(execution.declined).sort(([, left], [, right]) => right - left)
  if (most === undefined) return "no planned loop ran long enough to be considered"
  const [why, executions] = most
  return `${declinedBecause[why] ?? why} (${executions} of the executions that were considered)`
}

/** Why nothing ran on several threads, from what is known of the modules. */
const serialReason = (facts: DropInFacts | undefined): string | undefined => {
  if (facts === undefined || facts.modules.length === 0) return "the program compiled no module"
  if ((facts.engine?.dispatches ?? 0) > 0) return undefined
  const [only, ...others] = facts.modules.some(({ state }) => state === "patched")
    ? facts.modules.filter(({ state }) => state === "patched")
    : facts.modules
  return others.length === 0
    ? only?.reason
    : `${others.length + 1} modules, each for a reason of its own; the first: ${only?.reason}`
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
  serial: off ?? serialReason(facts),
  facts
})

/** A line on stderr, where there is one. */
const complain = (line: string): void => {
  try {
    Fs.writeSync(2, `${line}\n`)
  } catch {
    // Nobody reads it.
  }
}

/**
 * Writes what is wrong with the settings, once a process.
 *
 * @category writing
 * @since 0.1.0
 */
export const writeProblems = (problems: ReadonlyArray<string>): void => {
  if (isMainThread) { for (const line of problems) complain(line) }
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
  if (report.thread !== 0 && (facts === undefined || facts.modules.length === 0)) return
  try {
    if (destination === "-") Fs.writeSync(2, `${reportText(report)}\n`)
    else {
      const file = destination.replaceAll("%p", String(report.process))
      const name = report.thread === 0 ? file : `${file}.thread-${report.thread}`
      Fs.writeFileSync(name, `${JSON.stringify(report, null, 2)}\n`)
    }
  } catch (error) {
    complain(`folio: the report cannot be written: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/**
 * Runs something once, when this thread ends or a signal ends the process.
 *
 * @category writing
 * @since 0.1.0
 */
export const whenItEnds = (run: () => void): void => {
  process.on("exit", run)
  reportOnSignals(run)
}
