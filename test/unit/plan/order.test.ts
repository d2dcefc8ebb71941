/**
 * What a budget is spent on, and in which order.
 */
import { assert, describe, it } from "@effect/vitest"
import { scanLoops } from "../../../src/analysis/scan.ts"
import { decodeModule } from "../../../src/binary/module.ts"
import { bestFirst, worthOf } from "../../../src/plan/order.ts"
import { prepare } from "../../../src/plan/prepare.ts"
import type { Plan } from "../../../src/plan/types.ts"
import { assemble } from "../../support/wat.ts"

const counted = (body: string, i: string): string =>
  `(loop $${i} ${body}
     (local.set $${i} (i32.add (local.get $${i}) (i32.const 1)))
     (br_if $${i} (i32.lt_s (local.get $${i}) (local.get $n))))`

const store = "(i32.store (i32.shl (i32.add (local.get $i) (i32.mul (local.get $j) (local.get $n))) (i32.const 2)) "
  + "(i32.add (local.get $i) (local.get $j)))"

const functionOf = (name: string, body: string): string =>
  `(func (export "${name}") (param $n i32) (local $i i32) (local $j i32) ${body})`

const module = await assemble(`(module
  (type $f (func (param i32)))
  (memory (export "memory") 16)
  (table 1 funcref)
  ${functionOf("small", counted(store, "i"))}
  ${functionOf("nest", counted(`(local.set $i (i32.const 0)) ${counted(store, "i")}`, "j"))}
  ${functionOf("reads", counted("(local.set $j (i32.add (local.get $j) (local.get $i)))", "i"))}
  ${functionOf("calls", counted(`${store} (call_indirect (type $f) (local.get $i) (local.get $i))`, "i"))}
  ${functionOf("straight", "(i32.store (local.get $n) (i32.const 0))")}
)`)
const names = ["small", "nest", "reads", "calls", "straight"]

const plannedIn = (plan: Plan): ReadonlyArray<string> =>
  plan.loops.flatMap((loop) => (loop._tag === "planned" ? [names[loop.functionIndex]] : []))

describe("functions are analysed best first", () => {
  const decoded = decodeModule(module)
  const found = names.flatMap((_, functionIndex) => {
    const shapes = scanLoops(decoded, functionIndex)
    return shapes === undefined ? [] : [{ functionIndex, shapes }]
  })

  it("by nests, stores and calls that may do anything", () => {
    const order = bestFirst(found).map(({ functionIndex }) => names[functionIndex])
    assert.strictEqual(order[0], "nest")
    assert.strictEqual(order[1], "small")
    assert.sameMembers(order.slice(2), ["reads", "calls"])
  })

  it("equal ones in code order, whatever order they come in", () => {
    const [small] = found
    const twins = [{ ...small, functionIndex: 7 }, { ...small, functionIndex: 3 }]
    assert.deepStrictEqual(bestFirst(twins).map(({ functionIndex }) => functionIndex), [3, 7])
  })

  it("an outer loop counts its inner ones several times", () => {
    const worth = new Map(found.map(({ functionIndex, shapes }) => [names[functionIndex], worthOf(shapes)]))
    assert.isAbove(worth.get("nest")!, 5 * worth.get("small")!)
  })
})

describe("a limit of plans", () => {
  it("keeps the best and says so of the others", () => {
    const { chunks, plan } = prepare(module, { maximumPlans: 1 })
    assert.deepStrictEqual(plannedIn(plan), ["nest"])
    assert.strictEqual(chunks.length, 1)
    const small = plan.loops.find((loop) => names[loop.functionIndex] === "small")
    assert.strictEqual(small?._tag === "refused" ? small.reasons[0].code : undefined, "budget")
  })

  it("that is not reached leaves plans in code order", () => {
    const { plan } = prepare(module)
    const offsets = plan.loops.map(({ offset }) => offset)
    assert.deepStrictEqual(offsets, [...offsets].sort((x, y) => x - y))
    const indices = plan.loops.flatMap((loop) => (loop._tag === "planned" ? [loop.index] : []))
    assert.deepStrictEqual(indices, indices.map((_, at) => at))
    assert.includeMembers([...plannedIn(plan)], ["small", "nest"])
  })
})
