/**
 * What earlier runs say of a module.
 */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Histories, type History, learn, type Observed, paysOf } from "../../../layers/node/history.ts"

const root = mkdtempSync(join(tmpdir(), "folio-history-"))
afterAll(() => rmSync(root, { force: true, recursive: true }))

const hour = 3_600_000
const run = (observed: Partial<Observed>): Observed => ({
  busyMs: 0,
  gainedMs: 0,
  pays: undefined,
  loops: [7],
  summary: "{}",
  ...observed
})
const after = (...runs: ReadonlyArray<Partial<Observed>>): History | undefined =>
  runs.reduce<History | undefined>((history, observed) => learn(history, run(observed), 1000), undefined)

describe("a history", () => {
  it("says nothing after little time", () => {
    assert.isUndefined(after({ busyMs: 400 }, { busyMs: 400 })?.pays)
  })

  it("adds up runs", () => {
    const history = after({ busyMs: 400 }, { busyMs: 700, gainedMs: 2 })
    assert.isFalse(history?.pays)
    assert.strictEqual(history?.until, 1000 + hour)
  })

  it("keeps a module that gains", () => {
    assert.isUndefined(after({ busyMs: 5000, gainedMs: 500 })?.pays)
    assert.isTrue(after({ busyMs: 5000, pays: true })?.pays)
  })

  it("keeps which loops were handed out, as long as all were patched", () => {
    const paid = { pays: true, loops: [3, 9] }
    assert.deepInclude(after(paid), { loops: [3, 9], until: 1000 + hour, pauses: 1 })
    // A run with these alone says nothing about others.
    assert.deepInclude(after(paid, { pays: true, loops: undefined }), { loops: [3, 9], until: 1000 + hour, pauses: 1 })
    assert.deepInclude(after(paid, { pays: true, loops: [3] }), { loops: [3], until: 1000 + 4 * hour, pauses: 2 })
    assert.deepInclude(after(paid, { pays: false, loops: undefined }), { pays: false, loops: [], pauses: 1 })
  })

  it("believes a trial at once", () => {
    assert.isFalse(after({ busyMs: 10, gainedMs: 9, pays: false })?.pays)
  })

  it("pauses longer each time, a week at most, and starts anew when a module pays", () => {
    const lost = { pays: false }
    const hours = (count: number): number =>
      ((after(...Array.from({ length: count }, () => lost))?.until ?? 0) - 1000) / hour
    assert.deepStrictEqual([1, 2, 3, 4, 5].map(hours), [1, 4, 16, 64, 168])
    assert.strictEqual(after(lost, lost, { pays: true }, lost)?.pauses, 1)
  })
})

describe("instances of a module", () => {
  it("pay when one does", () => {
    assert.isUndefined(paysOf([{ pays: undefined }]))
    assert.isFalse(paysOf([{ pays: undefined }, { pays: false }]))
    assert.isTrue(paysOf([{ pays: false }, { pays: true }]))
  })
})

describe("histories", () => {
  it("come back from files, and nothing unfinished stays", () => {
    const directory = join(root, "a", "history")
    const history = after({ pays: false })!
    new Histories(directory).write("name", history)
    assert.deepStrictEqual(new Histories(directory).read("name"), history)
    assert.deepStrictEqual(readdirSync(directory), ["name"])
    assert.isUndefined(new Histories(directory).read("other"))
  })

  it("are none where a file is none, or the directory cannot be had", () => {
    const directory = join(root, "b")
    mkdirSync(directory)
    for (const text of ["", "{", "null", "[]", `{"busyMs":0,"gainedMs":0,"until":0,"pauses":0,"loops":0}`]) {
      writeFileSync(join(directory, "name"), text)
      assert.isUndefined(new Histories(directory).read("name"), text)
    }
    const histories = new Histories(join(directory, "name", "below"))
    histories.write("name", after({ pays: true })!)
    assert.isUndefined(histories.read("name"))
  })
})
