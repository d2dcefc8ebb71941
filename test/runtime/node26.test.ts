/**
 * The launcher passes everything through: arguments, output, exit codes, signals, and its own Node.js as "node".
 */
import { assert, describe, it } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const launcher = fileURLToPath(new URL("node26.mjs", import.meta.url))
const launch = (...args: ReadonlyArray<string>) =>
  spawnSync(process.execPath, [launcher, ...args], { encoding: "utf8", input: "from stdin" })

/** Makes the Node.js that runs a launcher say that it is an old one. */
const old = `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}})`

/** Runs a copy of the launcher in a folder where no package is installed. */
const alone = (...before: ReadonlyArray<string>) => {
  const folder = mkdtempSync(join(tmpdir(), "folio-launcher-"))
  try {
    const copy = join(folder, "node26.mjs")
    copyFileSync(launcher, copy)
    return spawnSync(process.execPath, [...before, copy, "-p", "process.execPath"], { encoding: "utf8" })
  } finally {
    rmSync(folder, { force: true, recursive: true })
  }
}

describe("node26", () => {
  it("runs Node.js 26.10, also where it says it runs on an old one", () => {
    assert.strictEqual(launch("-p", "process.version").stdout, "v26.10.0\n")
    const run = spawnSync(process.execPath, ["--import", old, launcher, "-p", "process.version"], { encoding: "utf8" })
    assert.strictEqual(run.stdout, "v26.10.0\n")
  })

  it("passes arguments, stdin, output and the exit code through", () => {
    const program = "process.stdin.on('data', (d) => console.error(`${d}`)).on('end', () => process.exit(7));"
      + "console.log(JSON.stringify(process.argv.slice(1)))"
    const run = launch("-e", program, "--", "two words", "--flag")
    assert.strictEqual(run.stdout, `["two words","--flag"]\n`)
    assert.strictEqual(run.stderr, "from stdin\n")
    assert.strictEqual(run.status, 7)
  })

  it("is what \"node\" means for the children of its program", () => {
    const run = launch("-p", "require('node:child_process').execSync('node -p process.execPath', {encoding:'utf8'})")
    assert.strictEqual(run.stdout.trim(), launch("-p", "process.execPath").stdout.trim())
  })

  it("dies by the signal that its program died by", () => {
    assert.strictEqual(launch("-e", "process.kill(process.pid, 'SIGKILL')").signal, "SIGKILL")
  })

  it("hands a signal on", async () => {
    const program = "process.on('SIGTERM', () => process.exit(9)); setInterval(() => {}, 1000); console.log('up')"
    const child = spawn(process.execPath, [launcher, "-e", program])
    await once(child.stdout, "data")
    child.kill("SIGTERM")
    assert.deepStrictEqual(await once(child, "exit"), [9, null])
  })

  it("falls back on the running Node.js where it is new enough", () => {
    assert.strictEqual(alone().stdout.trim(), process.execPath)
  })

  it("says in one line what is missing where there is none", () => {
    const run = alone("--import", old)
    assert.strictEqual(run.status, 1)
    assert.match(run.stderr, /^Node\.js 26\.10\.0 is needed and there is none for \S+: run "npm ci".*\n$/)
  })
})
