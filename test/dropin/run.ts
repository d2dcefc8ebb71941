/**
 * Programs in processes of their own, natively and with the drop-in.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { copyFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { assemble } from "../support/wat.ts"
import { modules } from "./modules.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** What is preloaded: the drop-in itself, or the one that patches every module. */
export const register = pathToFileURL(join(root, "programs/register.ts")).href
export const patchEverything = pathToFileURL(join(root, "test/dropin/patch-everything.ts")).href

/** The settings of Folio that the outer environment may hold, taken out. */
export const plainEnvironment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("FOLIO_") && name !== "NODE_OPTIONS")
)

export interface Outcome {
  readonly status: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs Node.js with arguments and an environment. */
export const runNode = (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
  cwd: string = root
): Outcome => {
  const { signal, status, stderr, stdout } = spawnSync(process.execPath, args, {
    cwd,
    encoding: "utf8",
    env: { ...plainEnvironment, ...environment },
    maxBuffer: 64 * 1024 * 1024
  })
  return { status, signal, stdout, stderr }
}

/** Settings that keep a run away from the user's own cache. */
export const uncached = { FOLIO_CACHE: "off", FOLIO_PREPARE: "wait" }

/** A folder that goes with the test file. */
export interface Scratch {
  readonly path: string
  readonly file: (name: string, content: string | Uint8Array) => string
  readonly remove: () => void
}

export const makeScratch = (): Scratch => {
  const path = mkdtempSync(join(tmpdir(), "folio-dropin-"))
  return {
    path,
    file: (name, content) => {
      const file = join(path, name)
      writeFileSync(file, content)
      return file
    },
    remove: () => rmSync(path, { force: true, recursive: true })
  }
}

/** Assembles the modules of the test into a folder, the fixtures of every proposal beside them. */
export const writeModules = async (scratch: Scratch): Promise<string> => {
  const folder = join(scratch.path, "modules")
  mkdirSync(folder)
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(folder, `${name}.wasm`), await assemble(text))
  const fixtures = join(root, "test/fixtures/wat")
  for (const name of readdirSync(fixtures).filter((name) => name.endsWith(".wasm"))) {
    copyFileSync(join(fixtures, name), join(folder, `fixture-${name}`))
  }
  return folder
}
