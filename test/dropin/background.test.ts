/**
 * A module that takes longer to analyse than a program should wait runs natively once, and is known at the next start.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { manyLoops } from "../support/many-loops.ts"
import { assemble } from "../support/wat.ts"
import { makeScratch, register, runNode } from "./run.ts"

interface Report {
  readonly serial?: string
  readonly facts?: {
    readonly modules: ReadonlyArray<{
      readonly state: string
      readonly reason?: string
      readonly cacheHit: boolean
      readonly summary?: {
        readonly planned: number
        readonly refused: number
        readonly complete: boolean
        readonly reasons: Readonly<Record<string, number>>
      }
    }>
  }
}

const scratch = makeScratch()
afterAll(() => scratch.remove())

beforeAll(async () => {
  scratch.file("large.wasm", await assemble(manyLoops(3000)))
})

/** Ends when the cache knows the module, or at once. */
const program = (waits: boolean): string =>
  scratch.file(
    "large.mjs",
    `import fs from "node:fs"
     const bytes = fs.readFileSync(new URL("large.wasm", import.meta.url))
     const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes))
     exports.f7(0, 100)
     console.log(new Int32Array(exports.memory.buffer)[99])
     const filled = () => fs.existsSync(process.env.FOLIO_CACHE + "/v1") &&
       fs.readdirSync(process.env.FOLIO_CACHE + "/v1").some((name) => !name.startsWith("."))
     ${waits ? "const timer = setInterval(() => filled() && clearInterval(timer), 10)" : ""}`
  )

const run = (cache: string, waits: boolean, environment: Record<string, string> = {}): Report => {
  const file = join(scratch.path, "report.json")
  const outcome = runNode(["--import", register, program(waits)], {
    FOLIO_CACHE: join(scratch.path, cache),
    // A busy machine must not decide what is patched.
    FOLIO_LEARN: "0",
    FOLIO_REPORT: file,
    ...environment
  })
  assert.strictEqual(outcome.status, 0, outcome.stderr)
  assert.strictEqual(outcome.stdout, "693\n")
  assert.strictEqual(outcome.stderr, "")
  return JSON.parse(readFileSync(file, "utf8")) as Report
}

describe("a module that takes long to analyse", () => {
  it("runs natively, and is patched from the next start on", () => {
    const first = run("filled", true).facts?.modules[0]
    assert.deepInclude(first, { state: "pending", cacheHit: false })
    assert.match(first?.reason ?? "", /prepared for the next start/)
    const second = run("filled", false).facts?.modules[0]
    assert.deepInclude(second, { state: "patched", cacheHit: true })
    assert.isAbove(second?.summary?.planned ?? 0, 0)
  })

  it("does not keep the program from ending", () => {
    assert.strictEqual(run("unfilled", false).facts?.modules[0]?.state, "pending")
  })

  it("is analysed before it is compiled where the program asks to wait", () => {
    const module = run("waited", false, { FOLIO_PREPARE: "wait" }).facts?.modules[0]
    assert.deepInclude(module, { state: "patched", cacheHit: false })
  })

  it("is analysed as far as the budget reaches, and says so", () => {
    const module = run("budget", false, { FOLIO_PREPARE: "wait", FOLIO_PREPARE_BUDGET_MS: "1" }).facts?.modules[0]
    const { complete, planned, reasons, refused } = module!.summary!
    assert.isFalse(complete)
    assert.isAbove(reasons["budget"], 0)
    assert.strictEqual(planned + refused, 3000)
    // What was found is kept.
    assert.deepInclude(run("budget", false).facts?.modules[0], { state: module!.state, cacheHit: true })
  })

  it("is not prepared for a next start that would not find it", () => {
    const file = scratch.file("not-a-folder", "")
    const module = run("unused", false, { FOLIO_CACHE: file }).facts?.modules[0]
    assert.strictEqual(module?.state, "unprepared")
    assert.match(module?.reason ?? "", /the cache cannot keep it for the next start: (?:ENOTDIR|EEXIST)/)
  })

  it("runs natively where nothing shall be prepared, or nothing can be kept", () => {
    const off = run("off", false, { FOLIO_PREPARE: "off" })
    assert.strictEqual(off.facts?.modules[0]?.state, "unprepared")
    assert.match(off.serial ?? "", /FOLIO_PREPARE=off/)
    const uncached = run("unused", false, { FOLIO_CACHE: "off" })
    assert.strictEqual(uncached.facts?.modules[0]?.state, "unprepared")
    assert.match(uncached.serial ?? "", /no cache/)
  })
})
