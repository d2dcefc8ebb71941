/**
 * Two booted programs for other hosts: one with every kind of state, one with three files of pages; their images in
 * folders, whole and damaged, and what is seen of them here.
 */
import { build } from "esbuild"
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { decodeModule, type WasmModule } from "../../src/binary/module.ts"
import { capture } from "../../src/image/capture.ts"
import { chunkImage, chunkName, MODULE_NAME } from "../../src/image/chunks.ts"
import { instrument } from "../../src/image/instrument.ts"
import { assemble } from "../support/wat.ts"
import * as Everything from "../unit/image/program.ts"
import { type Call, observe, type Seen } from "./loader.ts"

/** A folder of files, and what an instance that opens it must be like. */
export interface Scenario {
  readonly program: "everything" | "large"
  readonly folder: string
  readonly calls: ReadonlyArray<Call>
  readonly expected: Seen
}

const large = decodeModule(
  await assemble(`(module (memory (export "memory") 200)
    (func (export "boot") (local $at i32)
      (loop $next
        (i32.store (local.get $at) (i32.mul (local.get $at) (i32.const 0x9e3779b1)))
        (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4096))) (i32.const 10000000)))))
    (func (export "word") (param i32) (result i32) (i32.load (local.get 0))))`)
)

const CALLS: Readonly<Record<Scenario["program"], ReadonlyArray<Call>>> = {
  everything: [
    ...["count", "single", "double", "vector", "long", "pages"].map((name): Call => [name]),
    ...[0, 1, 2, 3, 4, 5].map((slot): Call => ["slot", slot]),
    ...[8, 16, 100, 104, 1024, 65_600, 200_000].map((at): Call => ["word", at]),
    ["otherWord", 12],
    ...["copyDropped", "copyDroppedElement", "copyKept"].map((name): Call => [name])
  ],
  large: [["word", 0], ["word", 4096], ["word", 5_000_000 & ~4095], ["word", 9_998_336]]
}

const booted = (m: WasmModule): WebAssembly.Exports => {
  const module = new WebAssembly.Module(instrument(m))
  const { exports } = new WebAssembly.Instance(module, Everything.host())
  ;(exports["boot"] as () => void)()
  return exports
}

/** Writes the images below a folder, and says what must come of each. */
export const scenarios = async (root: string): Promise<ReadonlyArray<Scenario>> => {
  const found: Array<Scenario> = []
  for (const [program, m] of [["everything", Everything.decoded], ["large", large]] as const) {
    const calls = CALLS[program]
    const exports = booted(m)
    const files = new Map<string, Uint8Array>(chunkImage(capture(m, exports, { module: "5".repeat(64) }), m))
    const add = (folder: string, changes: Readonly<Record<string, Uint8Array | undefined>>, expected: Seen): void => {
      mkdirSync(join(root, folder), { recursive: true })
      for (const [name, bytes] of new Map<string, Uint8Array | undefined>([...files, ...Object.entries(changes)])) {
        if (bytes !== undefined) writeFileSync(join(root, folder, name), bytes)
      }
      found.push({ program, folder, calls, expected })
    }
    add(program, {}, await observe(exports, calls))
    if (program !== "large") continue
    const second = chunkName(1)
    const flipped = files.get(second)!.slice()
    flipped[70_000] ^= 4
    add("flipped", { [second]: flipped }, { refused: { code: "corrupt", place: `${second}, page 65 of memory 0` } })
    add("short", { [second]: flipped.subarray(1) }, { refused: { code: "truncated", place: second } })
    add("missing", { [second]: undefined }, { error: `404 ${second}` })
    const others = chunkImage(capture(m, exports, { module: "6".repeat(64) }), m)
    add("other-module", { [MODULE_NAME]: others.get(MODULE_NAME) }, {
      refused: { code: "module", place: "the module" }
    })
  }
  return found
}

/** A folder of its own. */
export const temporary = (): string => mkdtempSync(join(tmpdir(), "folio-hosts-"))

/** One of this folder's sources as a module of the web: nothing of Node.js can be in it. */
export const bundle = async (source: string, outfile: string): Promise<void> => {
  await build({
    entryPoints: [join(import.meta.dirname, source)],
    outfile,
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    external: ["*.wasm", "*.bin"],
    logLevel: "silent"
  })
}
