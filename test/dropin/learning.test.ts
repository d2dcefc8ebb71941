/**
 * What a module gained in earlier runs decides whether it is patched in the next.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { prepare } from "../../src/plan/prepare.ts"
import { makeScratch, register, runNode, writeModules } from "./run.ts"

const scratch = makeScratch()
afterAll(() => scratch.remove())

let program = ""
let planned: ReadonlyArray<number> = []
beforeAll(async () => {
  const folder = await writeModules(scratch)
  planned = prepare(readFileSync(join(folder, "loops.wasm"))).plan.loops
    .filter(({ _tag }) => _tag === "planned").map(({ offset }) => offset)
  // A program that is busy for a second, and whose loops are far too short.
  program = scratch.file(
    "idle.mjs",
    `import fs from "node:fs"
     const { exports } = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync("${folder}/loops.wasm")))
     const end = performance.now() + Number(process.env.BUSY_MS ?? 1100)
     do exports.fill(0, 8, 1); while (performance.now() < end)
     console.log(exports.first())
     const isPrepared = () => fs.readdirSync(process.env.FOLIO_CACHE + "/v1").some((name) => name.endsWith(".chosen"))
     if (process.env.UNTIL_PREPARED) {
       const timer = setInterval(() => isPrepared() && clearInterval(timer), 10)
     }`
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
    const { content, file } = history()
    writeFileSync(file, "{")
    assert.strictEqual(run().state, "patched")
    writeFileSync(file, JSON.stringify(content))
  })
})

describe("a module for which lanes pay", () => {
  it("is patched with the loops alone that were handed out, once that is prepared", () => {
    assert.isAbove(planned.length, 1)
    const { content, file } = history()
    const paying = { ...content, pays: true, until: Date.now() + 3_600_000, loops: [planned[0]] }
    const plannedWith = (until: number, environment: Readonly<Record<string, string>> = {}): number => {
      writeFileSync(file, JSON.stringify({ ...paying, until }))
      // So short a run says nothing new.
      const { state, summary } = run({ ...environment, BUSY_MS: "50" })
      assert.strictEqual(state, "patched")
      return summary.planned
    }
    assert.strictEqual(plannedWith(paying.until, { UNTIL_PREPARED: "1" }), planned.length)
    assert.strictEqual(plannedWith(paying.until), 1)
    // When the verdict is old, all are patched again.
    assert.strictEqual(plannedWith(Date.now() - 1), planned.length)
  })
})
