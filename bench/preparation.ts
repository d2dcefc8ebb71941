/**
 * What it takes to prepare the modules of the corpus' programs: time for each megabyte of code, and memory. Each program
 * is prepared in a process that has prepared nothing before, as the background thread does it on a first run.
 *
 * Everything before the engine has compiled the compiler itself is slow, whatever there is to do: programs with less than
 * half a megabyte of code count as half a megabyte. What they took is in the rows.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { median, significant } from "../programs/measure/statistics.ts"
import { Arm } from "./corpus/arm.ts"
import { install, readFolder } from "./corpus/folder.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import type { PreparationRecord } from "./lib/preparation-child.ts"

/**
 * Raw samples: rounds by program.
 *
 * @category models
 * @since 0.1.0
 */
export type PreparationSamples = Readonly<Record<string, ReadonlyArray<PreparationRecord>>>

const CHILD = join(import.meta.dirname, "lib", "preparation-child.ts")
const CORPUS = join(import.meta.dirname, "corpus")
const preload = pathToFileURL(join(CORPUS, "modules-hook.ts")).href

/** Of all sizes and compilers; the whole corpus takes some minutes. */
const QUICK = [
  "bn128-fft",
  "esbuild-minify",
  "mp3-encode",
  "opencv-filter",
  "opus-encode",
  "photon-blur",
  "php-loop",
  "rapier-step",
  "resvg-render",
  "zstd-compress"
]

/** Bytes of code that a program counts as at least. */
const LEAST = 500_000

/** Runs a program once; the modules that it compiles stay in the folder. */
const collect = async (name: string, folder: string): Promise<void> => {
  const arm = await Arm.start({ folder: CORPUS, name, preload, env: { CORPUS_MODULES: folder } })
  try {
    await arm.calls(1)
  } finally {
    await arm.close()
  }
}

const prepareOnce = (files: ReadonlyArray<string>): PreparationRecord => {
  const child = spawnSync(process.execPath, ["--disable-warning=ExperimentalWarning", CHILD, ...files], {
    encoding: "utf8"
  })
  if (child.status !== 0) throw new Error(child.stderr)
  return JSON.parse(child.stdout) as PreparationRecord
}

const perMegabyte = (rounds: ReadonlyArray<PreparationRecord>): number =>
  median(rounds.map(({ codeBytes, wallMs }) => wallMs / (Math.max(codeBytes, LEAST) / 1e6)))

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<PreparationSamples> = {
  claim: "a megabyte of code is prepared within a second, and within 1.5 GB of memory",
  measure: async ({ quick }) => {
    const { names } = readFolder(CORPUS, quick ? QUICK : [])
    install(CORPUS, (line) => console.error(line))
    const scratch = mkdtempSync(join(tmpdir(), "folio-preparation-"))
    const samples: Record<string, Array<PreparationRecord>> = {}
    try {
      for (const name of names) {
        const folder = join(scratch, name)
        mkdirSync(folder)
        await collect(name, folder)
        const files = readdirSync(folder).sort().map((file) => join(folder, file))
        if (files.length === 0) throw new Error(`${name} has compiled no module`)
        samples[name] = Array.from({ length: quick ? 1 : 5 }, () => prepareOnce(files))
      }
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
    return samples
  },
  summarise: (samples) => {
    const programs = Object.entries(samples)
    const slowest = Math.max(...programs.map(([, rounds]) => perMegabyte(rounds)))
    const peak = Math.max(...programs.flatMap(([, rounds]) => rounds.map(({ peakMib }) => peakMib)))
    return {
      figure: slowest,
      unit: "ms for a megabyte of code, in the slowest program",
      checks: [
        check("milliseconds for a megabyte of code", slowest, { atMost: 1_000 }),
        check("most memory of a process, in MiB", peak, { atMost: 1_500 * 1e6 / 1024 ** 2 }),
        check(
          "programs whose preparation was ended by a budget",
          programs.filter(([, rounds]) => rounds.some(({ complete }) => !complete)).length,
          { atMost: 0 }
        )
      ],
      rows: Object.fromEntries(programs.map(([name, rounds]) => {
        const [{ codeBytes, loops, planned, unseen }] = rounds
        const ms = median(rounds.map(({ wallMs }) => wallMs))
        return [name, {
          codeMb: significant(codeBytes / 1e6),
          ms: significant(ms),
          compilerMs: significant(median(rounds.map(({ compilerMs }) => compilerMs))),
          cpuMs: significant(median(rounds.map(({ cpuMs }) => cpuMs))),
          msPerMb: significant(ms / (codeBytes / 1e6)),
          peakMib: significant(Math.max(...rounds.map(({ peakMib }) => peakMib))),
          loops,
          planned,
          unseen
        }]
      }))
    }
  }
}
