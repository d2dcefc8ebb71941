/**
 * Planned loops run on several threads under the drop-in, in the main thread and in a worker that was sent the module,
 * and leave the bytes that they leave natively.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { program } from "../conformance/program.ts"
import { assemble } from "../support/wat.ts"
import { loops } from "./modules.ts"
import { makeScratch, register, runNode, uncached } from "./run.ts"

interface Report {
  readonly serial?: string
  readonly facts?: {
    readonly modules: ReadonlyArray<{
      readonly state: string
      readonly bytes?: number
      readonly execution?: {
        readonly dispatches: number
        readonly iterations: number
        readonly lanesUsed: number
        readonly rung?: string
        readonly loops: ReadonlyArray<{ readonly dispatches: number; readonly iterations: number }>
      }
    }>
  }
}

/** Lanes need a second CPU, and memory that can be mapped into them. */
const able = process.platform === "linux" && availableParallelism() > 1

const scratch = makeScratch()
afterAll(() => scratch.remove())
beforeAll(async () => {
  scratch.file("loops.wasm", await assemble(loops))
})

/** Works on one MiB until lanes are up and used, which the program itself cannot see; then says what memory holds. */
const work = `
  const { exports } = new WebAssembly.Instance(module)
  exports.grow(14)
  exports.fill(0, 250000, 3)
  for (let round = 0; round < 1500; round++) exports.scale(0, 250000)
  console.log(createHash("sha256").update(new Uint8Array(exports.memory.buffer)).digest("hex"))`
const compile = `
  import { createHash } from "node:crypto"
  import { readFileSync } from "node:fs"
  const module = new WebAssembly.Module(readFileSync(new URL("loops.wasm", import.meta.url)))`

const reportIn = (file: string): Report => JSON.parse(readFileSync(join(scratch.path, file), "utf8")) as Report

describe.skipIf(!able)("a planned loop", () => {
  it("runs on several threads, and its counts add up", () => {
    const file = scratch.file("main.mjs", compile + work)
    const outcome = runNode(["--import", register, file], {
      ...uncached,
      FOLIO_REPORT: join(scratch.path, "main.json"),
      FOLIO_WORKERS: "2"
    })
    assert.deepStrictEqual(outcome, runNode([file]))
    const report = reportIn("main.json")
    assert.isUndefined(report.serial)
    const execution = report.facts?.modules[0]?.execution
    assert.isDefined(execution)
    assert.isAbove(execution.dispatches, 0)
    assert.strictEqual(execution.lanesUsed, 2)
    assert.strictEqual(execution.rung, "alias")
    assert.strictEqual(execution.loops.reduce((sum, loop) => sum + loop.dispatches, 0), execution.dispatches)
    assert.strictEqual(execution.loops.reduce((sum, loop) => sum + loop.iterations, 0), execution.iterations)
  })

  it("runs on several threads beneath an import that calls back, and around it", () => {
    scratch.file("program.wasm", program)
    const file = scratch.file(
      "again.mjs",
      `import { createHash } from "node:crypto"
       import { readFileSync } from "node:fs"
       let depth = 0
       const tick = (n) => {
         if (depth === 2) return 1
         depth++
         try {
           exports.scale(4 * n, 20000, depth)
           return exports.visit(16, n >> 1) & 0xff
         } finally {
           depth--
         }
       }
       const { exports } = new WebAssembly.Instance(
         new WebAssembly.Module(readFileSync(new URL("program.wasm", import.meta.url))), { host: { tick } })
       let sum = 0
       for (let round = 0; round < 3000; round++) sum = sum + exports.visit(round & 1020, 20000) | 0
       console.log(sum, createHash("sha256").update(new Uint8Array(exports.memory.buffer)).digest("hex"))`
    )
    const environment = { ...uncached, FOLIO_REPORT: join(scratch.path, "again.json"), FOLIO_WORKERS: "2" }
    assert.deepStrictEqual(runNode(["--import", register, file], environment), runNode([file]))
    assert.isAbove(reportIn("again.json").facts?.modules[0]?.execution?.dispatches ?? 0, 0)
  })

  it("runs on several threads in a worker that was sent the compiled module", () => {
    scratch.file(
      "worker.mjs",
      `import { createHash } from "node:crypto"\nimport { workerData as module } from "node:worker_threads"\n${work}`
    )
    const file = scratch.file(
      "sends.mjs",
      `${compile}\nimport { Worker } from "node:worker_threads"
       new Worker(new URL("worker.mjs", import.meta.url), { workerData: module })`
    )
    const outcome = runNode(["--import", register, file], {
      ...uncached,
      FOLIO_REPORT: join(scratch.path, "sends.json"),
      FOLIO_WORKERS: "2"
    })
    assert.deepStrictEqual(outcome, runNode([file]))
    assert.strictEqual(reportIn("sends.json").serial, "it was not instantiated")
    const name = readdirSync(scratch.path).find((name) => name.startsWith("sends.json.thread-"))
    const [module] = reportIn(name ?? "").facts?.modules ?? []
    assert.strictEqual(module?.state, "patched")
    assert.isUndefined(module.bytes)
    assert.isAbove(module.execution?.dispatches ?? 0, 0)
  })

  it("runs natively in a worker without the drop-in, where the names that were added show behind the others", () => {
    scratch.file(
      "plain.mjs",
      `import { createHash } from "node:crypto"\nimport { workerData as module } from "node:worker_threads"\n${work}
       console.log(JSON.stringify(Object.keys(exports)))`
    )
    const file = scratch.file(
      "sends-plain.mjs",
      `${compile}\nimport { Worker } from "node:worker_threads"
       new Worker(new URL("plain.mjs", import.meta.url), { workerData: module, execArgv: [] })`
    )
    const [digest, names] = runNode(["--import", register, file], uncached).stdout.split("\n")
    const [nativeDigest, nativeNames] = runNode([file]).stdout.split("\n")
    assert.strictEqual(digest, nativeDigest)
    const shown = JSON.parse(names ?? "") as ReadonlyArray<string>
    const original = JSON.parse(nativeNames ?? "") as ReadonlyArray<string>
    assert.deepStrictEqual(shown.slice(0, original.length), original)
    assert.isTrue(shown.slice(original.length).every((name) => name.startsWith("\u0000folio:")))
  })
})
