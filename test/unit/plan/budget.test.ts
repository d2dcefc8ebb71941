/**
 * An analysis ends when its budget does. Time is a clock that advances each time it is read, so that where it ends does
 * not depend on the machine.
 */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { BudgetOptions } from "../../../src/plan/budget.ts"
import { prepare } from "../../../src/plan/prepare.ts"
import type { Plan } from "../../../src/plan/types.ts"
import { manyLoops } from "../../support/many-loops.ts"
import { assemble } from "../../support/wat.ts"

const loops = 200
const many = await assemble(manyLoops(loops))

const ticking = (budgetMs: number): BudgetOptions => {
  let time = 0
  return { budgetMs, now: () => time++ }
}

const unseen = (plan: Plan): number =>
  plan.loops.filter((loop) => loop._tag === "refused" && loop.reasons[0]?.code === "budget").length

const planned = (plan: Plan): number => plan.loops.filter((loop) => loop._tag === "planned").length

describe("a budget", () => {
  it("of time ends the analysis: what was not seen stays serial, what was seen runs", () => {
    const { chunks, guard, guest, plan } = prepare(many, ticking(50))
    assert.isFalse(plan.complete)
    assert.strictEqual(planned(plan) + unseen(plan), loops)
    assert.isAbove(planned(plan), 0)
    assert.isAbove(unseen(plan), loops / 2)
    assert.strictEqual(chunks.length, planned(plan))
    for (const module of [guest, guard]) assert.isTrue(WebAssembly.validate(new Uint8Array(module ?? [])))
    const [last] = plan.loops.filter((loop) => loop._tag === "refused")
    assert.match(last?._tag === "refused" ? last.reasons[0].detail : "", /had its 50 ms before/)
  })

  it("of memory does the same", () => {
    let heap = 0
    const { plan } = prepare(many, { budgetBytes: 10 * 1024 ** 2, heap: () => heap += 1024 ** 2 })
    assert.isFalse(plan.complete)
    assert.strictEqual(planned(plan), 10)
    assert.strictEqual(unseen(plan), loops - 10)
  })

  it("that is not reached changes nothing", () => {
    const { plan } = prepare(many, { budgetBytes: 1e9, heap: () => 1e6, ...ticking(1e9) })
    assert.isTrue(plan.complete)
    assert.deepStrictEqual(plan, prepare(many).plan)
  })

  it("emits nothing where only all of it would be of use", () => {
    const { guest, plan } = prepare(many, { ...ticking(50), allOrNothing: true })
    assert.isFalse(plan.complete)
    assert.isUndefined(guest)
    assert.isTrue(prepare(many, { allOrNothing: true }).plan.complete)
  })

  it("tells how far it is", () => {
    const seen: Array<readonly [number, number]> = []
    prepare(many, { progress: (...at) => void seen.push(at) })
    assert.deepStrictEqual(seen, Array.from({ length: loops }, (_, index) => [index, loops] as const))
  })
})

const php = fileURLToPath(
  new URL("../../../bench/corpus/node_modules/@php-wasm/node-8-4/jspi/8_4_25/php_8_4.wasm", import.meta.url)
)

describe.runIf(existsSync(php))("PHP, 26 MB in some 25,000 functions", () => {
  it("ends within a budget of loops, all others being serial for that reason", () => {
    const { guest, plan } = prepare(new Uint8Array(readFileSync(php)), ticking(2_000))
    assert.isFalse(plan.complete)
    assert.isAbove(plan.loops.length, 30_000)
    // Each loop that is analysed reads the clock once.
    assert.isAbove(unseen(plan), plan.loops.length * 0.9)
    assert.isAbove(planned(plan), 0)
    assert.isTrue(WebAssembly.validate(new Uint8Array(guest ?? [])))
  })
})
