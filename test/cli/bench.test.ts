import { afterAll, assert, describe, it } from "@effect/vitest"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { probeNative } from "../../layers/node/ffi.ts"
import { soundRungs } from "../../programs/measure/resets.ts"
import { folio } from "./folio.ts"

const folder = mkdtempSync(join(tmpdir(), "folio-cli-measured-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const module = join(folder, "tool.wat")
writeFileSync(
  module,
  `(module (memory (export "memory") 8 9)
    (func (export "boot") (memory.fill (i32.const 0) (i32.const 7) (i32.const 300000)))
    (func (export "use") (i32.store (i32.const 70000) (i32.add (i32.load (i32.const 70000)) (i32.const 1))))
    (func (export "grow") (drop (memory.grow (i32.const 1))))
    (func (export "trap") unreachable))`
)

type Samples = Readonly<Record<string, ReadonlyArray<number>>>

const all = (samples: Samples, length: number): void => {
  for (const [name, values] of Object.entries(samples)) {
    assert.strictEqual(values.length, length, name)
    assert.isTrue(values.every((value) => value >= 0), name)
  }
}

describe("folio bench", () => {
  it("puts a module of the caller's own back, by every rung of the machine", async () => {
    const ended = await folio(["bench", "reset", module, "--init", "boot", "--run", "use", "--rounds", "3", "--json"])
    assert.strictEqual(ended.code, 0, ended.stderr)
    const [only] = (JSON.parse(ended.stdout) as {
      readonly cases: ReadonlyArray<{ rungs: ReadonlyArray<{ rung: string; samples: Samples }> }>
    }).cases
    assert.deepStrictEqual(only.rungs.map(({ rung }) => rung), [...soundRungs()])
    for (const { samples } of only.rungs) all(samples, 3)
  })

  it("says why a module cannot be put back, what it traps with, and which export is missing", async () => {
    const grown = await folio(["bench", "reset", module, "--run", "grow", "--rounds", "2"])
    assert.strictEqual(grown.code, 0, grown.stderr)
    assert.match(grown.stdout, /whole +memory 0 has grown/)
    const trapped = await folio(["bench", "reset", module, "--run", "trap", "--rounds", "2"])
    assert.strictEqual(trapped.code, 134)
    const missing = await folio(["bench", "reset", module, "--run", "none", "--rounds", "2"])
    assert.strictEqual(missing.code, 2)
    assert.match(missing.stderr, /tool\.wat has no exported function "none"/)
    assert.strictEqual((await folio(["bench", "tasks", "--rounds", "0"])).code, 2)
  })

  it("measures tasks", async () => {
    const ended = await folio(["bench", "tasks", "--lanes", "1", "--rounds", "2", "--json"])
    assert.strictEqual(ended.code, 0, ended.stderr)
    const { lanes, perSecond, roundTripUs } = JSON.parse(ended.stdout)
    assert.strictEqual(lanes, 1)
    all({ perSecond, roundTripUs }, 2)
  })

  it("serves tenants of a module of the caller's own, and says what it lacks", async () => {
    const args = [
      "bench",
      "cold-start",
      module,
      "--init",
      "boot",
      "--tenants",
      "5",
      "--contexts",
      "2",
      "--requests",
      "40"
    ]
    const ended = await folio([...args, "--run", "use", "--json"])
    assert.strictEqual(ended.code, 0, ended.stderr)
    const { bootUs, samples } = JSON.parse(ended.stdout) as {
      readonly bootUs: Samples[string]
      readonly samples: Samples
    }
    all(samples, 40)
    assert.isAbove(bootUs.length, 1)
    assert.isTrue(samples["opened"].includes(1) && samples["opened"].includes(0))
    const shown = await folio([...args, "--run", "use"])
    assert.match(shown.stdout, /without one +\d+/)
    assert.strictEqual((await folio([...args, "--run", "none"])).code, 2)
    assert.strictEqual((await folio([...args, "--run", "trap"])).code, 134)
  })

  it("opens a booted module in fresh processes by every way, and leaves no file behind", async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith("folio-bench-"))
    const ended = await folio(["bench", "bake", module, "--init", "boot", "--rounds", "1", "--json"])
    assert.strictEqual(ended.code, 0, ended.stderr)
    const { samples, unmapped } = JSON.parse(ended.stdout) as {
      readonly samples: Readonly<Record<string, Samples>>
      readonly unmapped?: string
    }
    const calls = probeNative()
    assert.strictEqual(unmapped, typeof calls === "string" ? calls : undefined)
    const mapped = typeof calls === "string" ? [] : ["verified", "mapped"]
    assert.deepStrictEqual(Object.keys(samples), ["boot", "active", "copy", ...mapped])
    for (const one of Object.values(samples)) all(one, 1)
    assert.deepStrictEqual(readdirSync(tmpdir()).filter((name) => name.startsWith("folio-bench-")), before)
  })
})
