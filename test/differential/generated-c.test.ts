/**
 * A hundred generated C functions as compilers left them (`test/fixtures/generated-c`): chunks in chosen orders, and real
 * lanes. `npm run bench -- fuzz-c` compiles and compares further ones.
 */
import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { afterAll } from "vitest"
import { compareCModule } from "../../bench/fuzz/c-campaign.ts"
import type { CorpusManifest, CorpusModule } from "../../bench/fuzz/c-corpus.ts"
import { addCounts, noCounts } from "../../bench/fuzz/campaign.ts"
import { OnLanes, openLanes } from "../support/differential-lanes.ts"

const read = (name: string) => new Uint8Array(readFileSync(new URL(`../fixtures/generated-c/${name}`, import.meta.url)))
const sha256 = (name: string): string => createHash("sha256").update(read(name)).digest("hex")

const { modules } = JSON.parse(Buffer.from(read("manifest.json")).toString()) as CorpusManifest
const entries: ReadonlyArray<readonly [level: string, module: CorpusModule]> = Object.entries(modules)

const lanes = await openLanes()
afterAll(() => typeof lanes === "string" ? undefined : lanes.close())

describe("generated C functions", () => {
  for (const [level, { functions, sha256: hash, sourceSha256 }] of entries) {
    it(`are what their manifest says: ${level}`, () => {
      assert.strictEqual(sha256(`${level}.wasm`), hash)
      assert.strictEqual(sha256(`${level}.c`), sourceSha256)
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(read(`${level}.wasm`)))
      for (const { name } of functions) assert.strictEqual(typeof exports[name], "function")
    })
  }

  it("leave the same behind, whatever the order of chunks", () => {
    const results = entries.map(([level, { functions }]) => compareCModule(level, read(`${level}.wasm`), functions, 1))
    const counts = results.reduce((sum, one) => addCounts(sum, one.counts), noCounts)
    console.log(`${counts.apart} of ${counts.calls} calls ran apart (${counts.dispatches} dispatches)`)
    assert.deepStrictEqual(results.flatMap(({ failures }) => failures), [])
    assert.isAtLeast(counts.functions, 100)
    assert.isAtLeast(counts.apart / counts.calls, 0.5)
  })

  it.skipIf(typeof lanes === "string")("leave the same behind on real lanes", () => {
    if (typeof lanes === "string") return
    const results = entries.map(([level, { functions }]) => {
      let twin: OnLanes | undefined
      const result = compareCModule(
        level,
        read(`${level}.wasm`),
        functions,
        2,
        (prepared) => twin = new OnLanes(lanes, prepared)
      )
      twin?.close()
      return result
    })
    const counts = results.reduce((sum, one) => addCounts(sum, one.counts), noCounts)
    console.log(`${counts.apart} of ${counts.calls} calls ran on lanes (${counts.dispatches} dispatches)`)
    assert.deepStrictEqual(results.flatMap(({ failures }) => failures), [])
    assert.isAtLeast(counts.apart / counts.calls, 0.5)
  })
})
