/**
 * Compiling generated C with clang and wasm-ld, apart: the clang driver, asked to link, runs any `wasm-opt` that it finds.
 */
import { execFile, execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

/**
 * How a source is compiled: the flags of each level.
 *
 * @category constants
 * @since 0.1.0
 */
export const LEVELS = {
  o1: ["-O1"],
  o2: ["-O2"],
  o3: ["-O3"],
  simd: ["-O3", "-msimd128", "-msign-ext", "-mnontrapping-fptoint"]
} as const

/** @category models @since 0.1.0 */
export type Level = keyof typeof LEVELS

/** Bytes of the memory of a compiled module: no more, so that it can be compared after every call. */
export const MEMORY_BYTES = 2 * 65_536

const compileFlags = ["--target=wasm32", "-nostdlib", "-ffreestanding", "-fno-builtin", "-mmutable-globals", "-w"]
const linkFlags = [
  "--no-entry",
  "--stack-first",
  "-z",
  "stack-size=8192",
  "--export=__heap_base",
  "--export=__stack_pointer",
  `--initial-memory=${MEMORY_BYTES}`,
  `--max-memory=${MEMORY_BYTES}`
]

/** The two commands, with `NAME` for the files. @category formatting @since 0.1.0 */
export const commandsOf = (level: Level, name: string): ReadonlyArray<string> => [
  ["clang", ...compileFlags, ...LEVELS[level], "-c", `${name}.c`, "-o", `${name}.o`].join(" "),
  ["wasm-ld", ...linkFlags, `${name}.o`, "-o", `${name}.wasm`].join(" ")
]

/** First lines of what compiler and linker say about themselves, or why there is none. */
export const compilerVersions = (): { readonly clang: string; readonly linker: string } | string => {
  try {
    const [clang, linker] = ["clang", "wasm-ld"].map((command) =>
      execFileSync(command, ["--version"], { encoding: "utf8" }).split("\n")[0].trim()
    )
    return { clang, linker }
  } catch {
    return "compiling generated C needs clang and wasm-ld on PATH (clang 14 or later, with the target wasm32)"
  }
}

/**
 * Compiles a source at a level. Fails with what the compiler says.
 *
 * @category compiling
 * @since 0.1.0
 */
export const compileSource = async (text: string, level: Level): Promise<Uint8Array<ArrayBuffer>> => {
  const folder = mkdtempSync(join(tmpdir(), "fuzz-c-"))
  const [source, object, module] = ["f.c", "f.o", "f.wasm"].map((name) => join(folder, name))
  try {
    writeFileSync(source, text)
    await run("clang", [...compileFlags, ...LEVELS[level], "-c", source, "-o", object])
    await run("wasm-ld", [...linkFlags, object, "-o", module])
    return new Uint8Array(readFileSync(module))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
