/**
 * A program ends as it would without lanes, whatever its lanes do: same exit code, same output, and it does end (the
 * watchdog of the child bounds it).
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, describe, it } from "vitest"
import { startChild } from "./lanes-support.ts"

const endings = [
  ["natural", 0, /^$/],
  ["exit", 3, /^$/],
  ["throw", 1, /^(?=[^]*on purpose)(?![^]*Warning)/]
] as const

describe("a program", () => {
  for (const lanes of ["starting", "parked", "spinning", "busy"]) {
    for (const [ending, code, stderr] of endings) {
      it(`ends by itself (${ending}) while its lane is ${lanes}`, async () => {
        const ended = await startChild(`${ending}-${lanes}`).ended
        assert.match(ended.stderr, stderr)
        assert.deepStrictEqual([ended.code, ended.signal, ended.stdout], [code, null, "bye 1\n"])
      })
    }
  }

  it("keeps its standard streams to itself", async () => {
    const { code, stderr, stdout } = await startChild("quiet").ended
    assert.deepStrictEqual([code, stderr, stdout], [0, "", `{"touched":[],"ready":1}\n`])
  })

  for (const way of ["options", "NODE_OPTIONS"]) {
    for (const option of ["--import", "--require"]) {
      it(`that preloads a module by ${option} in its ${way} does not preload it into its lanes`, async () => {
        const directory = Fs.mkdtempSync(Path.join(Os.tmpdir(), "folio-lanes-"))
        try {
          const log = Path.join(directory, "log")
          const preload = Path.join(directory, "preload.cjs")
          Fs.writeFileSync(log, "")
          Fs.writeFileSync(preload, `require("node:fs").appendFileSync(${JSON.stringify(log)}, "*")`)
          const set = `${option}=${preload}`
          const { code } = await startChild(
            "natural-parked",
            way === "options" ? { nodeOptions: [set] } : { env: { NODE_OPTIONS: set } }
          ).ended
          assert.strictEqual(code, 0)
          assert.strictEqual(Fs.readFileSync(log, "utf8"), "*")
        } finally {
          Fs.rmSync(directory, { recursive: true })
        }
      })
    }
  }

  it("without node:ffi has lanes all the same, only not placed", async () => {
    const { code, stderr, stdout } = await startChild("quiet", { nodeOptions: ["--no-experimental-ffi"] }).ended
    assert.deepStrictEqual([code, stderr, stdout], [0, "", `{"touched":[],"ready":1}\n`])
  })
})
