/**
 * What each mechanism adds: programs that other people built and shipped, prepared with more and more mechanisms, and
 * the share of their time that could then be shared.
 *
 * The programs are those of the corpus, or, where `CORPUS_DIR` names one, of another folder of its shape. Everything runs
 * on one thread (see `ablation/preload.ts`), so the shares depend little on what else a machine does.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { MECHANISMS } from "../src/plan/mechanisms.ts"
import type { Ablated } from "./ablation/preload.ts"
import { Arm } from "./corpus/arm.ts"
import { install, readFolder } from "./corpus/folder.ts"
import { check, type Instrument } from "./lib/instrument.ts"

/** Share of the time from which two threads gain 1.1 times: 1 / (1 − share / 2). */
const ACCELERATED = 0.182

/** Share of the time from which a program counts as extracted. */
const EXTRACTED = 0.01

/** Milliseconds of calls of one program in one configuration. */
const CALLS_MS = 400

/** Programs of a quick run: one whose loops need nothing, and some that need several mechanisms. */
const QUICK = ["bn128-fft", "jsquash-magic", "jsquash-resize", "multimath-unsharp", "xxhash-h64"]

/**
 * A program in one configuration.
 *
 * @category models
 * @since 0.1.0
 */
export interface AblationRun extends Ablated {
  readonly program: string
  /** How many mechanisms were there, the first ones of the list. */
  readonly mechanisms: number
  readonly callsMs: number
  /** True when all calls gave the output that a native run gives. */
  readonly equal: boolean
}

/**
 * Raw samples.
 *
 * @category models
 * @since 0.1.0
 */
export interface AblationSamples {
  readonly mechanisms: ReadonlyArray<string>
  readonly programs: ReadonlyArray<string>
  readonly runs: ReadonlyArray<AblationRun>
  /** Programs that did not run, natively or prepared, and why. */
  readonly failures: Readonly<Record<string, string>>
}

const preload = pathToFileURL(join(import.meta.dirname, "ablation/preload.ts")).href

/** Calls a program for some time, natively where `mechanisms` is undefined. */
const run = async (
  folder: string,
  program: string,
  mechanisms: number | undefined,
  directory: string
): Promise<Ablated & { readonly callsMs: number; readonly digests: ReadonlyArray<string> }> => {
  const report = join(directory, "report.json")
  const env = { ABLATION_MECHANISMS: MECHANISMS.slice(0, mechanisms).join(), ABLATION_REPORT: report }
  const arm = await Arm.start(
    mechanisms === undefined ? { folder, name: program } : { folder, name: program, preload, env }
  )
  const digests = new Set<string>()
  let callsMs = 0
  try {
    for (let calls = 0; calls < (mechanisms === undefined ? 1 : 3) || (callsMs < CALLS_MS && calls < 1_000); calls++) {
      const answer = await arm.calls(1)
      callsMs += answer.wallMs
      for (const digest of answer.digests) digests.add(digest)
      if (mechanisms === undefined) break
    }
  } finally {
    await arm.close()
  }
  const nothing: Ablated = { apartMs: 0, dispatches: 0, aborts: 0, planned: 0, refused: 0, reasons: {} }
  const seen = mechanisms === undefined ? nothing : JSON.parse(readFileSync(report, "utf8")) as Ablated
  return { ...seen, callsMs, digests: [...digests] }
}

const measure: Instrument<AblationSamples>["measure"] = async ({ quick }) => {
  const own = process.env["CORPUS_DIR"]
  const folder = readFolder(own ?? join(import.meta.dirname, "corpus"), quick && own === undefined ? QUICK : [])
  install(folder.path, (line) => console.error(line))
  const directory = mkdtempSync(join(tmpdir(), "folio-ablation-"))
  const runs: Array<AblationRun> = []
  const failures: Record<string, string> = {}
  const steps = MECHANISMS.map((_, index) => index).filter((index) => !quick || index === 0)
  try {
    for (const program of folder.names) {
      try {
        const native = await run(folder.path, program, undefined, directory)
        for (const mechanisms of [...steps, MECHANISMS.length]) {
          const { digests, ...seen } = await run(folder.path, program, mechanisms, directory)
          const equal = digests.length === 1 && digests[0] === native.digests[0]
          runs.push({ program, mechanisms, ...seen, equal })
        }
      } catch (error) {
        failures[program] = String(error instanceof Error ? error.message : error).split("\n")[0]
      }
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
  return { mechanisms: MECHANISMS, programs: folder.names, runs, failures }
}

const shareOf = ({ apartMs, callsMs }: AblationRun): number => callsMs > 0 ? Math.min(1, apartMs / callsMs) : 0

const percent = (share: number): string => `${Math.round(100 * share)} %`

const summarise: Instrument<AblationSamples>["summarise"] = ({ failures, mechanisms, programs, runs }) => {
  const all = runs.filter((one) => one.mechanisms === mechanisms.length)
  const won = (count: number): ReadonlyArray<AblationRun> =>
    runs.filter((one) => one.mechanisms === count && shareOf(one) >= ACCELERATED)
  const steps = [...new Set(runs.map((one) => one.mechanisms))].sort((x, y) => x - y)
  const table = Object.fromEntries(steps.map((count, index) => {
    const before = index === 0 ? [] : won(steps[index - 1]).map(({ program }) => program)
    const now = won(count)
    const name = count === 0
      ? "counted loops alone"
      : `+ ${mechanisms.slice(index === 0 ? 0 : steps[index - 1], count).join(", ")}`
    const added = now.filter(({ program }) => !before.includes(program)).map((one) =>
      `${one.program} ${percent(shareOf(one))}`
    )
    const lost = before.filter((program) => !now.some((one) => one.program === program)).map((program) => `−${program}`)
    return [name, `${now.length} won${added.length + lost.length > 0 ? `: ${[...added, ...lost].join(", ")}` : ""}`]
  }))
  const blockers: Record<string, number> = {}
  for (const { reasons } of all) {
    for (const [code, n] of Object.entries(reasons)) blockers[code] = (blockers[code] ?? 0) + n
  }
  const sorted = Object.entries(blockers).sort(([, x], [, y]) => y - x)
  const accelerated = all.filter((one) => shareOf(one) >= ACCELERATED).length
  return {
    figure: accelerated,
    unit: `of ${programs.length} programs have ${percent(ACCELERATED)} of their time and more in loops that run apart`,
    checks: [
      check(
        "programs that did not run, or gave another output",
        programs.length - new Set(all.filter(({ equal }) => equal).map(({ program }) => program)).size,
        { atMost: 0 }
      ),
      check("runs with another output", runs.filter(({ equal }) => !equal).length, { atMost: 0 }),
      check("programs that mechanisms add", accelerated - won(0).length, { atLeast: 1 })
    ],
    rows: {
      ...table,
      denominators: {
        built: programs.length - Object.keys(failures).length,
        accepted: all.filter(({ planned }) => planned > 0).length,
        extracted: all.filter((one) => shareOf(one) >= EXTRACTED).length,
        accelerated
      },
      "share of the time in loops that run apart": Object.fromEntries(
        all.filter((one) => shareOf(one) >= EXTRACTED).sort((x, y) => shareOf(y) - shareOf(x)).map((
          one
        ) => [one.program, percent(shareOf(one))])
      ),
      "loops that stay serial, by first reason": Object.fromEntries(sorted),
      ...(Object.keys(failures).length > 0 ? { failures } : {})
    }
  }
}

/** @category instruments @since 0.1.0 */
export const instrument: Instrument<AblationSamples> = {
  claim: "each mechanism adds programs whose time can be shared, and none changes an output",
  measure,
  summarise
}
