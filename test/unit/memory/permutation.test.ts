import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { type Order, Permutation } from "../../../layers/memory/permutation.ts"

/** All lanes in turn, then what stays for the owner. */
const runs = (order: Order, pieces: number, lanes: number): ReadonlyArray<number> => {
  const permutation = new Permutation(order)
  const run: Array<number> = []
  let [from, to] = [0, pieces]
  for (let lane = 0; lane < lanes; lane++) {
    const share = Math.ceil((to - from) / (lanes - lane + 1))
    const taken = permutation.take(from, to, share)
    run.push(...taken)
    if (taken.includes(from)) from += share
    else to -= share
  }
  for (let piece = from; piece < to; piece++) run.push(piece)
  return run
}

const order = fc.oneof(fc.constantFrom<Order>("forward", "reverse"), fc.integer())

describe("the order of pieces", () => {
  it("leaves out none and repeats none", () => {
    fc.assert(fc.property(order, fc.nat(40), fc.integer({ min: 1, max: 7 }), (order, pieces, lanes) => {
      assert.deepStrictEqual(
        runs(order, pieces, lanes).toSorted((a, b) => a - b),
        Array.from({ length: pieces }, (_, at) => at)
      )
    }))
  })

  it("is the loop's own, or begins at its end, or is shuffled by the seed", () => {
    assert.deepStrictEqual(runs("forward", 9, 2), [0, 1, 2, 3, 4, 5, 6, 7, 8])
    assert.deepStrictEqual(runs("reverse", 9, 2), [8, 7, 6, 5, 4, 3, 0, 1, 2])
    assert.deepStrictEqual(runs(7, 30, 2), runs(7, 30, 2))
    assert.notDeepEqual(runs(7, 30, 2), runs(8, 30, 2))
  })

  it("lets each participant come first under some seed", () => {
    const firsts = new Set(Array.from({ length: 64 }, (_, seed) => runs(seed, 4, 1)[0]))
    assert.isAbove(firsts.size, 2)
  })
})
