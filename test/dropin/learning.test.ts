/**
 * What a module gained in earlier runs decides whether it is patched in the next.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeScratch, register, runNode, writeModules } from "./run.ts"

const scratch = makeScratch()
afterAll(() => scratch.remove())

let program = ""
beforeAll(async () => {
  const folder = await writeModules(scratch)
  // A program that is busy for a second, and whose loops are far too short.
  program = scratch.file(
    "idle.mjs",
    `import fs from "node:fs"
     const { exports } = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync("${folder}/loops.wasm")))
     const end = performance.now() + 1100
     do exports.fill(0, 8, 1); while (performance.now() < end)
     console.log(exports.first())`
  )
})

interface Module {
  readonly state: string
  readonly reason: string
  readonly summary: { readonly planned: number }
}

const run = (environment: Readonly<Record<string, string>> = {}): Module => {
  const report = join(scratch.path, "report.json")
  const outcome = runNode(["--import", register, program], {
    FOLIO_CACHE: join(scratch.path, "cache"),
    FOLIO_PREPARE: "wait",
    FOLIO_REPORT: report,
    ...environment
  })
  assert.strictEqual(outcome.status, 0, outcome.stderr)
  assert.strictEqual(outcome.stdout, `${Math.imul(1, 2654435761)}\n`)
  return (JSON.parse(readFileSync(report, "utf8")) as { facts: { modules: ReadonlyArray<Module> } }).facts.modules[0]
}

const history = (): { readonly file: string; readonly content: Record<string, unknown> } => {
  const folder = join(scratch.path, "cache", "history")
  const [name] = readdirSync(folder)
  return { file: join(folder, name), content: JSON.parse(readFileSync(join(folder, name), "utf8")) }
}

describe("a module whose loops gain nothing", () => {
  it("is patched once, and is the original code from the next start on", () => {
    assert.strictEqual(run().state, "patched")
    assert.deepInclude(history().content, { pays: false, pauses: 1 })
    const next = run()
    assert.strictEqual(next.state, "native")
    assert.match(next.reason, /gained nothing in earlier runs; it is tried again after 2\d{3}-/)
    // The report still says what the analysis has found.
    assert.isAbove(next.summary.planned, 0)
  })

  it("is patched again when its time has come, and left alone for longer", () => {
    const { content, file } = history()
    writeFileSync(file, JSON.stringify({ ...content, until: Date.now() - 1 }))
    assert.strictEqual(run().state, "patched")
    assert.deepInclude(history().content, { pays: false, pauses: 2 })
  })

  it("is patched where nothing is to be learnt, or no cache knows it", () => {
    const { content } = history()
    assert.strictEqual(run({ FOLIO_LEARN: "0" }).state, "patched")
    assert.deepStrictEqual(history().content, content)
    assert.strictEqual(run({ FOLIO_CACHE: "off" }).state, "patched")
  })

  it("is patched where its history cannot be read", () => {
    writeFileSync(history().file, "{")
    assert.strictEqual(run().state, "patched")
  })
})
