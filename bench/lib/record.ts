/**
 * Results on disk: `samples.json` holds everything that was measured, `summary.json` what follows from it. The second
 * regenerates from the first byte for byte.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { significant } from "../../programs/measure/statistics.ts"
import type { RunOptions, Summary } from "./instrument.ts"
import type { MachineRecord } from "./machine.ts"

/**
 * The content of a `samples.json`.
 *
 * @category models
 * @since 0.1.0
 */
export interface SampleFile<Samples = unknown> {
  readonly instrument: string
  readonly options: RunOptions & Readonly<Record<string, unknown>>
  readonly machine: MachineRecord
  /** sha256 of every source the instrument reaches. */
  readonly sources: Readonly<Record<string, string>>
  readonly samples: Samples
}

const isPlain = (value: unknown): boolean => typeof value !== "object" || value === null

/** JSON with two-space indentation whose lists of plain values take one line, however long. */
const format = (value: unknown, indent: string): string => {
  if (isPlain(value)) return JSON.stringify(value) ?? "null"
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    if (value.every(isPlain)) return `[${value.map((item) => format(item, "")).join(", ")}]`
    return `[\n${value.map((item) => inner + format(item, inner)).join(",\n")}\n${indent}]`
  }
  const entries = Object.entries(value as object).filter(([, item]) => item !== undefined)
  if (entries.length === 0) return "{}"
  return `{\n${
    entries.map(([key, item]) => `${inner}${JSON.stringify(key)}: ${format(item, inner)}`).join(",\n")
  }\n${indent}}`
}

/**
 * The JSON text of a result file.
 *
 * @category formatting
 * @since 0.1.0
 */
export const toText = (value: unknown): string => `${format(value, "")}\n`

/**
 * Numbers with a fraction cut to seven significant digits, which is finer than any clock here: what is summarised is
 * then exactly what is stored.
 *
 * @category formatting
 * @since 0.1.0
 */
export const rounded = <A>(value: A): A =>
  JSON.parse(
    JSON.stringify(value),
    (_key, item: unknown) => typeof item === "number" && !Number.isInteger(item) ? significant(item, 7) : item
  ) as A

const summaryText = (summary: Summary): string =>
  toText(rounded({ ...summary, passed: summary.checks.every((check) => check.met) }))

/**
 * Writes `samples.json` and `summary.json` into `directory`.
 *
 * @category recording
 * @since 0.1.0
 */
export const writeResult = (directory: string, file: SampleFile, summary: Summary): void => {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, "samples.json"), toText(file))
  writeFileSync(join(directory, "summary.json"), summaryText(summary))
}

/**
 * Summarises every `samples.json` below `directory` anew and writes the summaries. With `check` nothing is written.
 * Returns the folders whose stored summary differed.
 *
 * @category recording
 * @since 0.1.0
 */
export const regenerate = async (
  directory: string,
  summarise: (file: SampleFile) => Promise<Summary>,
  options: { readonly check: boolean }
): Promise<Array<string>> => {
  const folders = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name === "samples.json")
    .map((entry) => entry.parentPath)
    .sort()
  const changed: Array<string> = []
  for (const folder of folders) {
    const file = JSON.parse(readFileSync(join(folder, "samples.json"), "utf8")) as SampleFile
    const text = summaryText(await summarise(file))
    let stored: string | undefined
    try {
      stored = readFileSync(join(folder, "summary.json"), "utf8")
    } catch {
      stored = undefined
    }
    if (stored === text) continue
    changed.push(folder)
    if (!options.check) writeFileSync(join(folder, "summary.json"), text)
  }
  return changed
}
