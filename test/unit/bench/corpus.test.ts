/**
 * The corpus runner on a folder of its own, with real processes: an arm that is native passes as equal, and each way of
 * being unlike native is found.
 */
import { assert, describe, it } from "@effect/vitest"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { ArmFailed } from "../../../bench/corpus/arm.ts"
import { differences, differingRanges } from "../../../bench/corpus/compare.ts"
import { readFolder } from "../../../bench/corpus/folder.ts"
import { judge } from "../../../bench/corpus/judge.ts"
import { measureProgram } from "../../../bench/corpus/program.ts"

const folder = join(import.meta.dirname, "corpus")

/** What 20,000 steps add up to, hashed as text. */
const expected = "7d1bcd2dd2e7179255daa9468bd5beefe3990e5ddf73d3e1a7fd7fcbbb8621c6"

const measure = (preload: string, digest: string | undefined = undefined) =>
  measureProgram(
    {
      folder,
      name: "counter",
      preload: pathToFileURL(join(import.meta.dirname, "preloads", `${preload}.mjs`)).href,
      restarts: 1,
      rounds: 2
    },
    digest
  )

describe("corpus runner", () => {
  it("finds a native arm equal, whatever is random in its memory", async () => {
    const samples = await measure("nothing", expected)
    const verdict = judge(samples)
    assert.isTrue(verdict.equal, verdict.notes.join("; "))
    assert.deepStrictEqual(samples.restarts[0]!.nativeDiffers, ["0:memory"])
    assert.deepStrictEqual(samples.states.unsettled, [])
    assert.deepInclude(samples.states, { memories: 1, globals: 1 })
    assert.lengthOf(samples.restarts[0]!.arms.folio.wallMs, 2)
  })

  it("finds one other byte", async () => {
    const samples = await measure("byte", expected)
    assert.deepStrictEqual(samples.states.differs, [{ name: "0:memory", ranges: [{ start: 5000, end: 5001 }] }])
    assert.isFalse(judge(samples).equal)
  })

  it("finds another global", async () => {
    assert.deepStrictEqual((await measure("global")).states.differs, [{ name: "0:calls", ranges: [] }])
  })

  it("finds another output, and one that is not the expected one", async () => {
    assert.isFalse(judge(await measure("output")).equal)
    assert.isFalse(judge(await measure("nothing", "0")).equal)
  })

  it("says what a child printed when it dies", async () => {
    let failure: unknown
    try {
      await measure("exit")
    } catch (error) {
      failure = error
    }
    assert.instanceOf(failure, ArmFailed)
    assert.include(String(failure), "exited with 3")
    assert.include(String(failure), "cannot go on")
  })
})

describe("corpus folder", () => {
  it("lists its harnesses and refuses unknown names", () => {
    assert.deepStrictEqual(readFolder(folder, []).names, ["counter"])
    assert.throws(() => readFolder(folder, ["nowhere"]), /no harness for nowhere/)
  })

  it("of this project has a fact for each harness", () => {
    const { facts, names } = readFolder(join(import.meta.dirname, "../../../bench/corpus"), [])
    assert.deepStrictEqual(names, Object.keys(facts).sort())
    assert.lengthOf(names, 30)
  })
})

describe("state comparison", () => {
  it("names what differs, is missing or has another length", () => {
    const memory = (name: string, sha256: string) => ({ kind: "memory", name, bytes: 1, sha256 }) as const
    assert.deepStrictEqual(differences([memory("a", "1"), memory("b", "2")], [memory("a", "1"), memory("b", "3")]), [
      "b"
    ])
    assert.deepStrictEqual(differences([memory("a", "1")], []), ["a"])
    assert.deepStrictEqual(differingRanges(Uint8Array.of(1, 2, 3), Uint8Array.of(1, 9)), [{ start: 1, end: 3 }])
  })
})
