import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { assemble } from "../support/wat.ts"
import { folio, main, moduleFile } from "./folio.ts"

const squares = moduleFile("squares.wat")

const sumOfSquares = (n: number): bigint => {
  let sum = 0n
  for (let i = 0; i < n; i++) sum += BigInt(Math.imul(i, i) >>> 0)
  return sum
}

/** Waits until the main thread of a process has worked for so long that it cannot be starting any more. */
const busy = async (pid: number): Promise<void> => {
  const ticks = () => Number(readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8").split(") ")[1].split(" ")[11])
  while (ticks() < 300) await new Promise((resolve) => setTimeout(resolve, 50))
}

describe("folio run", () => {
  it("prints the result on stdout and how it ran on stderr", async () => {
    const ended = await folio(["run", squares, "squares", "200000", "--workers", "2"])
    assert.strictEqual(ended.stdout, `${sumOfSquares(200_000)}\n`)
    assert.match(ended.stderr, /folio: assembled squares\.wat with binaryen\n/)
    assert.match(ended.stderr, /folio: ran (?:on 2 threads|natively)/)
    assert.strictEqual(ended.code, 0)
  })

  it("compares with the original and finds it equal", async () => {
    const ended = await folio(["run", squares, "squares", "200000", "--verify", "--json", "--workers", "2"])
    assert.strictEqual(ended.code, 0)
    const { report, results, verify } = JSON.parse(ended.stdout)
    assert.deepStrictEqual(verify, { equal: true, differences: [] })
    const sum = sumOfSquares(200_000)
    assert.deepStrictEqual(results, [
      { type: "i64", value: sum.toString(), bits: `0x${sum.toString(16).padStart(16, "0")}` }
    ])
    assert.strictEqual(report.width, 2)
    assert.strictEqual(report.plans, 2)
  })

  it("fails with exit code 3 when it may not run natively and has to", async () => {
    const ended = await folio(["run", squares, "chain", "100", "--fallback", "fail", "--json"])
    assert.strictEqual(ended.code, 3)
    assert.strictEqual(JSON.parse(ended.stdout).error.tag, "NotWorthwhile")
  })

  it("takes arguments by their bits and prints results that read back", async () => {
    const args = ["-1", "-0x8000000000000000", "nan:0x200001", "-nan:0x4000000000001", "0xffee"]
    const ended = await folio(["run", squares, "bits", ...args])
    assert.strictEqual(ended.code, 0)
    assert.deepStrictEqual(ended.stdout.trim().split("\n"), [
      "0x0000000000000000000000000000ffee",
      "-nan:0x4000000000001",
      "nan:0x200001",
      "-9223372036854775808",
      "-1"
    ])
  })

  it("takes options before, between and behind the operands", async () => {
    for (
      const args of [
        ["run", "--json", "--workers=1", squares, "quotient", "-7", "2"],
        ["run", squares, "--workers", "1", "quotient", "-7", "--json", "2"],
        ["run", squares, "quotient", "-7", "2", "--json", "--workers", "1"],
        ["run", "--json", "--workers", "1", "--", squares, "quotient", "-7", "2"]
      ]
    ) {
      const ended = await folio(args)
      assert.strictEqual(ended.code, 0, args.join(" "))
      assert.strictEqual(JSON.parse(ended.stdout).results[0].value, "-3")
    }
  })

  it("reads text and bytes from stdin", async () => {
    const text = await readFile(squares, "utf8")
    for (const stdin of [text, await assemble(text)]) {
      const ended = await folio(["run", "-", "quotient", "42", "6"], { stdin })
      assert.strictEqual(ended.stdout, "7\n")
      assert.strictEqual(ended.code, 0)
    }
  })

  it("calls _initialize first and allocates a missing memory", async () => {
    const ended = await folio(["run", moduleFile("reactor.wat"), "next", "--verify"])
    assert.strictEqual(ended.stdout, "42\n")
    assert.match(ended.stderr, /equal to the original/)
    assert.strictEqual(ended.code, 0)
  })

  it("exits with 134 at a trap, on both sides alike", async () => {
    for (const verify of [[], ["--verify"]]) {
      const ended = await folio(["run", squares, "quotient", "1", "0", ...verify])
      assert.strictEqual(ended.code, 134)
      assert.strictEqual(ended.stdout, "")
      assert.match(ended.stderr, /folio: squares\.wat: "quotient" trapped: divide by zero\..*\n$/)
    }
  })
})

/** One line each: what is wrong, the exit code, and what the line says. */
const failures: ReadonlyArray<readonly [string, ReadonlyArray<string>, number, RegExp]> = [
  ["no such file", ["run", "absent.wasm", "f"], 1, /absent\.wasm: not a usable module: .*ENOENT.*Check the path/],
  ["not a module", ["run", import.meta.filename, "f"], 1, /run\.test\.ts: not a usable module: .*magic word/],
  ["no such export", ["run", squares, "cubes", "1"], 2, /no export "cubes"\. Exported functions: "squares"/],
  ["an export that is no function", ["run", squares, "memory"], 2, /"memory" is a memory, not a function/],
  [
    "too few arguments",
    ["run", squares, "quotient", "1"],
    2,
    /1 given where 2 wanted: quotient is \(i32, i32\) -> i32/
  ],
  ["an argument of the wrong type", ["run", squares, "squares", "1.5"], 2, /argument 1: "1\.5" is not an i32/],
  ["an argument that does not fit", ["run", squares, "squares", "4294967296"], 2, /does not fit an i32/],
  ["a reference", ["run", squares, "keep", "null"], 3, /references cannot be written on a command line/],
  [
    "missing imports",
    ["run", moduleFile("imports.wat"), "_start"],
    3,
    /function import "wasi_snapshot_preview1" "fd_write" and 1 more is missing\. Give it in `imports`, or run the program/
  ],
  [
    "a width of nothing",
    ["run", squares, "squares", "1", "--workers", "0"],
    2,
    /--workers takes a number from 1 to 32/
  ],
  ["a width that is no number", ["run", squares, "squares", "1", "--workers", "many"], 2, /many/],
  ["an unknown option", ["run", squares, "squares", "1", "--fast"], 2, /--fast/],
  ["an unknown command", ["walk"], 2, /run/],
  ["no entry", ["run", squares], 2, /ENTRY/]
]

describe("folio run, when it cannot", () => {
  for (const [what, args, code, line] of failures) {
    it(`${what}: exit code ${code} and one line, or one document`, async () => {
      const [plain, json] = await Promise.all([folio(args), folio([...args, "--json"])])
      assert.strictEqual(plain.code, code, plain.stderr)
      assert.strictEqual(plain.stdout, "")
      const lines = plain.stderr.trimEnd().split("\n").filter((text) => !text.startsWith("folio: assembled"))
      assert.lengthOf(lines, 1, plain.stderr)
      assert.match(lines[0], line)
      assert.match(lines[0], /^folio: /)

      assert.strictEqual(json.code, code, json.stderr)
      const { error } = JSON.parse(json.stdout)
      assert.isString(error.tag)
      assert.match(error.message, line)
    })
  }

  it("says when a memory cannot be had", async () => {
    // As bytes, and not too tight a limit: the assembler and Node.js itself need memory too.
    const stdin = await assemble(`(module (import "env" "memory" (memory 30000)) (func (export "f")))`)
    const ended = await folio(["run", "-", "f"], { stdin, flags: ["--wasm-max-mem-pages=20000"] })
    assert.strictEqual(ended.code, 3, ended.stderr)
    assert.match(ended.stderr, /^folio: stdin: memory refused: .*"env" "memory".*\n$/)
  })
})

describe("folio run, interrupted", () => {
  it("ends at once in the middle of a function that never ends: to a shell exit code 130", async () => {
    const endless = await assemble(`(module (memory 1) (func (export "f") (loop $l (br $l))))`)
    const child = spawn(process.execPath, [main, "run", "-", "f"], { stdio: "pipe" })
    child.stdin.end(endless)
    await busy(child.pid!)
    const ended = once(child, "exit")
    child.kill("SIGINT")
    assert.deepStrictEqual(await ended, [null, "SIGINT"])
  })

  it("waits for nobody who sends SIGTERM", async () => {
    const endless = await assemble(`(module (memory 1) (func (export "f") (loop $l (br $l))))`)
    const child = spawn(process.execPath, [main, "run", "-", "f", "--verify"], { stdio: "pipe" })
    child.stdin.end(endless)
    await busy(child.pid!)
    const ended = once(child, "exit")
    child.kill("SIGTERM")
    assert.deepStrictEqual(await ended, [null, "SIGTERM"])
  })
})
