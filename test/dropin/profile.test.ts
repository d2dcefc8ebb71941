/**
 * A program whose modules count: it computes what it computes, sees what it sees, and its profile is exact.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { folio, moduleFile } from "../cli/folio.ts"
import { assemble } from "../support/wat.ts"
import { loops } from "./modules.ts"
import { makeScratch, runNode, writeModules } from "./run.ts"

const profile = pathToFileURL(fileURLToPath(new URL("../../programs/profile.ts", import.meta.url))).href
const scratch = makeScratch()
afterAll(() => scratch.remove())
const profiles = join(scratch.path, "profiles")

let sha256 = ""
let wasm = ""
beforeAll(async () => {
  const bytes = await assemble(loops)
  sha256 = createHash("sha256").update(bytes).digest("hex")
  wasm = scratch.file("loops.wasm", bytes)
})

const program = (ending = ""): string =>
  scratch.file(
    "app.mjs",
    `import { readFileSync } from "node:fs"
     const bytes = readFileSync(new URL("loops.wasm", import.meta.url))
     for (let count = 0; count < 2; count++) {
       const { exports } = (await WebAssembly.instantiate(bytes)).instance
       exports.fill(0, 1000, 3)
       exports.scale(0, 500)
       console.log(exports.first(), Object.keys(exports), Object.isFrozen(exports))
     }
     ${ending}`
  )

const profiled = (file: string) => runNode(["--import", profile, file], { FOLIO_PROFILE: profiles })

const read = () => JSON.parse(readFileSync(join(profiles, `${sha256}.json`), "utf8"))

describe("folio-wasm/profile", () => {
  it("counts what all instances of a module executed, and changes nothing that the program sees", () => {
    const file = program()
    const native = runNode([file])
    const { status, stderr, stdout } = profiled(file)
    assert.deepStrictEqual([status, stdout], [0, native.stdout])
    assert.match(stderr, /^folio: file:\S+app\.mjs: [\d,]+ instructions, written to \S+\.json\n$/)
    const { functions, module } = read()
    assert.deepInclude(module, { sha256, bytes: readFileSync(wasm).length })
    const iterations = functions.flatMap(({ loops }: { loops: ReadonlyArray<{ iterations: number }> }) =>
      loops.map(({ iterations }) => iterations)
    ).filter((count: number) => count > 0)
    assert.deepStrictEqual(iterations, [2000, 1000])
  })

  it("is written when the program exits in its own way", () => {
    for (const ending of ["process.exit(3)", "throw new Error('x')"]) {
      assert.match(profiled(program(ending)).stderr, /instructions, written to/)
    }
  })

  it("guides folio prepare, for every module of which the folder has one", async () => {
    const file = scratch.file(
      "fills.mjs",
      `import { readFileSync } from "node:fs"
       const bytes = readFileSync(new URL("loops.wasm", import.meta.url))
       new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.fill(0, 1000, 3)`
    )
    profiled(file)
    const args = ["--profile", profiles, "--cache", join(scratch.path, "cache"), "--json"]
    const { code, stdout } = await folio(["prepare", wasm, moduleFile("squares.wat"), ...args])
    assert.strictEqual(code, 0)
    const [guided, other] = JSON.parse(stdout).files
    // One of two loops was executed; nobody knows anything of the other module's.
    assert.deepStrictEqual([guided.planned, guided.reasons], [1, { profile: 1 }])
    assert.isAbove(other.planned, 0)
    assert.isUndefined(other.reasons.profile)
  })

  it("leaves every module of every proposal as its program knows it", async () => {
    const folder = await writeModules(scratch)
    const file = scratch.file(
      "all.mjs",
      `import { readdirSync, readFileSync } from "node:fs"
       for (const name of readdirSync(${JSON.stringify(folder)}).sort()) {
         const bytes = readFileSync(${JSON.stringify(folder)} + "/" + name)
         if (!WebAssembly.validate(bytes)) continue
         const module = new WebAssembly.Module(bytes)
         console.log(name, JSON.stringify([WebAssembly.Module.exports(module), WebAssembly.Module.imports(module),
           WebAssembly.Module.customSections(module, "folio").length]))
       }`
    )
    assert.deepStrictEqual(profiled(file), runNode([file]))
  })

  it("writes nothing of a program without modules", () => {
    const folder = join(scratch.path, "none")
    const outcome = runNode(["--import", profile, "--eval", "0"], { FOLIO_PROFILE: folder })
    assert.deepStrictEqual([outcome.status, outcome.stderr, existsSync(folder)], [0, "", false])
    assert.isTrue(readdirSync(profiles).every((name) => name.endsWith(".json")))
  })
})
