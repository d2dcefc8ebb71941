/**
 * `folio prepare` and `folio cache`, and that a program then finds what was prepared.
 */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { manyLoops } from "../support/many-loops.ts"
import { assemble } from "../support/wat.ts"
import { folio, main, moduleFile } from "./folio.ts"

const root = mkdtempSync(join(tmpdir(), "folio-prepare-"))
chmodSync(root, 0o755)
afterAll(() => rmSync(root, { force: true, recursive: true }))
let caches = 0
const newCache = (): string => join(root, `cache-${++caches}`)
const entriesOf = (cache: string): ReadonlyArray<string> => readdirSync(join(cache, "v1"))

const squares = moduleFile("squares.wat")
const many = join(root, "many.wasm")
writeFileSync(many, await assemble(manyLoops(3000)))

/** A package as npm installs it. */
const folder = join(root, "node_modules")
mkdirSync(join(folder, "a", "dist"), { recursive: true })
mkdirSync(join(folder, "a", "node_modules", "b"), { recursive: true })
const squaresBytes = await assemble(readFileSync(squares, "utf8"))
writeFileSync(join(folder, "a", "dist", "squares.wasm"), squaresBytes)
writeFileSync(join(folder, "a", "node_modules", "b", "again.wasm"), squaresBytes)
writeFileSync(join(folder, "a", "dist", "squares.js"), "not looked at")

describe("folio prepare", () => {
  it("fills the cache that the drop-in reads", async () => {
    const cache = newCache()
    const { code, stderr, stdout } = await folio(["prepare", folder, "--cache", cache])
    assert.strictEqual(code, 0, stderr)
    // No line of progress: stderr is no terminal.
    assert.strictEqual(stderr, "")
    assert.match(stdout, /squares\.wasm +prepared +2 of 3 loops +\d+ ms\n/)
    assert.match(stdout, /again\.wasm +known +2 of 3 loops\n/)
    assert.lengthOf(entriesOf(cache), 1)

    const report = join(root, "report.json")
    const program = `const { exports } = new WebAssembly.Instance(new WebAssembly.Module(
      require("node:fs").readFileSync(${JSON.stringify(join(folder, "a", "dist", "squares.wasm"))})))
      console.log(exports.squares(10))`
    const register = join(main, "..", "register.ts")
    const ran = spawnSync(process.execPath, ["--import", register, "--eval", program], {
      encoding: "utf8",
      env: { ...process.env, FOLIO_CACHE: cache, FOLIO_PREPARE: "off", FOLIO_REPORT: report }
    })
    assert.strictEqual(ran.stdout, "285n\n", ran.stderr)
    const [module] = JSON.parse(readFileSync(report, "utf8")).facts.modules
    assert.deepInclude(module, { state: "patched", cacheHit: true })
  })

  it("gives one document, and prepares again when asked to", async () => {
    const cache = newCache()
    const first = JSON.parse((await folio(["prepare", squares, "--cache", cache, "--json"])).stdout)
    assert.strictEqual(first.directory, cache)
    assert.deepInclude(first.files[0], { state: "prepared", planned: 2, refused: 1, complete: true })
    assert.match(first.files[0].module, /^[0-9a-f]{16}$/)
    for (const [again, state] of [[[], "known"], [["--again"], "prepared"]] as const) {
      const { stdout } = await folio(["prepare", squares, "--cache", cache, "--json", ...again])
      assert.strictEqual(JSON.parse(stdout).files[0].state, state)
    }
  })

  it("says why a module will run natively", async () => {
    const { code, stdout } = await folio(["prepare", moduleFile("imports.wat"), "--cache", newCache()])
    assert.strictEqual(code, 0)
    assert.match(stdout, /native +0 of 0 loops +\d+ ms +no loop of it can run on several threads/)
  })

  it("keeps what was found when the time is over, and goes on from there when there is more", async () => {
    const cache = newCache()
    const short = JSON.parse((await folio(["prepare", many, "--cache", cache, "--budget-ms", "1", "--json"])).stdout)
    const [{ complete, planned, reasons, refused }] = short.files
    assert.isFalse(complete)
    assert.isAbove(reasons.budget, 0)
    assert.strictEqual(planned + refused, 3000)
    const long = JSON.parse((await folio(["prepare", many, "--cache", cache, "--json"])).stdout)
    assert.deepInclude(long.files[0], { state: "prepared", complete: true })
    assert.isAbove(long.files[0].planned, planned)
  })

  it("tells each file that is no module, and prepares the others", async () => {
    const text = import.meta.filename
    const { code, stderr, stdout } = await folio(["prepare", text, squares, "absent.wasm", "--cache", newCache()])
    assert.strictEqual(code, 1)
    assert.match(stdout, /squares\.wat +prepared/)
    assert.match(stderr, /prepare\.test\.ts: not a usable module/)
    assert.match(stderr, /absent\.wasm: ENOENT/)
  })

  const failures: ReadonlyArray<readonly [string, ReadonlyArray<string>, number, RegExp]> = [
    ["no such place", ["absent"], 1, /absent: ENOENT/],
    ["a folder without modules", [join(folder, "a", "dist", "..", "..", "..", "empty")], 1, /no \.wasm file in /],
    ["a budget of nothing", [squares, "--budget-ms", "0"], 2, /--budget-ms takes milliseconds/],
    ["too little memory", [squares, "--budget-mib", "1"], 2, /--budget-mib takes MiB, 64 or more/],
    ["no cache", [squares, "--cache", "off"], 3, /there is no cache/],
    ["a file where the cache should be", [squares, "--cache", many], 1, /was not kept: (?:ENOTDIR|EEXIST)/]
  ]
  mkdirSync(join(root, "empty"))
  for (const [what, args, code, line] of failures) {
    it(`${what}: exit code ${code} and one line, or one document`, async () => {
      const [plain, json] = await Promise.all([folio(["prepare", ...args]), folio(["prepare", ...args, "--json"])])
      assert.strictEqual(plain.code, code, plain.stderr)
      assert.match(plain.stderr, line)
      assert.match(plain.stderr, /^folio: [^\n]*\n$/)
      assert.strictEqual(json.code, code)
      assert.match(JSON.parse(json.stdout).error.message, line)
    })
  }

  it("ends with exit code 1 and one line where the file system is full", () => {
    // No file may become larger than nothing: what a full disk says, from the system itself.
    const cache = newCache()
    const { status, stderr } = spawnSync(
      "bash",
      ["-c", `ulimit -f 0; exec "$@"`, "-", process.execPath, main, "prepare"]
        .concat(squares, "--cache", cache),
      { encoding: "utf8", env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" } }
    )
    assert.strictEqual(status, 1, stderr)
    assert.match(stderr, /^folio: .*squares\.wat: it was not kept: E(?:FBIG|NOSPC)[^\n]*\n$/m)
    assert.deepStrictEqual(entriesOf(cache), [])
  })

  it.runIf(process.getuid?.() === 0)("ends with exit code 1 and one line where nothing may be written", () => {
    const cache = newCache()
    mkdirSync(join(cache, "v1"), { recursive: true })
    // As nobody: the super-user may write everywhere.
    const { status, stderr } = spawnSync(process.execPath, [main, "prepare", squares, "--cache", cache], {
      encoding: "utf8",
      env: { ...process.env, HOME: "/", NODE_DISABLE_COMPILE_CACHE: "1" },
      uid: 65_534,
      gid: 65_534
    })
    assert.strictEqual(status, 1, stderr)
    assert.match(stderr, /squares\.wat: it was not kept: EACCES[^\n]*\n$/)
  })

  it.runIf(existsSync("/usr/bin/script"))("shows how far it is, where stderr is a terminal", () => {
    const command = [process.execPath, main, "prepare", many, "--cache", newCache()].map((word) => `'${word}'`).join(
      " "
    )
    const { stdout } = spawnSync("/usr/bin/script", ["-qec", command, "/dev/null"], { encoding: "utf8" })
    assert.match(stdout, /folio: .*many\.wasm: [\d,]+ of 3,000 functions/)
    assert.match(stdout, /many\.wasm +.*prepared/)
  })

  it("is interrupted by Ctrl+C: exit code 130, nothing unfinished", async () => {
    const cache = newCache()
    const child = spawn(process.execPath, [main, "prepare", many, many, "--again", "--cache", cache], {
      stdio: "ignore"
    })
    // It has begun when the cache is there, since the first of the two is kept then.
    while (!existsSync(join(cache, "v1"))) await new Promise((resolve) => setTimeout(resolve, 5))
    child.kill("SIGINT")
    const [code, signal] = await once(child, "exit")
    assert.deepStrictEqual([code, signal], [130, null])
    assert.isTrue(entriesOf(cache).every((name) => !name.startsWith(".")))
  })
})

describe("folio cache", () => {
  it("lists entries with module, size, loops, age and build", async () => {
    const cache = newCache()
    await folio(["prepare", squares, moduleFile("imports.wat"), "--cache", cache])
    const { code, stdout } = await folio(["cache", "list", "--cache", cache])
    assert.strictEqual(code, 0)
    const [title, heads, ...rows] = stdout.trimEnd().split("\n")
    assert.match(title, /: 2 entries, \d+\.\d KiB of 256\.0 MiB$/)
    assert.match(heads, /^module +size +state +planned +kept +used +build$/)
    assert.match(rows.join("\n"), /^[0-9a-f]{12} +\d+ B +patched +2 of 3 +\d+\.\d KiB +\d+ s +\d+\.\d+\.\d+\S*$/m)
    assert.match(rows.join("\n"), /^[0-9a-f]{12} +\d+ B +native +0 of 0 /m)
  })

  it("gives the same as one document", async () => {
    const cache = newCache()
    const prepared = JSON.parse((await folio(["prepare", squares, "--cache", cache, "--json"])).stdout)
    const { bytes, directory, entries } = JSON.parse(
      (await folio(["cache", "list", "--json", "--cache", cache])).stdout
    )
    assert.strictEqual(directory, cache)
    assert.lengthOf(entries, 1)
    const [entry] = entries
    assert.deepInclude(entry, { usable: true, patched: true, module: prepared.files[0].module, rung: "alias" })
    assert.strictEqual(entry.v8, process.versions.v8)
    assert.strictEqual(entry.bytes, bytes)
    assert.isBelow(Math.abs(Date.parse(entry.used) - Date.now()), 600_000)
  })

  it("is empty where there is none yet", async () => {
    const { code, stdout } = await folio(["cache", "list", "--cache", newCache()])
    assert.strictEqual(code, 0)
    assert.match(stdout, /: 0 entries, 0 B of 256\.0 MiB\n$/)
  })

  /** Changes a byte in the middle of an entry. */
  const damage = (file: string): void => {
    const content = new Uint8Array(readFileSync(file))
    content[content.length >> 1] ^= 1
    writeFileSync(file, content)
  }

  it("finds damage", async () => {
    const cache = newCache()
    await folio(["prepare", squares, "--cache", cache])
    assert.strictEqual((await folio(["cache", "verify", "--cache", cache])).code, 0)
    const file = join(cache, "v1", entriesOf(cache)[0])
    damage(file)
    const { code, stderr, stdout } = await folio(["cache", "verify", "--cache", cache])
    assert.strictEqual(code, 1)
    assert.include(stdout, `\ndamaged: ${file}: `)
    assert.match(stderr, /^folio: 1 entry damaged; folio cache clear --unusable/)
    const document = JSON.parse((await folio(["cache", "verify", "--json", "--cache", cache])).stdout)
    assert.strictEqual(document.damaged, 1)
  })

  it("clears what cannot be used, or all", async () => {
    const cache = newCache()
    await folio(["prepare", squares, moduleFile("imports.wat"), "--cache", cache])
    const [name, other] = entriesOf(cache)
    writeFileSync(
      join(cache, "v1", `${"0".repeat(32)}-0.0.9+abc-13.6.233.10-node.28-alias`),
      readFileSync(join(cache, "v1", other))
    )
    damage(join(cache, "v1", name))
    const cleared = await folio(["cache", "clear", "--unusable", "--json", "--cache", cache])
    assert.deepInclude(JSON.parse(cleared.stdout), { removed: 2, left: 1 })
    assert.deepStrictEqual(entriesOf(cache), [other])
    assert.match((await folio(["cache", "clear", "--cache", cache])).stdout, /: 1 entry removed, /)
    assert.deepStrictEqual(entriesOf(cache), [])
  })

  it("says when there is none", async () => {
    const { code, stderr } = await folio(["cache", "list"], { environment: { FOLIO_CACHE: "off" } })
    assert.strictEqual(code, 3)
    assert.match(stderr, /^folio: there is no cache: FOLIO_CACHE is off/)
  })
})

describe("a profile", () => {
  it("is taken by folio run and guides folio prepare", async () => {
    const cache = newCache()
    const file = join(root, "squares.json")
    const ran = await folio(["run", squares, "squares", "1000", "--profile", file])
    assert.strictEqual(ran.code, 0, ran.stderr)
    assert.match(ran.stderr, /squares\.json: 28,008 instructions, 50\.0 % of them in the loop at 0x[0-9a-f]+\n/)
    const profile = JSON.parse(readFileSync(file, "utf8"))
    assert.strictEqual(profile.format, "folio-profile")
    assert.deepInclude(profile.functions[0].loops[0], { executions: 1, iterations: 1000, instructions: 14_000 })
    await folio(["prepare", squares, "--cache", cache])
    const guided = await folio(["prepare", squares, "--profile", file, "--cache", cache, "--json"])
    assert.deepInclude(JSON.parse(guided.stdout).files[0], {
      state: "prepared",
      planned: 2,
      reasons: { profile: 1 }
    })
  })

  it("is written of a run that traps, too", async () => {
    const file = join(root, "trap.json")
    const { code } = await folio(["run", squares, "quotient", "1", "0", "--profile", file])
    assert.strictEqual(code, 134)
    assert.deepInclude(JSON.parse(readFileSync(file, "utf8")).functions[0], { index: 1, calls: 1, loops: [] })
  })

  it("of another module, or that is none, is refused", async () => {
    const other = join(root, "other.json")
    await folio(["run", many, "f1", "0", "10", "--profile", other])
    const rows: ReadonlyArray<readonly [string, number, RegExp]> = [
      [other, 3, /other\.json: the profile is of another module: many\.wasm/],
      [join(folder, "a", "dist", "squares.js"), 1, /squares\.js: not a profile: /],
      [join(root, "absent.json"), 1, /ENOENT/]
    ]
    for (const [file, code, line] of rows) {
      const ended = await folio(["prepare", squares, "--profile", file, "--cache", newCache()])
      assert.strictEqual(ended.code, code)
      assert.match(ended.stderr, line)
    }
    const two = await folio(["prepare", squares, many, "--profile", other, "--cache", newCache()])
    assert.strictEqual(two.code, 2)
  })
})
