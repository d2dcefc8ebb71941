/**
 * Flags of Node.js that take away what the drop-in needs: the program runs as without it, and the report says why.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assemble } from "../support/wat.ts"
import { loops } from "./modules.ts"
import { makeScratch, register, runNode, uncached } from "./run.ts"

const scratch = makeScratch()
afterAll(() => scratch.remove())

let program = ""
beforeAll(async () => {
  const wasm = scratch.file("loops.wasm", await assemble(loops))
  program = scratch.file(
    "app.mjs",
    `import { readFileSync } from "node:fs"
     const bytes = readFileSync(${JSON.stringify(wasm)})
     const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes))
     exports.fill(0, 1000, 7)
     console.log(exports.first(), Object.keys(exports))`
  )
})

const rows: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
  [["--no-experimental-ffi"], /node:ffi is switched off/],
  [["--no-experimental-require-module"], /require of ES modules is switched off/],
  [["--frozen-intrinsics", "--disable-warning=ExperimentalWarning"], /WebAssembly cannot be intercepted/],
  [["--disable-proto=throw"], /did too little/],
  [["--disallow-code-generation-from-strings"], /did too little/]
]

describe("a program", () => {
  for (const [flags, reason] of rows) {
    it(`runs with ${flags.join(" ")}`, () => {
      const report = join(scratch.path, "report.json")
      const outcome = runNode([...flags, "--import", register, program], { ...uncached, FOLIO_REPORT: report })
      assert.deepStrictEqual(outcome, runNode([...flags, program]))
      assert.strictEqual(outcome.status, 0, outcome.stderr)
      assert.match((JSON.parse(readFileSync(report, "utf8")) as { serial: string }).serial, reason)
    })
  }

  it("runs where it may read no file of Folio but what is preloaded", () => {
    const preloaded = new URL("../", register).pathname
    const flags = ["--permission", `--allow-fs-read=${scratch.path}/*`, `--allow-fs-write=${scratch.path}/*`]
    const some = ["programs", "layers", "src/lane", "src/plan/frame.ts", "src/plan/hidden.ts"].map((folder) =>
      `--allow-fs-read=${preloaded}${folder}${folder.endsWith(".ts") ? "" : "/*"}`
    )
    const report = join(scratch.path, "report.json")
    const outcome = runNode([...flags, ...some, "--import", register, program], { ...uncached, FOLIO_REPORT: report })
    assert.deepStrictEqual(outcome, runNode([...flags, program]))
    assert.strictEqual(outcome.status, 0, outcome.stderr)
    assert.match(
      (JSON.parse(readFileSync(report, "utf8")) as { serial: string }).serial,
      /Folio cannot be loaded/
    )
  })
})
