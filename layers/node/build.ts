/**
 * Which build of Folio this is, for what outlives a process: a patch that another build made is not used.
 *
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import { fileURLToPath } from "node:url"

/** The extension of this house's own files: TypeScript in the repository, JavaScript in the published package. */
const extension = import.meta.url.slice(import.meta.url.lastIndexOf("."))
const house = fileURLToPath(new URL("../../", import.meta.url))

/** Folders whose code decides what a patch holds. */
const compiler = ["src/binary", "src/analysis", "src/transform", "src/plan", "layers/node"]

const readVersion = (): string => {
  for (const folder of ["../../", "../../../"]) {
    try {
      const file = new URL(`${folder}package.json`, import.meta.url)
      const { name, version } = JSON.parse(Fs.readFileSync(file, "utf8")) as { name?: string; version?: string }
      if (name === "folio-wasm" && version !== undefined) return version
    } catch {
      // One folder up in the repository, two in the published package.
    }
  }
  return "0"
}

/** In the repository a file may change without changing its size; published files have no meaningful times. */
const timeOf = ({ mtimeMs }: Fs.Stats): number => extension === ".ts" ? mtimeMs : 0

const statistics = (): string => {
  const hash = createHash("sha256")
  for (const folder of compiler) {
    let names: ReadonlyArray<string> = []
    try {
      names = Fs.readdirSync(`${house}${folder}`).filter((name) => name.endsWith(extension)).sort()
    } catch {
      // Not in this build.
    }
    for (const name of names) {
      const file = Fs.statSync(`${house}${folder}/${name}`)
      hash.update(`${folder}/${name} ${file.size} ${timeOf(file)}\n`)
    }
  }
  return hash.digest("hex").slice(0, 8)
}

let known: string | undefined

/**
 * The version, and eight digits over sizes and times of the compiler's files, which tell apart what is being worked on.
 *
 * @category identity
 * @since 0.1.0
 */
export const buildIdentity = (): string => known ??= `${readVersion()}+${statistics()}`
