/**
 * The environment, value by value.
 */
import { assert, describe, it } from "@effect/vitest"
import { readSettings, type Settings } from "../../../layers/node/settings.ts"

const budget = { budgetMs: 60_000, budgetBytes: 1536 * 1024 ** 2 }
const plain: Settings = {
  off: false,
  workers: undefined,
  report: undefined,
  prepare: "background",
  budget,
  cache: undefined,
  learn: true
}

const accepted: ReadonlyArray<readonly [Record<string, string>, Partial<Settings>]> = [
  [{}, {}],
  [{ FOLIO_WORKERS: "", FOLIO_REPORT: "", FOLIO_PREPARE: "", FOLIO_CACHE: "", FOLIO_OFF: "" }, {}],
  [{ FOLIO_WORKERS: "1" }, { workers: 1 }],
  [{ FOLIO_WORKERS: "32" }, { workers: 32 }],
  [{ FOLIO_REPORT: "-" }, { report: "-" }],
  [{ FOLIO_REPORT: "a/b-%p.json" }, { report: "a/b-%p.json" }],
  [{ FOLIO_PREPARE: "wait" }, { prepare: "wait" }],
  [{ FOLIO_PREPARE: "background" }, {}],
  [{ FOLIO_PREPARE: "off" }, { prepare: "off" }],
  [{ FOLIO_PREPARE_BUDGET_MS: "1", FOLIO_PREPARE_BUDGET_MIB: "" }, { budget: { ...budget, budgetMs: 1 } }],
  [{ FOLIO_PREPARE_BUDGET_MIB: "64" }, { budget: { ...budget, budgetBytes: 64 * 1024 ** 2 } }],
  [{ FOLIO_CACHE: "off" }, { cache: "off" }],
  [{ FOLIO_CACHE: "./here" }, { cache: "./here" }],
  [{ FOLIO_OFF: "1" }, { off: true }],
  [{ FOLIO_OFF: "true" }, { off: true }],
  [{ FOLIO_OFF: "0" }, {}],
  [{ FOLIO_OFF: "false" }, {}],
  [{ OTHER: "x" }, {}]
]

const refused: ReadonlyArray<readonly [string, string, string]> = [
  ["FOLIO_WORKERS", "0", "1 to 32"],
  ["FOLIO_WORKERS", "33", "1 to 32"],
  ["FOLIO_WORKERS", "-1", "1 to 32"],
  ["FOLIO_WORKERS", "2.5", "1 to 32"],
  ["FOLIO_WORKERS", "2e0", "1 to 32"],
  ["FOLIO_WORKERS", " 2", "1 to 32"],
  ["FOLIO_WORKERS", "many", "1 to 32"],
  ["FOLIO_PREPARE", "Wait", "wait, background, off"],
  ["FOLIO_PREPARE", "constructor", "wait, background, off"],
  ["FOLIO_PREPARE_BUDGET_MS", "0", "1 to 3600000"],
  ["FOLIO_PREPARE_BUDGET_MS", "1.5", "1 to 3600000"],
  ["FOLIO_PREPARE_BUDGET_MIB", "63", "64 to 65536"],
  ["FOLIO_OFF", "yes", "0, 1, false, true"],
  ["FOLIO_OFF", "toString", "0, 1, false, true"]
]

describe("settings", () => {
  it("accept these", () => {
    for (const [environment, expected] of accepted) {
      assert.deepStrictEqual(readSettings(environment), { settings: { ...plain, ...expected }, problems: [] })
    }
  })

  it("refuse others in one line with variable, value and what is accepted, and then say off", () => {
    for (const [name, value, values] of refused) {
      const { problems, settings } = readSettings({ [name]: value })
      assert.isTrue(settings.off, `${name}=${value}`)
      assert.strictEqual(problems.length, 1, `${name}=${value}`)
      for (const part of [name, JSON.stringify(value), values, "running natively"]) assert.include(problems[0], part)
      assert.notInclude(problems[0], "\n")
    }
  })

  it("name every refused value", () => {
    const { problems } = readSettings({ FOLIO_WORKERS: "x", FOLIO_PREPARE: "y", FOLIO_OFF: "z" })
    assert.strictEqual(problems.length, 3)
  })

  it("keep the report's place when something else is refused", () => {
    assert.strictEqual(readSettings({ FOLIO_WORKERS: "x", FOLIO_REPORT: "-" }).settings.report, "-")
  })
})
