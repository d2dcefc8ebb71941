/**
 * The plumbing check: real modules through the decoder and the emitter and back into their programs.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { median, significant } from "../../programs/measure/statistics.ts"
import { Arm, type ArmOptions } from "./arm.ts"
import type { CorpusFolder } from "./folder.ts"
import { startupBound } from "./judge.ts"
import type { PlumbedModule } from "./plumbing-hook.ts"

const preload = pathToFileURL(join(import.meta.dirname, "plumbing-hook.ts")).href

/**
 * One program under the plumbing hook. `emitMs` is the time in decoder and emitter, all modules together; start-ups are
 * medians in milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface PlumbingVerdict {
  readonly name: string
  readonly equal: boolean
  readonly roundTrip: boolean
  readonly modules: number
  readonly bytes: number
  readonly emitMs: number
  readonly startup: { readonly native: number; readonly plumbed: number; readonly within: boolean }
  readonly passed: boolean
}

const startOnce = async (options: ArmOptions) => {
  const arm = await Arm.start(options)
  try {
    return { startupMs: arm.startupMs, digests: (await arm.calls(2)).digests }
  } finally {
    await arm.close()
  }
}

const checkProgram = async (
  folder: CorpusFolder,
  name: string,
  restarts: number,
  scratch: string
): Promise<PlumbingVerdict> => {
  const report = join(scratch, `${name}.json`)
  const starts: { native: Array<number>; plumbed: Array<number> } = { native: [], plumbed: [] }
  const native = { folder: folder.path, name }
  const checked = await startOnce({ ...native, preload, env: { CORPUS_PLUMBING: report } })
  const digests = new Set<string>(checked.digests)
  for (let turn = 0; turn < restarts; turn++) {
    for (const plumbed of turn % 2 === 0 ? [false, true] : [true, false]) {
      const { digests: outputs, startupMs } = await startOnce(plumbed ? { ...native, preload } : native)
      for (const digest of outputs) digests.add(digest)
      starts[plumbed ? "plumbed" : "native"].push(startupMs)
    }
  }
  const modules = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) as ReadonlyArray<PlumbedModule> : []
  const expected = folder.facts[name]?.digest
  const equal = digests.size === 1 && (expected === undefined || digests.has(expected))
  const roundTrip = modules.length > 0 && modules.every((module) => module.roundTrip)
  const [before, after] = [median(starts.native), median(starts.plumbed)]
  const within = after <= startupBound(before)
  return {
    name,
    equal,
    roundTrip,
    modules: modules.length,
    bytes: modules.reduce((total, module) => total + module.bytes, 0),
    emitMs: significant(modules.reduce((total, module) => total + module.milliseconds, 0)),
    startup: { native: significant(before), plumbed: significant(after), within },
    passed: equal && roundTrip && within
  }
}

/**
 * Checks every program of a folder; prints a JSON line each and, unless `json`, a closing line. False when one failed.
 *
 * @category running
 * @since 0.1.0
 */
export const plumbing = async (
  folder: CorpusFolder,
  options: { readonly restarts: number; readonly json: boolean }
): Promise<boolean> => {
  const scratch = mkdtempSync(join(tmpdir(), "folio-plumbing-"))
  let failed = 0
  try {
    for (const name of folder.names) {
      try {
        const verdict = await checkProgram(folder, name, options.restarts, scratch)
        if (!verdict.passed) failed++
        console.log(JSON.stringify(verdict))
      } catch (error) {
        failed++
        console.log(JSON.stringify({ name, passed: false, error: String(error) }))
      }
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
  if (!options.json) console.log(`\n${folder.names.length - failed} of ${folder.names.length} passed`)
  return failed === 0
}
