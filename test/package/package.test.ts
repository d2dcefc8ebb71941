/**
 * The published tarball, installed in another folder, does what the README says.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Consumer } from "./consumer.ts"

const kernel = new URL("../../bench/fixtures/kernels/compute.wasm", import.meta.url)
const compiler = fileURLToPath(new URL("../runtime/tsc.mjs", import.meta.url))
const typeRoots = fileURLToPath(new URL("../../node_modules/@types", import.meta.url))
const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  readonly version: string
  readonly exports: Record<string, unknown>
}

/** What a loop can be split on: threads that map one memory, on more than one core. */
const parallel = process.platform === "linux" && availableParallelism() > 1

/** A Node.js on PATH that the package admits and that is older than the one of the tests. */
const older = (process.env.PATH ?? "").split(delimiter)
  .map((folder) => join(folder, process.platform === "win32" ? "node.exe" : "node"))
  .find((file) => {
    if (!existsSync(file)) return false
    const major = Number.parseInt(spawnSync(file, ["-p", "process.versions.node"], { encoding: "utf8" }).stdout, 10)
    return major >= 20 && major < 26
  })

/** Calls the kernel often enough to be measured, on its own memory and prints a digest of all of it. */
const app = `
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
const { instance } = await WebAssembly.instantiate(readFileSync("compute.wasm"), {})
const { compute, memory, __heap_base } = instance.exports
const words = new Uint32Array(memory.buffer, __heap_base.value, 4096)
for (let i = 0; i < words.length; i++) words[i] = i * 2654435761 + 1
for (let round = 0; round < 40; round++) compute(__heap_base.value, words.length, 4096)
console.log(createHash("sha256").update(new Uint8Array(memory.buffer)).digest("hex"))
`

const library = `
import * as Effect from "effect/Effect"
import { Folio, MemoryFolio } from "folio-wasm"
import { NodeFolio } from "folio-wasm/node"
import { prepare, type Plan } from "folio-wasm/compiler"
import { readFileSync } from "node:fs"

const bytes = readFileSync("compute.wasm")
const plan: Plan = prepare(bytes).plan
const program = Effect.gen(function*() {
  const session = yield* Folio.open(bytes)
  yield* session.run("compute", [1024, 64, 8])
  const missing = yield* session.run("absent").pipe(Effect.catchTag("EntryMissing", () => Effect.succeed("caught")))
  return [Object.keys(session.exports).sort().join(), missing] as const
}).pipe(Effect.scoped)
const answers = [
  await Effect.runPromise(program.pipe(Effect.provide(NodeFolio.layer()))),
  await Effect.runPromise(program.pipe(Effect.provide(MemoryFolio.layer())))
]
console.log(JSON.stringify([plan.loops.length > 0, ...answers]))
`

describe("the packed package", () => {
  let consumer: Consumer

  beforeAll(() => {
    consumer = new Consumer()
    consumer.write("compute.wasm", readFileSync(kernel))
    consumer.write("app.mjs", app)
    consumer.write("library.ts", library)
  }, 300_000)

  afterAll(() => consumer.close())

  it("holds the built house and its papers, and nothing else", () => {
    const paths = consumer.tarball.files.map(({ path }) => path)
    for (const paper of ["package.json", "README.md", "CHANGELOG.md", "LICENSE"]) assert.include(paths, paper)
    assert.deepStrictEqual(
      paths.filter((path) => !/^(?:[A-Z]+(?:\.md)?|package\.json|dist\/.+\.(?:js|d\.ts))$/.test(path)),
      []
    )
    assert.deepStrictEqual(paths.filter((path) => /^dist\/(?!src\/|services\/|layers\/|programs\/)/.test(path)), [])
    assert.deepStrictEqual(paths.filter((path) => /demo|examples|\.test\./.test(path)), [])
  })

  it("answers to every name of its exports map", () => {
    const names = Object.keys(manifest.exports).filter((name) => name !== "./package.json")
    const load = names.map((name) => `await import("folio-wasm${name.slice(1)}")`).join("; ")
    const run = consumer.run(["--input-type=module", "--eval", `${load}; console.log("loaded")`])
    assert.strictEqual(run.stdout, "loaded\n", run.stderr)
  })

  it("runs a program under drop-in with the bytes of the native run", () => {
    const native = consumer.run(["app.mjs"])
    assert.match(native.stdout, /^[0-9a-f]{64}\n$/)
    const dropIn = consumer.run(["--import", "folio-wasm/register", "app.mjs"], {
      FOLIO_CACHE: "off",
      FOLIO_PREPARE: "wait",
      FOLIO_REPORT: "report.json",
      FOLIO_WORKERS: "2"
    })
    assert.strictEqual(dropIn.stdout, native.stdout, dropIn.stderr)
    assert.strictEqual(dropIn.status, 0)
    const report = JSON.parse(readFileSync(join(consumer.folder, "report.json"), "utf8")) as {
      readonly serial?: string
    }
    if (parallel) assert.isUndefined(report.serial)
    else assert.isString(report.serial)
  })

  it.skipIf(older === undefined)("leaves a program on an older Node.js as it is", () => {
    const native = consumer.run(["app.mjs"], {}, older)
    const dropIn = consumer.run(["--import", "folio-wasm/register", "app.mjs"], { FOLIO_REPORT: "-" }, older)
    assert.strictEqual(dropIn.stdout, native.stdout, dropIn.stderr)
    assert.match(dropIn.stderr, /serial: .*Node\.js 26/)
  })

  it("gives its types to a program that is checked, by either resolution", () => {
    for (const [module, resolution] of [["nodenext", "nodenext"], ["preserve", "bundler"]]) {
      const check = consumer.run([
        compiler,
        "--ignoreConfig",
        "--noEmit",
        "--strict",
        ...["--target", "es2022", "--lib", "es2022,dom", "--types", "node", "--typeRoots", typeRoots],
        ...["--module", module as string, "--moduleResolution", resolution as string],
        "library.ts"
      ])
      assert.strictEqual(check.stdout, "", resolution)
      assert.strictEqual(check.status, 0)
    }
  })

  it("is a library with layers, typed errors and a compiler", () => {
    const run = consumer.run(["library.ts"])
    const answer = ["__heap_base,compute,memory", "caught"]
    assert.strictEqual(run.stdout, `${JSON.stringify([true, answer, answer])}\n`, run.stderr)
  })

  it.skipIf(older === undefined)("is a library that runs natively on an older Node.js", () => {
    consumer.write("library.mjs", library.replace(", type Plan", "").replace(": Plan", "").replace(" as const", ""))
    const run = consumer.run(["library.mjs"], {}, older)
    const answer = ["__heap_base,compute,memory", "caught"]
    assert.strictEqual(run.stdout, `${JSON.stringify([true, answer, answer])}\n`, run.stderr)
  })

  it("is a command", () => {
    const folio = join(consumer.folder, "node_modules", ".bin", "folio")
    const shown = consumer.run(["--version"], {}, folio)
    assert.strictEqual(shown.stdout.trim(), manifest.version, shown.stderr)
    const inspected = consumer.run(["inspect", "compute.wasm", "--json"], {}, folio)
    assert.strictEqual(inspected.status, 0, inspected.stderr)
    assert.isObject(JSON.parse(inspected.stdout))
    const prepared = consumer.run(["prepare", "compute.wasm", "--cache", "prepared"], {}, folio)
    assert.match(prepared.stdout, /^compute\.wasm {2}prepared /, prepared.stderr)
    const environment = { FOLIO_CACHE: "prepared", FOLIO_PREPARE: "off", FOLIO_REPORT: "-" }
    assert.match(consumer.run(["--import", "folio-wasm/register", "app.mjs"], environment).stderr, /from the cache/)
  })
})
