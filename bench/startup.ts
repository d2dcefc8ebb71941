/**
 * What the drop-in costs at the start of a program whose modules it knows: from the start of the process until the
 * program can be called, natively and with the drop-in in alternating rounds. `learnt`: as it is after earlier runs, which
 * decide what is patched. `patched`: with whatever can be patched, as before the first run has ended. And how long
 * the largest module takes to open, beside plain compilation.
 *
 * The published package is measured, so it is built first.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { median, significant } from "../programs/measure/statistics.ts"
import { Arm } from "./corpus/arm.ts"
import { install, readFolder } from "./corpus/folder.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { root } from "./lib/sources.ts"
import type { StartupRecord } from "./lib/startup-child.ts"

type ArmName = "native" | "learnt" | "patched"
type OpenName = "plain" | "learnt" | "patched"

/**
 * Raw samples: milliseconds by program and arm, and those of opening the largest module.
 *
 * @category models
 * @since 0.1.0
 */
export interface StartupSamples {
  readonly programs: Readonly<Record<string, Readonly<Record<ArmName, ReadonlyArray<number>>>>>
  readonly open: { readonly bytes: number } & Readonly<Record<OpenName, ReadonlyArray<StartupRecord>>>
}

const CORPUS = join(import.meta.dirname, "corpus")
const CHILD = join(import.meta.dirname, "lib", "startup-child.ts")
const REGISTER = pathToFileURL(join(root, "dist/programs/register.js")).href
const COLLECT = pathToFileURL(join(CORPUS, "modules-hook.ts")).href
const LARGEST = "php-loop"
const QUICK = ["as-sha256", "multimath-unsharp", "photon-blur", LARGEST]

/** Earlier runs, and milliseconds of calls in each: the first tells which loops pay, the second prepares these alone. */
const EARLIER_RUNS = 2
const EARLIER_MS = 3_000

/** What start-up may cost: five per cent, or ten milliseconds where that is more. */
const within = (native: number, measured: number): boolean => measured - native <= Math.max(0.05 * native, 10)

const start = async (name: string, env: Readonly<Record<string, string>> | undefined, ms = 0): Promise<number> => {
  const arm = await Arm.start({ folder: CORPUS, name, ...(env === undefined ? {} : { preload: REGISTER, env }) })
  try {
    for (let done = 0; done < ms;) done += (await arm.calls(1)).wallMs
    return arm.startupMs
  } finally {
    await arm.close()
  }
}

const measureProgram = async (
  name: string,
  cache: string,
  rounds: number
): Promise<Record<ArmName, Array<number>>> => {
  const common = { FOLIO_CACHE: cache, FOLIO_WORKERS: "2" }
  const arms: Readonly<Record<ArmName, Readonly<Record<string, string>> | undefined>> = {
    native: undefined,
    learnt: common,
    patched: { ...common, FOLIO_LEARN: "0" }
  }
  for (let run = 0; run < EARLIER_RUNS; run++) await start(name, { ...common, FOLIO_PREPARE: "wait" }, EARLIER_MS)
  const samples: Record<ArmName, Array<number>> = { native: [], learnt: [], patched: [] }
  const names = Object.keys(arms) as Array<ArmName>
  for (let round = 0; round < rounds; round++) {
    for (let k = 0; k < names.length; k++) {
      const arm = names[(round + k) % names.length]
      samples[arm].push(await start(name, arms[arm]))
    }
  }
  return samples
}

const openOnce = (file: string, env: Readonly<Record<string, string>> | undefined): StartupRecord => {
  const preload = env === undefined ? [] : ["--import", REGISTER]
  const child = spawnSync(process.execPath, ["--no-warnings", ...preload, CHILD, file], {
    encoding: "utf8",
    env: { ...process.env, ...env }
  })
  if (child.status !== 0) throw new Error(child.stderr)
  return JSON.parse(child.stdout) as StartupRecord
}

/** Opens the largest module that a program compiles; `cache` knows what earlier runs have taught of it. */
const measureOpen = async (scratch: string, cache: string, rounds: number): Promise<StartupSamples["open"]> => {
  const folder = join(scratch, "modules")
  mkdirSync(folder)
  const arm = await Arm.start({ folder: CORPUS, name: LARGEST, preload: COLLECT, env: { CORPUS_MODULES: folder } })
  await arm.close()
  const sizes = readdirSync(folder).map((name) => [statSync(join(folder, name)).size, join(folder, name)] as const)
  const [bytes, file] = sizes.reduce((largest, one) => one[0] > largest[0] ? one : largest)
  const learnt = { FOLIO_CACHE: cache, FOLIO_WORKERS: "2" }
  const plain: Array<StartupRecord> = []
  const learntOnes: Array<StartupRecord> = []
  const patched: Array<StartupRecord> = []
  for (let round = 0; round < rounds; round++) {
    plain.push(openOnce(file, undefined))
    learntOnes.push(openOnce(file, learnt))
    patched.push(openOnce(file, { ...learnt, FOLIO_LEARN: "0" }))
  }
  return { bytes, plain, learnt: learntOnes, patched }
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<StartupSamples> = {
  claim:
    "with a warm cache a start takes at most 5 % or 10 ms longer, and opening a large module 1.35 times plain compilation",
  measure: async ({ quick }) => {
    const built = spawnSync(process.execPath, [join(root, "test/runtime/build.mjs")], { cwd: root, encoding: "utf8" })
    if (built.status !== 0) throw new Error(built.stderr)
    const { names } = readFolder(CORPUS, quick ? QUICK : [])
    install(CORPUS, (line) => console.error(line))
    const scratch = mkdtempSync(join(tmpdir(), "folio-startup-"))
    try {
      const cache = join(scratch, "cache")
      const programs: Record<string, Record<ArmName, Array<number>>> = {}
      for (const name of names) programs[name] = await measureProgram(name, cache, quick ? 5 : 15)
      return { programs, open: await measureOpen(scratch, cache, quick ? 5 : 15) }
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  },
  summarise: ({ open, programs }) => {
    const medians = Object.entries(programs).map(([name, arms]) =>
      [name, { native: median(arms.native), learnt: median(arms.learnt), patched: median(arms.patched) }] as const
    )
    const late = (arm: "learnt" | "patched"): number =>
      medians.filter(([, one]) => !within(one.native, one[arm])).length
    const ratio = (arm: OpenName): number =>
      median(open[arm].map(({ openMs }) => openMs)) / median(open.plain.map(({ openMs }) => openMs))
    return {
      figure: Math.max(...medians.map(([, { learnt, native }]) => learnt - native)),
      unit: "ms more until a program can be called, the largest of all programs",
      checks: [
        check("programs whose start is beyond the bound, with what earlier runs have taught", late("learnt"), {
          atMost: 0
        }),
        check("opening the largest module, beside plain compilation", ratio("learnt"), { atMost: 1.35 })
      ],
      rows: {
        "programs beyond the bound before anything was learnt": late("patched"),
        "largest module, bytes": open.bytes,
        "opening it before anything was learnt, beside plain compilation": significant(ratio("patched")),
        ...Object.fromEntries(medians.map(([name, { learnt, native, patched }]) => [name, {
          nativeMs: significant(native),
          learntMs: significant(learnt),
          patchedMs: significant(patched)
        }]))
      }
    }
  }
}
