/**
 * A process with the drop-in ends as it would without it, says nothing that it would not say, and reaches the drop-in
 * in every way that Node.js has to preload.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assemble } from "../support/wat.ts"
import { loops } from "./modules.ts"
import { makeScratch, type Outcome, plainEnvironment, register, runNode, uncached } from "./run.ts"

interface Report {
  readonly thread: number
  readonly serial: string | undefined
  readonly facts?: {
    readonly modules: ReadonlyArray<{
      readonly state: string
      readonly reason?: string
      readonly from?: string
      readonly sha256?: string
      readonly cacheHit: boolean
      readonly compilations: number
      readonly instances: number
      readonly summary?: { readonly planned: number }
    }>
  }
}

const scratch = makeScratch()
afterAll(() => scratch.remove())

let bytes: Uint8Array = new Uint8Array()
let wasm = ""
beforeAll(async () => {
  bytes = await assemble(loops)
  wasm = scratch.file("loops.wasm", bytes)
})

/** Glue as packages have it: reads the module beside it and runs a planned loop. */
const glue = (ending = ""): string => `
  const bytes = fs.readFileSync(${JSON.stringify(join(scratch.path, "loops.wasm"))})
  const wasm = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports
  wasm.fill(0, 1000, 7)
  for (let round = 0; round < 50; round++) wasm.scale(0, 1000)
  console.log(wasm.first())
  ${ending}`
const esm = (ending?: string): string => scratch.file("app.mjs", `import fs from "node:fs"\n${glue(ending)}`)
const cjs = (ending?: string): string => scratch.file("app.cjs", `const fs = require("node:fs")\n${glue(ending)}`)

const withRegister = (args: ReadonlyArray<string>, environment: Record<string, string> = uncached): Outcome =>
  runNode(["--import", register, ...args], environment)

/** Runs with a report and reads it. */
const reported = (
  args: ReadonlyArray<string>,
  environment: Record<string, string> = uncached
): { readonly outcome: Outcome; readonly report: Report } => {
  const file = join(scratch.path, "report.json")
  const outcome = withRegister(args, { ...environment, FOLIO_REPORT: file })
  return { outcome, report: JSON.parse(readFileSync(file, "utf8")) as Report }
}

/** What a process leaves, without the lines of a stack trace, which name files of Folio where one is in between. */
const ending = ({ signal, status, stderr, stdout }: Outcome): unknown => ({
  status,
  signal,
  stdout,
  stderr: stderr.split("\n").filter((line) => /^\w*Error|^Node\.js|^$/.test(line)).join("\n")
})

describe("a process", () => {
  const endings: ReadonlyArray<readonly [string, string]> = [
    ["ends by itself", ""],
    ["ends when its last timer has fired", "setTimeout(() => console.log('fired'), 20)"],
    ["ends by process.exit", "process.exit(3)"],
    ["ends by process.exit out of a promise", "Promise.resolve().then(() => process.exit(4))"],
    ["ends with the exit code it has set", "process.exitCode = 5"],
    ["ends by an uncaught error", "throw new RangeError('of the program')"],
    ["ends by an unhandled rejection", "Promise.reject(new RangeError('of the program'))"],
    ["ends by a trap", "wasm.scale(1 << 20, 2)"],
    ["ends by an error of the engine", "new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 99]))"],
    ["ends by a signal", "process.kill(process.pid, 'SIGKILL'); setTimeout(() => {}, 10000)"],
    ["runs what it has for its exit", "process.on('exit', (code) => console.log('exit', code))"]
  ]
  for (const [name, last] of endings) {
    it(`${name}`, () => {
      for (const file of [esm(last), cjs(last)]) {
        assert.deepStrictEqual(ending(withRegister([file])), ending(runNode([file])))
      }
    })
  }

  it("says nothing more than without, where it ends well", () => {
    for (const file of [esm(), cjs()]) {
      const native = runNode([file])
      assert.strictEqual(native.status, 0, native.stderr)
      assert.deepStrictEqual(withRegister([file]), native)
      assert.deepStrictEqual(withRegister([file], { FOLIO_CACHE: join(scratch.path, "cache") }), native)
    }
  })

  it("has no listeners, environment variables or globals that it did not have", () => {
    const file = scratch.file(
      "inventory.mjs",
      `console.log(JSON.stringify([Object.keys(process.env).filter((name) => !name.startsWith("FOLIO_")),
        process.eventNames().map(String), Reflect.ownKeys(globalThis).map(String), process.execArgv.length,
        Reflect.ownKeys(process).map(String)]))`
    )
    // An argument of the command line in either, so that the lists are as long.
    const native = runNode(["--import", "data:text/javascript,", file])
    assert.deepStrictEqual(withRegister([file]).stdout, native.stdout)
  })
})

describe("the drop-in is reached", () => {
  const assertPlanned = (outcome: Outcome, report: Report): void => {
    assert.strictEqual(outcome.status, 0, outcome.stderr)
    const [module] = report.facts?.modules ?? []
    assert.strictEqual(module?.state, "patched", JSON.stringify(report))
    assert.isAbove(module.summary?.planned ?? 0, 0)
    assert.strictEqual(module.instances, 1)
  }

  it("from ES modules and CommonJS", () => {
    for (const file of [esm(), cjs()]) {
      const { outcome, report } = reported([file])
      assertPlanned(outcome, report)
      assert.include(report.facts?.modules[0]?.from, file)
    }
  })

  it("by NODE_OPTIONS, and by --require", () => {
    const file = esm()
    const place = join(scratch.path, "other.json")
    const environment = { ...uncached, FOLIO_REPORT: place }
    const path = new URL(register).pathname
    const ways: ReadonlyArray<readonly [ReadonlyArray<string>, Record<string, string>]> = [
      [[], { NODE_OPTIONS: `--import=${register}` }],
      [["--require", path], {}],
      [[], { NODE_OPTIONS: `--require=${path}` }]
    ]
    for (const [args, options] of ways) {
      const outcome = runNode([...args, file], { ...environment, ...options })
      assertPlanned(outcome, JSON.parse(readFileSync(place, "utf8")) as Report)
      writeFileSync(place, "null")
    }
  })

  it("once, however often it is loaded", () => {
    const file = scratch.file(
      "twice.mjs",
      `import fs from "node:fs"\nconst before = WebAssembly.Module
       await import(${JSON.stringify(register)}); await import(${JSON.stringify(`${register}?again`)})
       console.log(before === WebAssembly.Module)\n${glue()}`
    )
    const { outcome, report } = reported(["--import", `${register}?first`, file])
    assertPlanned(outcome, report)
    assert.strictEqual(outcome.stdout.split("\n")[0], "true")
    assert.strictEqual(report.facts?.modules[0]?.compilations, 1)
  })

  it("in the program's own worker threads", () => {
    const worker = scratch.file("worker.mjs", `import fs from "node:fs"\n${glue()}`)
    const file = scratch.file(
      "starts-worker.mjs",
      `import { Worker } from "node:worker_threads"\nnew Worker(${JSON.stringify(worker)})`
    )
    const { outcome, report } = reported([file])
    assert.strictEqual(outcome.status, 0, outcome.stderr)
    assert.strictEqual(report.serial, "the program compiled no module")
    const [name] = readdirSync(scratch.path).filter((name) => name.startsWith("report.json.thread-"))
    assertPlanned(outcome, JSON.parse(readFileSync(join(scratch.path, name ?? ""), "utf8")) as Report)
  })
})

describe("modules that are not the program's", () => {
  it("stay native: WebAssembly that is imported, and what Node.js compiles for itself", () => {
    const file = scratch.file(
      "imports.mjs",
      `import * as wasm from ${JSON.stringify(wasm)}
       import source module from ${JSON.stringify(wasm)}
       import { one } from "./typed.ts"
       wasm.fill(0, 1000, 7)
       console.log(one, Object.keys(wasm), wasm.first(), module.constructor === WebAssembly.Module,
         WebAssembly.Module.exports(module).length, Object.keys(new WebAssembly.Instance(module).exports))`
    )
    scratch.file("typed.ts", "export const one: number = 1\n")
    const native = runNode(["--disable-warning=ExperimentalWarning", file])
    assert.strictEqual(native.status, 0, native.stderr)
    const { outcome, report } = reported(["--disable-warning=ExperimentalWarning", file])
    assert.deepStrictEqual(outcome, native)
    assert.strictEqual(report.serial, "the program compiled no module")
  })

  it("stay native in a vm context", () => {
    const file = scratch.file(
      "context.mjs",
      `import fs from "node:fs"\nimport { createContext, runInContext } from "node:vm"
       const bytes = fs.readFileSync(${JSON.stringify(wasm)})
       console.log(runInContext("new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.first()",
         createContext({ bytes })))`
    )
    const { outcome, report } = reported([file])
    assert.strictEqual(outcome.stdout, "0\n")
    assert.strictEqual(report.serial, "the program compiled no module")
  })
})

describe("settings", () => {
  it("that are not accepted are named, and the program runs natively", () => {
    const file = esm()
    const native = runNode([file])
    const { outcome, report } = reported([file], { ...uncached, FOLIO_WORKERS: "lots" })
    assert.strictEqual(outcome.status, 0)
    assert.strictEqual(outcome.stdout, native.stdout)
    assert.match(outcome.stderr, /^folio: FOLIO_WORKERS="lots" is not accepted \([^\n]+\); running natively\n$/)
    assert.match(report.serial ?? "", /FOLIO_WORKERS="lots"/)
  })

  it("of one worker, and of off, run natively and say why", () => {
    const rows: ReadonlyArray<readonly [Record<string, string>, RegExp]> = [
      [{ FOLIO_WORKERS: "1" }, /FOLIO_WORKERS=1/],
      [{ FOLIO_OFF: "1" }, /FOLIO_OFF=1/]
    ]
    for (const [environment, reason] of rows) {
      const { outcome, report } = reported([esm()], environment)
      assert.strictEqual(outcome.stderr, "")
      assert.match(report.serial ?? "", reason)
      assert.isUndefined(report.facts)
    }
  })
})

describe("the report", () => {
  it("is text on stderr", () => {
    const { status, stderr } = withRegister([esm()], { ...uncached, FOLIO_REPORT: "-" })
    assert.strictEqual(status, 0)
    assert.match(stderr, /^folio: process \d+, Node\.js 26\./)
    assert.match(stderr, /module from file:\S+app\.mjs, [\d,]+ bytes: patched/)
    assert.match(stderr, /sha256 [0-9a-f]{64}/)
    assert.match(stderr, /[1-9]\d* of \d+ loops planned, 1 instances, prepared in [\d.]+ ms/)
  })

  it("is written by process.exit and by an uncaught error too", () => {
    for (const last of ["process.exit(3)", "throw new Error('x')"]) {
      const { report } = reported([esm(last)])
      assert.strictEqual(report.facts?.modules[0]?.state, "patched")
    }
  })

  it("has the process id in its name where %p stands", () => {
    const folder = join(scratch.path, "reports")
    mkdirSync(folder)
    withRegister([esm("console.log(process.pid)")], { ...uncached, FOLIO_REPORT: join(folder, "folio-%p.json") })
    const [name] = readdirSync(folder)
    const report = JSON.parse(readFileSync(join(folder, name ?? ""), "utf8")) as { process: number }
    assert.strictEqual(name, `folio-${report.process}.json`)
  })

  it("that cannot be written is a line, not an error", () => {
    const { status, stderr } = withRegister([esm()], { ...uncached, FOLIO_REPORT: join(scratch.path, "no", "folder") })
    assert.strictEqual(status, 0)
    assert.match(stderr, /^folio: the report cannot be written: ENOENT[^\n]*\n$/)
  })
})

describe("the cache", () => {
  it("is filled by one start and used by the next", () => {
    const environment = { FOLIO_CACHE: join(scratch.path, "cache-two"), FOLIO_PREPARE: "wait", FOLIO_LEARN: "0" }
    assert.isFalse(reported([esm()], environment).report.facts?.modules[0]?.cacheHit)
    const { outcome, report } = reported([esm()], { ...environment, FOLIO_PREPARE: "off" })
    assert.isTrue(report.facts?.modules[0]?.cacheHit)
    assert.strictEqual(report.facts?.modules[0]?.state, "patched")
    assert.strictEqual(outcome.stdout, runNode([esm()]).stdout)
  })

  it("with a damaged entry is one warning and native", () => {
    const cache = join(scratch.path, "cache-damaged")
    const environment = { FOLIO_CACHE: cache, FOLIO_PREPARE: "wait", FOLIO_LEARN: "0" }
    reported([esm()], environment)
    const [name] = readdirSync(join(cache, "v1"))
    const file = join(cache, "v1", name ?? "")
    const content = new Uint8Array(readFileSync(file))
    content[content.length - 1] ^= 1
    writeFileSync(file, content)
    const { outcome, report } = reported([esm()], { FOLIO_CACHE: cache, FOLIO_PREPARE: "off" })
    assert.strictEqual(outcome.status, 0)
    assert.strictEqual(outcome.stdout, runNode([esm()]).stdout)
    assert.match(outcome.stderr, /^folio: the cache entry \S+ was damaged \([^\n]+\n$/)
    assert.strictEqual(report.facts?.modules[0]?.state, "unprepared")
  })

  it("that is full is done without, and the report says what the system said", () => {
    const file = esm()
    // No file may become larger than nothing, while stdout and stderr are pipes.
    const command = `ulimit -f 0; exec "$@"`
    const environment = { ...plainEnvironment, FOLIO_CACHE: join(scratch.path, "full"), FOLIO_PREPARE: "wait" }
    const { status, stderr, stdout } = spawnSync(
      "bash",
      ["-c", command, "-", process.execPath, "--import", register, file],
      { encoding: "utf8", env: { ...environment, FOLIO_REPORT: "-" } }
    )
    assert.deepStrictEqual([status, stdout], [0, runNode([file]).stdout])
    assert.match(stderr, /^ {2}cache: E(?:FBIG|NOSPC)/m)
    assert.match(stderr, /bytes: patched/)
  })

  it("that cannot be used is done without", () => {
    const file = scratch.file("not-a-folder", "")
    const { outcome, report } = reported([esm()], { FOLIO_CACHE: file, FOLIO_PREPARE: "wait" })
    assert.strictEqual(outcome.stderr, "")
    assert.strictEqual(report.facts?.modules[0]?.state, "patched")
  })
})
