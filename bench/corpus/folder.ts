/**
 * A corpus folder: `package.json` with a lock, `harness/*.mjs`, and `facts.json` where somebody wrote down what is to
 * be expected.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

/**
 * What is known about a program beforehand. Other keys are left alone.
 *
 * @category models
 * @since 0.1.0
 */
export interface Facts {
  readonly pkg?: string
  /** sha256 of the harness' output. */
  readonly digest?: string
}

/**
 * A folder, ready to run.
 *
 * @category models
 * @since 0.1.0
 */
export interface CorpusFolder {
  readonly path: string
  readonly names: ReadonlyArray<string>
  readonly facts: Readonly<Record<string, Facts>>
}

/**
 * Reads a folder and checks that the programs asked for are there; none asked for means all.
 *
 * @category reading
 * @since 0.1.0
 */
export const readFolder = (path: string, wanted: ReadonlyArray<string>): CorpusFolder => {
  const folder = resolve(path)
  const all = readdirSync(join(folder, "harness"))
    .filter((file) => file.endsWith(".mjs"))
    .map((file) => file.slice(0, -".mjs".length))
    .sort()
  const unknown = wanted.filter((name) => !all.includes(name))
  if (unknown.length > 0) throw new RangeError(`no harness for ${unknown.join(", ")} in ${folder}`)
  const facts = join(folder, "facts.json")
  return {
    path: folder,
    names: wanted.length > 0 ? wanted : all,
    facts: existsSync(facts) ? JSON.parse(readFileSync(facts, "utf8")) as Record<string, Facts> : {}
  }
}

/**
 * Installs the folder's packages, exactly as locked, where they are not installed yet. One line says so.
 *
 * @category installing
 * @since 0.1.0
 */
export const install = (path: string, log: (line: string) => void): void => {
  const manifest = join(path, "package.json")
  if (existsSync(join(path, "node_modules")) || !existsSync(manifest)) return
  const { dependencies = {} } = JSON.parse(readFileSync(manifest, "utf8")) as { dependencies?: Record<string, string> }
  if (Object.keys(dependencies).length === 0) return
  const locked = existsSync(join(path, "package-lock.json"))
  log(`installing the packages of ${path} (first use)`)
  const { error, status } = spawnSync(
    "npm",
    // Peers that a package names but its own entry never loads would pull in whole frameworks.
    [locked ? "ci" : "install", "--legacy-peer-deps", "--no-audit", "--no-fund", "--loglevel=error"],
    { cwd: path, stdio: ["ignore", "ignore", "inherit"], shell: process.platform === "win32" }
  )
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`npm could not install the packages of ${path}`)
}
