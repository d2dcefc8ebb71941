/**
 * Runs one instrument, states its figure, and says whether the claim holds.
 *
 *     npm run bench -- list
 *     npm run bench -- NAME [--check] [--quick] [--record]
 *     npm run bench -- regenerate [--check]
 *
 * A full run writes its raw samples and summary under `results/NAME`; a quick one does so only with `--record`.
 * `--check` turns a missed claim into exit code 1. `regenerate` rebuilds every summary from its raw samples;
 * with `--check` it only compares.
 */
import { existsSync, readdirSync } from "node:fs"
import { join, relative } from "node:path"
import { parseArgs } from "node:util"
import { significant } from "../programs/measure/statistics.ts"
import { type Check, type Instrument, type Summary, Unavailable } from "./lib/instrument.ts"
import { recordMachine } from "./lib/machine.ts"
import { regenerate, rounded, writeResult } from "./lib/record.ts"
import { root, sourceHashes } from "./lib/sources.ts"

const here = import.meta.dirname
const results = join(root, "results")

const names = (): Array<string> =>
  readdirSync(here)
    .filter((file) => file.endsWith(".ts") && file !== "main.ts")
    .map((file) => file.slice(0, -3))
    .sort()

const moduleFile = (name: string): string =>
  existsSync(join(here, `${name}.ts`)) ? join(here, `${name}.ts`) : join(here, name, "instrument.ts")

const load = async (name: string): Promise<Instrument> => {
  const module = await import(moduleFile(name)) as { readonly instrument?: Instrument }
  if (module.instrument === undefined) throw new TypeError(`bench/${name} exports no "instrument"`)
  return module.instrument
}

const shown = (value: unknown): unknown =>
  typeof value === "number"
    ? significant(value)
    : Array.isArray(value)
    ? value.map(shown)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shown(item)]))
    : value

const line = (check: Check): string => {
  const bound = [
    check.atLeast === undefined ? [] : [`at least ${check.atLeast}`],
    check.atMost === undefined ? [] : [`at most ${check.atMost}`]
  ].flat().join(", ")
  return `${check.met ? "met   " : "MISSED"} ${check.what}: ${significant(check.value)} (${bound})`
}

const print = (name: string, summary: Summary): void => {
  for (const [key, value] of Object.entries(summary.rows)) {
    console.log(`${key}: ${typeof value === "string" ? value : JSON.stringify(shown(value))}`)
  }
  for (const check of summary.checks) console.log(line(check))
  console.log(`${name}: ${significant(summary.figure)} ${summary.unit}`)
}

const measure = async (name: string, options: { quick: boolean; check: boolean; record: boolean }): Promise<void> => {
  const instrument = await load(name)
  console.log(`${name}: ${instrument.claim}`)
  const machine = recordMachine()
  const samples = rounded(await instrument.measure({ quick: options.quick }))
  const summary = instrument.summarise(samples)
  const record = machine()
  console.log(
    `machine: ${record.cpu}, ${record.cores} cores, Node ${record.node}, load ${record.load.before} → ${record.load.after}`
  )
  if (options.record || !options.quick) {
    const directory = join(results, name)
    writeResult(
      directory,
      {
        instrument: name,
        options: { quick: options.quick },
        machine: record,
        sources: sourceHashes(moduleFile(name)),
        samples
      },
      summary
    )
    console.log(`samples: ${relative(process.cwd(), directory)}`)
  }
  print(name, summary)
  if (options.check && !summary.checks.every((check) => check.met)) process.exitCode = 1
}

const main = async (): Promise<void> => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { check: { type: "boolean" }, quick: { type: "boolean" }, record: { type: "boolean" } }
  })
  const flags = { check: values.check ?? false, quick: values.quick ?? false, record: values.record ?? false }
  const [name] = positionals
  if (name === "list") {
    for (const known of names()) console.log(`${known.padEnd(12)} ${(await load(known)).claim}`)
  } else if (name === "regenerate") {
    const changed = await regenerate(
      results,
      async (file) => (await load(file.instrument)).summarise(file.samples),
      flags
    )
    for (const folder of changed) console.log(`${flags.check ? "differs" : "rewritten"}: ${relative(root, folder)}`)
    if (flags.check && changed.length > 0) process.exitCode = 1
  } else if (name !== undefined && names().includes(name)) {
    try {
      await measure(name, flags)
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      console.error(`${name}: ${error.message}`)
      process.exitCode = 1
    }
  } else {
    console.error(`usage: npm run bench -- NAME [--check] [--quick] [--record] | list | regenerate [--check]`)
    console.error(`instruments: ${names().join(", ")}`)
    process.exitCode = 2
  }
}

await main()
