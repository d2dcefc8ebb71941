import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { check } from "../../../bench/lib/instrument.ts"
import { recordMachine } from "../../../bench/lib/machine.ts"
import { regenerate, rounded, toText, writeResult } from "../../../bench/lib/record.ts"
import { root, sourceHashes } from "../../../bench/lib/sources.ts"
import { median } from "../../../programs/measure/statistics.ts"

const summarise = (samples: ReadonlyArray<number>) => ({
  figure: median(samples),
  unit: "ms",
  checks: [check("median", median(samples), { atMost: 2 })],
  rows: { third: samples[0]! / 3 }
})

describe("results", () => {
  it("regenerate to the same bytes from what is stored, and a difference is found", async () => {
    const directory = mkdtempSync(join(tmpdir(), "folio-results-"))
    try {
      const samples = rounded([1.23456789012, 1 / 3, 7])
      const file = {
        instrument: "example",
        options: { quick: true },
        machine: recordMachine()(),
        sources: sourceHashes(join(root, "bench/lib/record.ts")),
        samples
      }
      writeResult(join(directory, "example"), file, summarise(samples))
      const again = async (stored: { samples: unknown }) => summarise(stored.samples as ReadonlyArray<number>)
      const summary = join(directory, "example/summary.json")
      const written = readFileSync(summary, "utf8")

      assert.deepStrictEqual(await regenerate(directory, again, { check: true }), [])

      writeFileSync(summary, written.replace("true", "false"))
      assert.deepStrictEqual(await regenerate(directory, again, { check: true }), [join(directory, "example")])
      assert.notStrictEqual(readFileSync(summary, "utf8"), written)
      assert.deepStrictEqual(await regenerate(directory, again, { check: false }), [join(directory, "example")])
      assert.strictEqual(readFileSync(summary, "utf8"), written)
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })

  it("name every source that an instrument reaches", () => {
    const files = Object.keys(sourceHashes(join(root, "bench/corpus/program.ts")))
    assert.includeMembers(files, ["bench/corpus/program.ts", "bench/corpus/arm.ts", "bench/corpus/protocol.ts"])
    assert.deepStrictEqual(files, [...files].sort())
  })

  it("are JSON that keeps a list of samples on one line", () => {
    const value = { samples: [1, 2.5, null], nested: [{ a: "x" }], empty: {} }
    const text = toText(value)
    assert.deepStrictEqual(JSON.parse(text), value)
    assert.include(text, `"samples": [1, 2.5, null]`)
  })
})

describe("check", () => {
  it("holds at its bounds and nowhere beyond", () => {
    const met = [0.97, 0.98, 1, 1.02, 1.03].map((value) => check("x", value, { atLeast: 0.98, atMost: 1.02 }).met)
    assert.deepStrictEqual(met, [false, true, true, true, false])
    assert.isFalse(check("x", Number.NaN, { atLeast: 0 }).met)
  })
})
