import { assert, describe, it } from "@effect/vitest"
import { judge } from "../../../bench/corpus/judge.ts"
import type { ArmRestart, ProgramSamples } from "../../../bench/corpus/program.ts"
import type { FolioReport } from "../../../bench/corpus/report.ts"
import { table } from "../../../bench/corpus/table.ts"

const rounds = 11

const arm = (ms: number, cpu = ms): ArmRestart => ({
  startupMs: 100,
  firstCallMs: 30,
  wallMs: Array.from({ length: rounds }, () => ms),
  cpuMs: Array.from({ length: rounds }, () => cpu),
  digests: ["d"],
  last: { startMs: 0, endMs: ms }
})

interface Case {
  readonly nativeB?: ReadonlyArray<number>
  readonly folio?: Partial<ArmRestart>
  readonly report?: Partial<FolioReport>
  readonly states?: Partial<ProgramSamples["states"]>
  readonly stateDiffers?: ReadonlyArray<string>
  readonly nativeDiffers?: ReadonlyArray<string>
  readonly expected?: string
}

/** Five restarts; native takes 10 ms. */
const samples = (of: Case): ProgramSamples => ({
  name: "x",
  expected: of.expected,
  callsPerSample: 2,
  warmupCalls: 3,
  restarts: Array.from({ length: 5 }, (_, index) => ({
    arms: { nativeA: arm(10), nativeB: arm(of.nativeB?.[index] ?? 10), folio: { ...arm(10), ...of.folio } },
    nativeDiffers: of.nativeDiffers ?? [],
    stateDiffers: of.stateDiffers ?? [],
    report: { present: true, dispatches: 0, planned: 1, refused: 2, reasons: {}, timeline: [], ...of.report }
  })),
  states: { memories: 1, globals: 0, differs: [], unsettled: [], digests: ["d"], calls: 3, dispatches: 0, ...of.states }
})

const verdictOf = (of: Case) => judge(samples(of))
const folioAt = (ms: number, cpu = ms): Case => ({ folio: arm(ms, cpu), report: { dispatches: 4 } })

describe("judge", () => {
  it("passes what is equal and as fast", () => {
    const verdict = verdictOf({ expected: "d" })
    assert.isTrue(verdict.passed)
    assert.isTrue(verdict.equal)
    assert.strictEqual(verdict.ratio, 1)
    assert.strictEqual(verdict.callMs.native, 5)
    assert.deepStrictEqual(verdict.plan, { planned: 1, refused: 2, reasons: {} })
    assert.strictEqual(verdict.calls, 5 * (1 + 3 + 22) + 3)
  })

  it("fails what is slower than 0.98 where two native arms agree", () => {
    assert.isTrue(verdictOf(folioAt(10.2)).passed)
    const slower = verdictOf(folioAt(10.21))
    assert.isFalse(slower.passed)
    assert.isTrue(slower.equal)
  })

  it("lets the noise of two native arms widen the bound, and never a fast one narrow it", () => {
    const noisy = [10, 9.3, 10.7, 9.4, 10.6]
    assert.isTrue(judge(samples({ ...folioAt(10.5), nativeB: noisy })).passed)
    assert.isFalse(judge(samples({ ...folioAt(11.2), nativeB: noisy })).passed)
  })

  it("allows 1.02 of the processor time where nothing was dispatched", () => {
    assert.isTrue(verdictOf({ folio: arm(10, 10.2) }).passed)
    assert.isFalse(verdictOf({ folio: arm(10, 10.3) }).passed)
    assert.isTrue(verdictOf(folioAt(6, 11)).passed)
  })

  it("fails other outputs, in one call of one arm, or unlike what was expected", () => {
    assert.isFalse(verdictOf({ folio: { digests: ["d", "e"] } }).equal)
    assert.isFalse(verdictOf({ states: { digests: ["e"] } }).equal)
    assert.isFalse(verdictOf({ expected: "e" }).equal)
  })

  it("fails a state unlike native, unless native is unlike itself there", () => {
    assert.isFalse(verdictOf({ stateDiffers: ["0:memory"] }).equal)
    assert.isTrue(verdictOf({ stateDiffers: ["0:memory"], nativeDiffers: ["0:memory"] }).equal)
    assert.isFalse(verdictOf({ states: { differs: [{ name: "0:memory", ranges: [{ start: 1, end: 2 }] }] } }).passed)
  })

  it("fails an arm that left no report", () => {
    assert.isFalse(verdictOf({ report: { present: false } }).passed)
  })

  it("holds a warm start to 5 % or 10 ms", () => {
    assert.isTrue(verdictOf({ folio: { startupMs: 110 } }).startup.within)
    assert.isFalse(verdictOf({ folio: { startupMs: 111 } }).startup.within)
  })

  it("is readable as a table", () => {
    const [titles, row] = table([verdictOf({}), verdictOf({ expected: "e" })]).split("\n")
    assert.include(titles!, "ratio")
    assert.include(row!, "ok")
  })
})
