/**
 * A package beside its native self: the corpus runner over `test/consumers`, as a command. It drives two native
 * processes and one under drop-in in alternating rounds, and compares every output, memory and global.
 *
 * @since 0.1.0
 */
import { spawn } from "node:child_process"
import { readFileSync, rmSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import type { DispatchRecord } from "../../src/lane/dispatcher.ts"
import type { Span } from "./timeline.ts"

const runner = fileURLToPath(new URL("../../bench/corpus/main.ts", import.meta.url))
const packages = fileURLToPath(new URL("../../test/consumers", import.meta.url))

/** A line of the runner, as far as the demo reads it. */
interface Line {
  readonly error?: string
  readonly equal: boolean
  readonly calls: number
  readonly digest: string | undefined
  readonly ratio: number
  readonly aaLow: number
  readonly cpuRatio: number
  readonly dispatches: number
  readonly plan: {
    readonly planned: number
    readonly refused: number
    readonly reasons: Readonly<Record<string, number>>
  }
  readonly callMs: { readonly native: number; readonly folio: number }
  readonly firstCall: { readonly native: number; readonly folio: number }
  readonly notes: ReadonlyArray<string>
  readonly samples: string
}

/** What the demo reads of the raw samples. */
interface Samples {
  readonly samples: {
    readonly restarts: ReadonlyArray<{
      readonly arms: { readonly folio: { readonly last: Span } }
      readonly report: { readonly serial?: string; readonly timeline: ReadonlyArray<DispatchRecord> }
    }>
  }
}

/**
 * What became of a package.
 *
 * @category models
 * @since 0.1.0
 */
export interface Trial extends Line {
  /** The last call under drop-in and the dispatches of that time. */
  readonly call: Span
  readonly dispatched: ReadonlyArray<DispatchRecord>
  /** Why nothing ran on lanes. */
  readonly serial: string | undefined
}

/**
 * Runs one package. `progress` hears what is being done.
 *
 * @category running
 * @since 0.1.0
 */
export const tryPackage = async (name: string, progress: (step: string) => void): Promise<Trial> => {
  const child = spawn(
    process.execPath,
    [runner, "--dir", packages, name, "--json", "--progress", "--restarts", "2", "--rounds", "9"],
    { stdio: ["ignore", "pipe", "pipe"] }
  )
  let output = ""
  let errors = ""
  child.stdout.on("data", (chunk: Buffer) => output += chunk.toString())
  child.stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-2000)
    progress(chunk.toString().trim().split("\n").at(-1)!)
  })
  await new Promise((resolve, reject) => child.once("close", resolve).once("error", reject))
  const text = output.split("\n").find((line) => line.startsWith("{"))
  if (text === undefined) throw new Error(`the runner printed no result for ${name}: ${errors}`)
  const line = JSON.parse(text) as Line
  if (line.error !== undefined) throw new Error(`${name}: ${line.error}`)
  const { samples } = JSON.parse(readFileSync(line.samples, "utf8")) as Samples
  rmSync(dirname(dirname(line.samples)), { recursive: true, force: true })
  const { arms, report } = samples.restarts.at(-1)!
  return { ...line, call: arms.folio.last, dispatched: report.timeline, serial: report.serial }
}
