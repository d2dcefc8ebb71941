/**
 * Everything that a program can see of WebAssembly is the same with the drop-in and without it.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { makeScratch, type Outcome, patchEverything, register, runNode, uncached, writeModules } from "./run.ts"

const program = fileURLToPath(new URL("program/observe.mjs", import.meta.url))
const scratch = makeScratch()
let folder = ""
let native: Record<string, unknown> = {}

const observe = (preload: ReadonlyArray<string>, environment: Record<string, string>): Outcome =>
  runNode([...preload.flatMap((url) => ["--import", url]), program, folder], environment)

/** Compares observation by observation, so that a difference is small enough to read. */
const assertNative = (outcome: Outcome): void => {
  assert.strictEqual(outcome.status, 0, outcome.stderr)
  const seen = JSON.parse(outcome.stdout) as Record<string, unknown>
  assert.deepStrictEqual(Object.keys(seen), Object.keys(native))
  for (const [name, observation] of Object.entries(native)) assert.deepStrictEqual(seen[name], observation, name)
}

beforeAll(async () => {
  folder = await writeModules(scratch)
  const outcome = observe([], {})
  assert.strictEqual(outcome.status, 0, outcome.stderr)
  native = JSON.parse(outcome.stdout) as Record<string, unknown>
})
afterAll(() => scratch.remove())

describe("a program sees the engine's own WebAssembly", () => {
  it("natively each time", () => {
    assertNative(observe([], {}))
  })

  it("where every module is patched", () => {
    const outcome = observe([patchEverything], { ...uncached, PATCHED_FD: "2" })
    assertNative(outcome)
    // In the worker its own module, in the main thread more than the eight of the test.
    const patched = [...outcome.stderr.matchAll(/^patched (\d+)$/gm)].map(([, count]) => Number(count))
    assert.isAbove(Math.max(...patched), 8, outcome.stderr)
    assert.include(patched, 1)
    assert.strictEqual(outcome.stderr.replaceAll(/^patched \d+\n/gm, ""), "")
  })

  it("where every module comes patched out of the cache", () => {
    const environment = { FOLIO_CACHE: join(scratch.path, "cache-everything"), FOLIO_PREPARE: "wait", FOLIO_LEARN: "0" }
    assertNative(observe([patchEverything], environment))
    const outcome = observe([patchEverything], { ...environment, FOLIO_PREPARE: "off", PATCHED_FD: "2" })
    assertNative(outcome)
    assert.match(outcome.stderr, /^patched [1-9]\d/m)
  })

  it("with the drop-in, prepared before it is compiled", () => {
    const outcome = observe([register], uncached)
    assertNative(outcome)
    assert.strictEqual(outcome.stderr, "")
  })

  it("with the drop-in, prepared within the budget or in the background, and then from the cache", () => {
    const environment = { FOLIO_CACHE: join(scratch.path, "cache"), FOLIO_LEARN: "0" }
    for (let run = 0; run < 2; run++) {
      const outcome = observe([register], environment)
      assertNative(outcome)
      assert.strictEqual(outcome.stderr, "")
    }
  })

  it("with the drop-in switched off", () => {
    const outcome = observe([register], { FOLIO_OFF: "1" })
    assertNative(outcome)
    assert.strictEqual(outcome.stderr, "")
  })
})
