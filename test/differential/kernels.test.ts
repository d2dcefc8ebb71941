/**
 * Compiled C loops beside themselves: three compilations, many lengths and layouts, chunks forwards, backwards and
 * shuffled. Results, every byte of memory and traps are those of the original.
 *
 * `kernels.json` says which loops are planned and why others are not. `FOLIO_RENEW=1` writes it anew.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync, writeFileSync } from "node:fs"
import { kernelModules } from "../../bench/fixtures/kernels/catalogue.ts"
import { prepare } from "../../src/plan/prepare.ts"
import { kernelCases, kernelModule } from "../support/differential-kernels.ts"
import { loopTable } from "../support/differential-table.ts"
import { Apart, compareCall, describeMismatch, Guest, type Split } from "../support/differential.ts"

const tableFile = new URL("kernels.json", import.meta.url)

const modules = kernelModules.map(({ file: name, kernels }) => {
  const bytes = kernelModule(name)
  return { name, kernels, bytes, prepared: prepare(bytes) }
})

const tables = Object.fromEntries(modules.map(({ name, prepared }) => [name, loopTable(prepared.plan)]))

const splits = (seed: number): ReadonlyArray<Split> => [
  { order: "forward", width: 4 },
  { order: "reverse", width: 2 + seed % 7 },
  { order: seed, width: 32 },
  { order: seed + 1, width: 3 }
]

/**
 * Kernels that have a plan and still never run apart. Of vectorised loops and loops for special arguments only the loop
 * over what is left is planned, three iterations at most; `sha256` reads in its frame what the same inner loop has
 * written some iterations before, which no test at entry tells from what an earlier row has left there.
 */
const IDLE: Readonly<Record<string, ReadonlyArray<string>>> = {
  "loops-simd": ["norm_f64", "mix_i64"],
  "work-o2": ["sha256"],
  "work-o3": ["sha256"],
  "work-simd": ["blur", "sha256"]
}

describe("loops of the kernels", () => {
  it("are planned or refused as the table says", () => {
    if (process.env["FOLIO_RENEW"] === "1") writeFileSync(tableFile, `${JSON.stringify(tables, undefined, 2)}\n`)
    assert.deepStrictEqual(tables, JSON.parse(readFileSync(tableFile, "utf8")))
  })

  for (const { bytes, kernels, name, prepared } of modules) {
    it(`leave the same behind in any order: ${name}`, () => {
      const original = new Guest(new WebAssembly.Module(bytes as BufferSource))
      const apart = new Apart(prepared)
      const differences: Array<string> = []
      const idle: Array<string> = []
      let executions = 0
      for (const kernel of kernels) {
        let dispatches = 0
        let seed = 0
        for (const { call, image, label } of kernelCases(kernel)) {
          const one = compareCall(original, apart, image, call, splits(seed++))
          dispatches += one.dispatches
          if (one.mismatch !== undefined) differences.push(`${label}: ${describeMismatch(one.mismatch)}`)
        }
        executions += dispatches
        const planned = tables[name][kernel.name]?.some((loop) => loop.startsWith("planned")) === true
        if (planned && dispatches === 0) idle.push(kernel.name)
      }
      assert.deepStrictEqual(differences, [])
      assert.deepStrictEqual(idle, IDLE[name] ?? [], "planned, and never ran apart")
      assert.isAbove(executions, 40 * kernels.length)
    })
  }
})
