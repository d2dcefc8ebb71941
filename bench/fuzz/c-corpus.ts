/**
 * Writes the committed corpus of generated C functions, `test/fixtures/generated-c`: for each level a source, what the
 * compiler made of it, and in `manifest.json` commands, compiler, hashes and the functions' signatures.
 *
 *     node test/runtime/node26.mjs bench/fuzz/c-corpus.ts
 */
import { createHash } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../lib/sources.ts"
import type { Signature } from "./c-calls.ts"
import { commandsOf, compilerVersions, compileSource, type Level, LEVELS } from "./c-compile.ts"
import { generateSource } from "./c-functions.ts"
import { Choices } from "./choices.ts"

/**
 * What is known of one module of the corpus.
 *
 * @category models
 * @since 0.1.0
 */
export interface CorpusModule {
  readonly commands: ReadonlyArray<string>
  readonly sourceSha256: string
  readonly sha256: string
  readonly functions: ReadonlyArray<Signature>
}

/**
 * `manifest.json`.
 *
 * @category models
 * @since 0.1.0
 */
export interface CorpusManifest {
  readonly compiler: string
  readonly modules: Readonly<Record<Level, CorpusModule>>
}

/** Functions of each level. */
const EACH = 26

const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex")

const build = async (): Promise<void> => {
  const versions = compilerVersions()
  if (typeof versions === "string") {
    console.error(versions)
    process.exitCode = 1
    return
  }
  const folder = join(root, "test/fixtures/generated-c")
  mkdirSync(folder, { recursive: true })
  const modules: Partial<Record<Level, CorpusModule>> = {}
  for (const [at, level] of (Object.keys(LEVELS) as ReadonlyArray<Level>).entries()) {
    const { functions, text } = generateSource(new Choices(1 + at).of("corpus"), EACH)
    const bytes = await compileSource(text, level)
    writeFileSync(join(folder, `${level}.c`), text)
    writeFileSync(join(folder, `${level}.wasm`), bytes)
    modules[level] = {
      commands: commandsOf(level, level),
      sourceSha256: sha256(text),
      sha256: sha256(bytes),
      functions: functions.map(({ advances, elements, name }) => ({ name, elements, advances }))
    }
  }
  const manifest = { compiler: `${versions.clang}; ${versions.linker}`, modules }
  writeFileSync(join(folder, "manifest.json"), `${JSON.stringify(manifest, undefined, 2)}\n`)
}

await build()
