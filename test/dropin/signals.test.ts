/**
 * Programs that a signal ends: as they end without the drop-in, with the report written, and with nothing left behind.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { assemble } from "../support/wat.ts"
import { loops } from "./modules.ts"
import { makeScratch, plainEnvironment, register, runNode, uncached } from "./run.ts"

const scratch = makeScratch()
afterAll(() => scratch.remove())
const report = join(scratch.path, "report.json")

beforeAll(async () => {
  scratch.file("loops.wasm", await assemble(loops))
  scratch.file("endless.wasm", await assemble(`(module (memory 1) (func (export "run") (loop $l (br $l))))`))
})

/** Runs planned loops until lanes are up and used, and then what stands behind. */
const program = (name: string, ending: string): string =>
  scratch.file(
    `${name}.mjs`,
    `import { readFileSync } from "node:fs"
     const load = (name) => new WebAssembly.Instance(
       new WebAssembly.Module(readFileSync(new URL(name, import.meta.url)))).exports
     const exports = load("loops.wasm")
     exports.grow(14)
     for (let round = 0; round < 300; round++) exports.scale(0, 250000)
     ${ending}`
  )

const start = (
  file: string,
  environment: Readonly<Record<string, string>> = { FOLIO_REPORT: report }
): ChildProcess => {
  rmSync(report, { force: true })
  return spawn(process.execPath, ["--import", register, file], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...plainEnvironment, ...uncached, FOLIO_WORKERS: "2", ...environment }
  })
}

const said = (child: ChildProcess) => once(child.stdout!, "data")

const ended = async (child: ChildProcess): Promise<ReadonlyArray<unknown>> => await once(child, "exit")

const patched = (): unknown => JSON.parse(readFileSync(report, "utf8")).facts.modules[0].state

/** Says that it is there, and waits. */
const waiting = `console.log("here"); setInterval(() => {}, 1000)`

describe("a program that a signal ends", () => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    it(`${signal}: by that signal, with its report, lanes and all`, async () => {
      const child = start(program("waiting", waiting))
      await said(child)
      const end = ended(child)
      child.kill(signal)
      assert.deepStrictEqual(await end, [null, signal])
      assert.strictEqual(patched(), "patched")
      // Neither process nor thread is left, and with them no mapping and no descriptor.
      assert.isFalse(existsSync(`/proc/${child.pid}`))
    })
  }

  it("is ended at once where there is no report, however busy it is", async () => {
    const child = start(program("busy", `console.log("here"); load("endless.wasm").run()`), {})
    await said(child)
    const end = ended(child)
    child.kill("SIGINT")
    assert.deepStrictEqual(await end, [null, "SIGINT"])
  })

  it.runIf(process.platform === "linux")(
    "is ended by a second one where it is busy with a report to write",
    async () => {
      const child = start(program("busy", `console.log("here"); load("endless.wasm").run()`))
      await said(child)
      const end = ended(child)
      const again = setInterval(() => child.kill("SIGINT"), 100)
      assert.deepStrictEqual(await end, [null, "SIGINT"])
      clearInterval(again)
    }
  )

  it("ends as it likes where it listens itself, and finds its own listeners only", async () => {
    const ending = `process.once("SIGINT", () => {
        console.log("heard", process.listenerCount("SIGINT"))
        process.exitCode = 7
        clearInterval(timer)
      })
      console.log("here", process.listenerCount("SIGINT"))
      const timer = setInterval(() => {}, 1000)`
    const child = start(program("listening", ending))
    let text = ""
    child.stdout!.on("data", (data) => text += data)
    await said(child)
    const end = ended(child)
    child.kill("SIGINT")
    assert.deepStrictEqual(await end, [7, null])
    assert.strictEqual(text.replace(/heard \d/, "heard"), "here 1\nheard\n")
    assert.strictEqual(patched(), "patched")
  })

  it("is ended by the next one when it listens no longer", async () => {
    const ending = `process.once("SIGINT", () => console.log("heard"))
      console.log("here")
      setInterval(() => {}, 1000)`
    const child = start(program("once", ending))
    await said(child)
    child.kill("SIGINT")
    await said(child)
    const end = ended(child)
    child.kill("SIGINT")
    assert.deepStrictEqual(await end, [null, "SIGINT"])
    assert.strictEqual(patched(), "patched")
  })

  it("is not kept alive by listeners", () => {
    const outcome = runNode(["--import", register, program("ends", "")], { ...uncached, FOLIO_REPORT: report })
    assert.strictEqual(outcome.status, 0, outcome.stderr)
  })
})
