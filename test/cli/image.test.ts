import { afterAll, assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { folio, main, moduleFile } from "./folio.ts"

const folder = mkdtempSync(join(tmpdir(), "folio-cli-image-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const at = (name: string): string => join(folder, name)
const module = moduleFile("booting.wat")

/** A script that gives the imports, with a number of its own. */
const host = (number: number): string => {
  const file = at(`host-${number}.mjs`)
  writeFileSync(file, `export default () => ({ host: { number: () => ${number} } })\n`)
  return file
}

const bake = (number: number, ...args: ReadonlyArray<string>) =>
  folio(["bake", module, "--init", "boot", "--imports", host(number), ...args])

describe("folio bake", () => {
  it("writes a module that is born booted, an image, and its chunks", async () => {
    const [baked, image, chunks] = [at("a.wasm"), at("a.folio"), at("chunks")]
    const ended = await bake(77, "--output", baked, "--image", image, "--chunks", chunks, "--json")
    assert.strictEqual(ended.code, 0, ended.stderr)
    const document = JSON.parse(ended.stdout) as { pages: number; written: ReadonlyArray<{ file: string }> }
    assert.strictEqual(document.pages, 1)
    assert.deepStrictEqual(document.written.map(({ file }) => file), [baked, image, chunks])
    assert.deepStrictEqual(readdirSync(chunks), ["image.000", "image.index", "image.wasm"])
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(baked)), {
      host: { number: () => assert.fail("booted again") }
    })
    assert.strictEqual((exports["seed"] as () => number)(), 77)
    // The same boot gives the same bytes, and nothing is left besides.
    await bake(77, "--image", at("again.folio"))
    assert.isTrue(readFileSync(image).equals(readFileSync(at("again.folio"))))
    assert.deepStrictEqual(readdirSync(folder).filter((name) => name.endsWith(".tmp")), [])
  })

  it("writes the module to stdout, and what it says of it to stderr", async () => {
    const args = [main, "bake", module, "--init", "boot", "--imports", host(78), "--output", "-"]
    const { status, stderr, stdout } = spawnSync(process.execPath, args)
    assert.strictEqual(status, 0, stderr.toString())
    assert.isTrue(WebAssembly.validate(new Uint8Array(stdout)))
    assert.match(stderr.toString(), /^folio: booting\.wat: 1 page of 64 KiB differs/m)
    const both = await bake(78, "--output", "-", "--json")
    assert.strictEqual(both.code, 2)
    assert.strictEqual(JSON.parse(both.stdout).error.tag, "Usage")
  })

  it("boots with a host of its own: WASI", async () => {
    writeFileSync(
      at("wasi.mjs"),
      `import { WASI } from "node:wasi"
      const wasi = new WASI({ version: "preview1", env: { NAME: "from the environment" } })
      export default wasi.getImportObject()
      export const boot = (instance) => wasi.initialize(instance)
      `
    )
    const wasi = moduleFile("wasi.wat")
    const ended = await folio(["bake", wasi, "--imports", at("wasi.mjs"), "--output", at("wasi.wasm")])
    assert.strictEqual(ended.code, 0, ended.stderr)
    const refuse = {
      environ_get: () => assert.fail("asked again"),
      environ_sizes_get: () => assert.fail("asked again")
    }
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(at("wasi.wasm"))), {
      wasi_snapshot_preview1: refuse
    })
    const memory = Buffer.from((exports["memory"] as WebAssembly.Memory).buffer)
    assert.strictEqual(memory.toString("utf8", 2048, 2048 + 25), "NAME=from the environment")
    assert.strictEqual((exports["initialised"] as () => number)(), 1)
  })

  it("keeps what the script says of the state: what must be renewed, handles, and that it must not be kept", async () => {
    const script = (name: string, more: string): string => {
      writeFileSync(at(name), `export default { host: { number: () => 9 } }\n${more}`)
      return at(name)
    }
    const run = (name: string, more: string, ...args: ReadonlyArray<string>) =>
      folio([
        "bake",
        module,
        "--init",
        "boot",
        "--imports",
        script(name, more),
        "--image",
        at("contract.folio"),
        ...args
      ])
    const kept = await run("renew.mjs", `export const renew = ["seed"]\nexport const handles = ["/dev/urandom"]\n`)
    assert.strictEqual(kept.code, 0, kept.stderr)
    const shown = await folio(["image", "inspect", at("contract.folio"), "--json"])
    assert.deepInclude(JSON.parse(shown.stdout), { renew: ["seed"], rebind: ["/dev/urandom"] })
    const live = await run("refused.mjs", `export const refused = () => "a transaction is open"\n`, "--json")
    assert.strictEqual(live.code, 3)
    assert.deepInclude(JSON.parse(live.stdout).error, { code: "live-state", detail: "a transaction is open" })
    const nameless = await run("handles.mjs", `export const handles = [undefined]\n`)
    assert.strictEqual(nameless.code, 3)
    const wrong = await run("wrong.mjs", `export const renew = "seed"\n`)
    assert.strictEqual(wrong.code, 1)
    assert.match(wrong.stderr, /its export "renew" is no list of names/)
  })

  it("says what is missing: an import, an export, a script", async () => {
    const noImports = await folio(["bake", module, "--init", "boot", "--image", at("x.folio")])
    assert.strictEqual(noImports.code, 3)
    assert.match(noImports.stderr, /^folio: booting\.wat: an import does not fit/)
    const noExport = await folio(["bake", module, "--init", "start", "--imports", host(1)])
    assert.strictEqual(noExport.code, 2)
    assert.match(noExport.stderr, /no export "start"\. Exported functions: "boot", "seed"\./)
    const noScript = await folio(["bake", module, "--imports", at("none.mjs")])
    assert.strictEqual(noScript.code, 1)
    assert.match(noScript.stderr, /none\.mjs/)
    const unknown = await folio(["bake", module, "--inti", "boot"])
    assert.strictEqual(unknown.code, 2)
    assert.match(unknown.stderr, /there is no option --inti/)
  })
})

describe.runIf(existsSync("/usr/bin/script"))("where stderr is a terminal", () => {
  it("says what long work does, and leaves nothing of that", () => {
    const command = (...args: ReadonlyArray<string>): string => {
      const line = [process.execPath, main, ...args].map((word) => `'${word}'`).join(" ")
      return spawnSync("/usr/bin/script", ["-qec", line, "/dev/null"], { encoding: "utf8" }).stdout
    }
    const plain = at("plain.wat")
    writeFileSync(plain, `(module (memory 2) (func (export "boot") (i32.store (i32.const 70000) (i32.const 1))))`)
    const baked = command("bake", plain, "--init", "boot", "--image", at("plain.folio"))
    for (const state of ["compiling", "booting", "capturing", "writing"]) {
      assert.include(baked, `\u001b[Kfolio: plain.wat: ${state}`)
    }
    assert.include(baked, "\u001b[Kplain.wat: 1 page of 64 KiB differs")
    const compared = command("image", "diff", at("plain.folio"), at("plain.folio"), plain)
    assert.include(compared, ": reading and checking")
    assert.include(compared, "\u001b[Kequal")
  })
})

describe("folio image", () => {
  it("inspects an image, and draws its pages", async () => {
    await bake(5, "--image", at("b.folio"), "--fingerprint", "v1")
    const shown = await folio(["image", "inspect", at("b.folio"), "--module", module, "--svg", at("b.svg"), "--json"])
    assert.strictEqual(shown.code, 0, shown.stderr)
    const document = JSON.parse(shown.stdout)
    assert.strictEqual(document.fingerprint, "v1")
    assert.deepStrictEqual(document.memories, [{ pages: 2, delta: 1, zeroed: 0 }])
    assert.deepStrictEqual(document.globals, [{ index: 0, type: "i32", mutable: true, bits: "0x5" }])
    assert.match(readFileSync(at("b.svg"), "utf8"), /page 0: the module's own data/)
    const text = await folio(["image", "inspect", at("b.folio")])
    assert.match(text.stdout, /memory 0\s+2 pages, 1 in the image/)
  })

  it("finds secrets and tells them by name only", async () => {
    await bake(6, "--image", at("c.folio"))
    writeFileSync(at("secrets.env"), "# what must not be\nTOKEN=asset-lo\nOTHER=not there at all\n")
    const found = await folio(["image", "scan", at("c.folio"), module, "--secrets", at("secrets.env")])
    assert.strictEqual(found.code, 4)
    assert.match(found.stdout, /^TOKEN {2}raw {2}memory 0, byte 70004 {2}in the image\n$/)
    assert.notInclude(found.stdout + found.stderr, "asset-lo")
    writeFileSync(at("secrets.env"), "OTHER=not there at all\n")
    const none = await folio(["image", "scan", at("c.folio"), module, "--secrets", at("secrets.env")])
    assert.deepStrictEqual([none.code, none.stdout], [0, "none of 1 found\n"])
    writeFileSync(at("secrets.env"), "PIN=1234\n")
    const short = await folio(["image", "scan", at("c.folio"), module, "--secrets", at("secrets.env")])
    assert.deepStrictEqual([short.code, short.stderr.includes("line 1")], [2, true])
  })

  it("compares two boots", async () => {
    await bake(0x13198a2e, "--image", at("d.folio"))
    await bake(0x243f6a88, "--image", at("e.folio"))
    const differs = await folio(["image", "diff", at("d.folio"), at("e.folio"), module, "--json", "--svg", at("d.svg")])
    assert.strictEqual(differs.code, 4)
    const verdict = JSON.parse(differs.stdout)
    assert.deepStrictEqual(verdict.differing, [{ memory: 0, offset: 70_000, length: 4, kind: "seed" }])
    assert.deepStrictEqual(verdict.outside, ["global 0: 0x13198a2e and 0x243f6a88"])
    assert.include(readFileSync(at("d.svg"), "utf8"), "page 1: differs between the images")
    const equal = await folio(["image", "diff", at("d.folio"), at("d.folio"), module])
    assert.deepStrictEqual([equal.code, equal.stdout], [0, "equal\n"])
  })

  it("bakes an image into its module, and refuses another one", async () => {
    await bake(9, "--image", at("f.folio"), "--output", at("f.direct.wasm"))
    const applied = await folio(["image", "apply", at("f.folio"), module, "--output", at("f.wasm")])
    assert.strictEqual(applied.code, 0, applied.stderr)
    assert.isTrue(readFileSync(at("f.wasm")).equals(readFileSync(at("f.direct.wasm"))))
    const other = await folio([
      "image",
      "apply",
      at("f.folio"),
      moduleFile("squares.wat"),
      "--output",
      at("g.wasm"),
      "--json"
    ])
    assert.strictEqual(other.code, 3)
    const { error } = JSON.parse(other.stdout)
    assert.deepStrictEqual([error.tag, error.code, error.place], ["ImageMismatch", "module", "the module"])
  })

  it("refuses a damaged image with its place", async () => {
    await bake(9, "--image", at("g.folio"))
    const bytes = readFileSync(at("g.folio"))
    bytes[bytes.length - 1] ^= 1
    writeFileSync(at("g.folio"), bytes)
    const refused = await folio(["image", "inspect", at("g.folio")])
    assert.strictEqual(refused.code, 3)
    assert.match(refused.stderr, /^folio: g\.folio: page 1 of memory 0: its bytes do not have the hash/)
  })
})
