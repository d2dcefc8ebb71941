/**
 * Runs real programs under Folio beside their native selves and judges them.
 *
 *     npm run corpus -- [--dir DIR] [NAMES…] [--json] [--rounds N] [--restarts N] [--record] [--dist] [--progress]
 *     npm run corpus -- --mode plumbing [--dir DIR] [NAMES…]
 *
 * A folder holds `package.json` with a lock, `harness/*.mjs` (default export `{ name, pkg, what, setup({ small }) }`,
 * where `setup` answers the function to call), and perhaps `facts.json`. Packages are installed on first use.
 * Prints one JSON line a program and then a table (`--json`: the lines alone); exit code 1 when a program is unequal
 * or slower. `--record` keeps raw samples and summaries under `results/corpus`, otherwise they go to a temporary
 * folder. The arm under test preloads `folio-wasm/register` from the sources, with `--dist` from the build.
 */
import { existsSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { recordMachine } from "../lib/machine.ts"
import { rounded, writeResult } from "../lib/record.ts"
import { root, sourceHashes } from "../lib/sources.ts"
import { type CorpusFolder, install, readFolder } from "./folder.ts"
import { instrument } from "./instrument.ts"
import { judge, type Verdict } from "./judge.ts"
import { plumbing } from "./plumbing.ts"
import { measureProgram } from "./program.ts"
import { table } from "./table.ts"

const register = (dist: boolean): string => {
  const file = join(root, dist ? "dist/programs/register.js" : "programs/register.ts")
  if (!existsSync(file)) throw new Error(`${file} is not there${dist ? `: run "npm run build" first` : ""}`)
  return pathToFileURL(file).href
}

const positive = (text: string | undefined, otherwise: number): number => {
  const value = text === undefined ? otherwise : Number(text)
  if (!Number.isInteger(value) || value < 1) throw new RangeError(`"${text}" is not a positive whole number`)
  return value
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    dir: { type: "string", default: import.meta.dirname },
    json: { type: "boolean", default: false },
    rounds: { type: "string" },
    restarts: { type: "string" },
    record: { type: "boolean", default: false },
    dist: { type: "boolean", default: false },
    mode: { type: "string", default: "folio" },
    progress: { type: "boolean", default: false }
  }
})

const log = (line: string): void => console.error(line)

/** With `--progress`: what is being done, a line each on stderr, for a program that shows it. */
const progress = (step: string): void => {
  if (values.progress) log(step)
}

const judgeAll = async (folder: CorpusFolder): Promise<boolean> => {
  const out = values.record ? join(root, "results/corpus") : mkdtempSync(join(tmpdir(), "folio-corpus-samples-"))
  const options = {
    folder: folder.path,
    preload: register(values.dist),
    restarts: positive(values.restarts, 5),
    rounds: positive(values.rounds, 11)
  }
  const sources = sourceHashes(join(root, "programs/register.ts"))
  const verdicts: Array<Verdict> = []
  const failures: Array<string> = []
  for (const name of folder.names) {
    const machine = recordMachine()
    try {
      const samples = rounded(await measureProgram({ ...options, name }, folder.facts[name]?.digest, progress))
      const directory = join(out, name)
      const { restarts, rounds } = options
      const file = {
        instrument: "corpus",
        options: { quick: false, restarts, rounds },
        machine: machine(),
        sources,
        samples
      }
      writeResult(directory, file, instrument.summarise(samples))
      const verdict = judge(samples)
      verdicts.push(verdict)
      console.log(JSON.stringify({ ...verdict, samples: join(directory, "samples.json") }))
    } catch (error) {
      failures.push(name)
      console.log(JSON.stringify({ name, equal: false, passed: false, error: String(error) }))
    }
  }
  if (!values.json) {
    console.log(`\n${table(verdicts)}`)
    const passed = verdicts.filter((verdict) => verdict.passed).length
    console.log(
      `\n${passed} of ${folder.names.length} passed${
        failures.length > 0 ? `; did not run: ${failures.join(", ")}` : ""
      }`
    )
  }
  return failures.length === 0 && verdicts.every((verdict) => verdict.passed)
}

const folder = readFolder(values.dir, positionals)
install(folder.path, log)
if (values.mode !== "folio" && values.mode !== "plumbing") throw new RangeError(`unknown mode "${values.mode}"`)
const passed = values.mode === "plumbing"
  ? await plumbing(folder, { restarts: positive(values.restarts, 5), json: values.json })
  : await judgeAll(folder)
if (!passed) process.exitCode = 1
