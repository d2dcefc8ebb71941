import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, rmSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { folio, moduleFile } from "./folio.ts"

const squares = moduleFile("squares.wat")

describe("folio inspect", () => {
  it("shows each loop with its verdict, and what can be done", async () => {
    const { code, stderr, stdout } = await folio(["inspect", squares])
    assert.strictEqual(code, 0)
    assert.strictEqual(stderr, "folio: assembled squares.wat with binaryen\n")
    const lines = stdout.split("\n")
    assert.match(lines[0], /^squares\.wat: 5 functions, 3 loops: 2 planned, 0 inside these, 1 stays serial$/)
    assert.match(stdout, /squares \[0\] +0x[0-9a-f]+ +planned, direct +captured-input/)
    assert.match(stdout, /chain \[4\] +0x[0-9a-f]+ +scalar-carry +at 0x[0-9a-f]+: /)
    assert.match(stdout, /Serial by first reason:\n1 {2}scalar-carry {2}Compute each iteration from its index/)
    // Nobody asked for colours: stdout is no terminal.
    assert.notInclude(stdout, "\u001b")
  })

  it("gives one document with every reason", async () => {
    const { code, stdout } = await folio(["inspect", "--json", "-"], { stdin: await readFile(squares) })
    assert.strictEqual(code, 0)
    const found = JSON.parse(stdout)
    assert.deepStrictEqual(found.totals, {
      functions: 5,
      loops: 3,
      planned: 2,
      inside: 0,
      refused: 1,
      reasons: { "scalar-carry": 1 }
    })
    const chain = found.functions.find((one: { exports: ReadonlyArray<string> }) => one.exports.includes("chain"))
    const [{ offset, reasons: [reason] }] = chain.loops
    assert.strictEqual(reason.code, "scalar-carry")
    assert.isAtLeast(reason.offset, offset)
    for (const field of ["detail", "remedy"]) assert.isNotEmpty(reason[field])
  })

  it("needs no imports, and says what a module without loops is", async () => {
    const { code, stdout } = await folio(["inspect", moduleFile("imports.wat")])
    assert.strictEqual(code, 0)
    assert.match(
      stdout,
      /^imports\.wat: 1 function, 0 loops.*\nRuns natively: no loop of this module can run apart\.\n$/
    )
  })

  it("refuses what is no module with exit code 1", async () => {
    const broken = await folio(["inspect", "-"], { stdin: "(module (func" })
    assert.strictEqual(broken.code, 1)
    assert.match(broken.stderr, /^folio: stdin: not a usable module: text: .*\n$/)
    const bytes = await folio(["inspect", "-", "--json"], { stdin: "\0asm\x01\0\0\0\x63" })
    assert.strictEqual(bytes.code, 1)
    assert.strictEqual(JSON.parse(bytes.stdout).error.tag, "ModuleInvalid")
  })
})

describe("folio inspect --html", () => {
  it("writes a page into a file, or to stdout", async () => {
    const folder = mkdtempSync(join(tmpdir(), "folio-html-"))
    try {
      const file = join(folder, "squares.html")
      const written = await folio(["inspect", squares, "--html", "--output", file])
      assert.strictEqual(written.code, 0, written.stderr)
      assert.strictEqual(written.stdout, "")
      const page = await readFile(file, "utf8")
      assert.match(page, /^<!doctype html>\n[^]*<\/html>\n$/)
      assert.include(page, `<rect class="planned"`)
      const printed = await folio(["inspect", "-", "--html"], { stdin: await readFile(squares) })
      assert.strictEqual(printed.stdout.replaceAll("stdin", "squares.wat").trim(), page.trim())
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it("is weighed by a profile, which tells each loop's share as text and document, too", async () => {
    const folder = mkdtempSync(join(tmpdir(), "folio-html-"))
    try {
      const file = join(folder, "profile.json")
      await folio(["run", squares, "squares", "1000", "--profile", file])
      const page = (await folio(["inspect", squares, "--html", "--profile", file])).stdout
      assert.match(page, /Areas are executed instructions; 100\.0 % of 28,008 are in planned loops/)
      assert.match(page, /1 execution, 1,000 iterations, 50\.0 % of the run/)
      const { stdout } = await folio(["inspect", squares, "--profile", file])
      assert.match(stdout, /squares \[0\] +0x[0-9a-f]+ +50\.0 % +planned/)
      const document = JSON.parse((await folio(["inspect", squares, "--json", "--profile", file])).stdout)
      assert.approximately(document.functions[0].loops[0].share, 0.5, 0.001)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it("refuses what it cannot do", async () => {
    const rows: ReadonlyArray<readonly [ReadonlyArray<string>, number, RegExp]> = [
      [["--html", "--json"], 2, /--html and --json are two documents/],
      [["--html", "--output", join(squares, "x.html")], 1, /x\.html: (?:ENOTDIR|EEXIST)/],
      [["--html", "--profile", "absent.json"], 1, /absent\.json: ENOENT/]
    ]
    for (const [args, code, line] of rows) {
      const { code: ended, stderr, stdout } = await folio(["inspect", squares, ...args])
      assert.strictEqual(ended, code, stderr)
      assert.match(stderr + stdout, line)
    }
  })
})

describe("folio", () => {
  it("explains itself with examples, without colours where none are wanted", async () => {
    for (
      const args of [["--help"], [], ["run", "--help"], ["inspect", "-h"], ["doctor", "--help"], ["prepare", "-h"], [
        "cache"
      ]]
    ) {
      const { code, stdout } = await folio(args)
      assert.strictEqual(code, 0, args.join(" "))
      assert.match(stdout, /Examples:\s+folio /)
      assert.notInclude(stdout, "\u001b")
    }
  })

  it("tells its version", async () => {
    const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"))
    assert.strictEqual((await folio(["--version"])).stdout.trim(), version)
  })
})

describe("folio doctor", () => {
  it("has a line for each thing it looked at", async () => {
    const { code, stdout } = await folio(["doctor"])
    assert.strictEqual(code, 0)
    for (const what of ["versions", "cores", "lanes", "affinity", "memory", "ceiling"]) {
      assert.match(stdout, new RegExp(`^${what} +(?:ok|off|info) +\\S`, "m"))
    }
  })

  it("says what is off and why", async () => {
    const { code, stdout } = await folio(["doctor", "--json"], { flags: ["--no-experimental-ffi"] })
    assert.strictEqual(code, 0)
    const findings: ReadonlyArray<{ what: string; state: string; detail: string }> = JSON.parse(stdout).findings
    const memory = findings.find(({ what }) => what === "memory")
    assert.strictEqual(memory?.state, "off")
    assert.match(memory?.detail ?? "", /alias: .+/)
  })
})
