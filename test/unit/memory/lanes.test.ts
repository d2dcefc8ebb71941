import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { InProcessLanes, InProcessMemory } from "../../../layers/memory/lanes.ts"
import { type Order, Permutation } from "../../../layers/memory/permutation.ts"
import { assemble } from "../../support/wat.ts"

/** Appends its first argument to a list in the control memory; traps when that is 99. */
const noting = new WebAssembly.Module(
  await assemble(`(module
    (import "folio" "memory" (memory 1))
    (import "folio" "control" (memory $control 1 4097 shared))
    (func (export "run") (param $ticket i32) (param i32 i32)
      (if (i32.eq (local.get $ticket) (i32.const 99)) (then (unreachable)))
      (i32.store (memory $control)
        (i32.add (i32.const 9000) (i32.mul (i32.load (memory $control) (i32.const 8996)) (i32.const 4)))
        (local.get $ticket))
      (i32.store (memory $control) (i32.const 8996)
        (i32.add (i32.load (memory $control) (i32.const 8996)) (i32.const 1)))))`)
)

const OWNER = 1000

/** The order in which the chunks of `count` lanes and of the owner run. */
const orderOf = (lanes: InProcessLanes): ReadonlyArray<number> => {
  const memory = new InProcessMemory(new WebAssembly.Memory({ initial: 1 }))
  const words = new Int32Array(lanes.control.buffer)
  words[8996 / 4] = 0
  assert.isTrue(lanes.load({ slot: 5, module: noting }, memory))
  for (let lane = 0; lane < lanes.count; lane++) lanes.fork(lane, 5, lane, 1, 0)
  words[9000 / 4 + words[8996 / 4]++] = OWNER
  for (let lane = 0; lane < lanes.count; lane++) assert.strictEqual(lanes.join(lane), "done")
  return [...words.subarray(9000 / 4, 9000 / 4 + words[8996 / 4])]
}

const lanesOf = (count: number, order: Order) => new InProcessLanes(count, new Permutation(order))

describe("lanes on one thread", () => {
  it("run in the loop's order, or backwards", () => {
    assert.deepStrictEqual(orderOf(lanesOf(3, "forward")), [0, 1, 2, OWNER])
    assert.deepStrictEqual(orderOf(lanesOf(3, "reverse")), [OWNER, 2, 1, 0])
  })

  it("run each chunk once, in an order that the seed decides", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 9 }), (seed, count) => {
        const order = orderOf(lanesOf(count, seed))
        assert.deepStrictEqual(order.toSorted((a, b) => a - b), [...Array(count).keys(), OWNER])
        assert.deepStrictEqual(orderOf(lanesOf(count, seed)), order)
      }),
      { numRuns: 50 }
    )
  })

  it("let each participant come first, and last, under some seed", () => {
    const orders = Array.from({ length: 100 }, (_, seed) => orderOf(lanesOf(2, seed)))
    assert.deepStrictEqual(new Set(orders.map((order) => order[0])), new Set([0, 1, OWNER]))
    assert.deepStrictEqual(new Set(orders.map((order) => order[2])), new Set([0, 1, OWNER]))
  })

  it("tell a trap at the join, and go on", () => {
    for (const order of ["forward", "reverse"] as const) {
      const lanes = lanesOf(2, order)
      lanes.load({ slot: 1, module: noting }, new InProcessMemory(new WebAssembly.Memory({ initial: 1 })))
      lanes.fork(0, 1, 99, 1, 0)
      lanes.fork(1, 1, 7, 1, 0)
      assert.deepStrictEqual([lanes.join(0), lanes.join(1)], ["trap", "done"])
    }
  })

  it("forget what is unloaded, and stop when closed", async () => {
    const lanes = lanesOf(1, "forward")
    const memory = new InProcessMemory(new WebAssembly.Memory({ initial: 1 }))
    lanes.load({ slot: 1, module: noting }, memory)
    lanes.unload([], [memory.id])
    assert.throws(() => lanes.fork(0, 1, 0, 1, 0), /kernel 1 was not loaded/)
    assert.strictEqual(lanes.ready(), 1)
    await lanes.close()
    assert.strictEqual(lanes.ready(), 0)
    assert.strictEqual(lanes.report().lanes[0].state, "stopped")
  })
})
