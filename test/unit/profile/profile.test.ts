/**
 * A counting copy computes what the original computes, and counts what it executes.
 */
import { assert, describe, it } from "@effect/vitest"
import { decodeModule } from "../../../src/binary/module.ts"
import { prepare } from "../../../src/plan/prepare.ts"
import { COUNTERS_EXPORT, instrument } from "../../../src/profile/instrument.ts"
import { loopShares, type Profile, readProfile } from "../../../src/profile/profile.ts"
import { manyLoops } from "../../support/many-loops.ts"
import { assemble } from "../../support/wat.ts"
import { imports, observe, runnable } from "../binary/fixtures.ts"

type Entry = (...args: ReadonlyArray<number>) => unknown

/** An instance of the counting copy, and its profile as it is now. */
const counting = (bytes: Uint8Array) => {
  const { bytes: copy, functions } = instrument(decodeModule(bytes))
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(copy))
  const counters = exports[COUNTERS_EXPORT] as WebAssembly.Memory
  return {
    call: (entry: string, ...args: ReadonlyArray<number>) => (exports[entry] as Entry)(...args),
    profile: (): Profile => readProfile(functions, counters.buffer)
  }
}

/** Instructions by hand: in brackets, what is executed there. */
const nest = await assemble(`(module
  (memory (export "memory") 1)
  (func $leaf (param i32) (result i32)                                  ;; [3]
    (i32.mul (local.get 0) (local.get 0)))
  (func (export "nest") (param $n i32) (param $m i32) (local $i i32) (local $j i32)
    (loop $outer
      (local.set $j (i32.const 0))                                      ;; [2]
      (loop $inner
        (i32.store (local.get $j) (call $leaf (local.get $j)))          ;; [4]
        (local.set $j (i32.add (local.get $j) (i32.const 4)))           ;; [4]
        (br_if $inner (i32.lt_u (local.get $j) (local.get $m))))        ;; [4]
      (local.set $i (i32.add (local.get $i) (i32.const 1)))             ;; [4]
      (br_if $outer (i32.lt_u (local.get $i) (local.get $n)))))         ;; [4]
  (func (export "early") (param $n i32) (local $i i32)
    (block $end
      (loop $l
        (br_if $end (i32.ge_u (local.get $i) (local.get $n)))           ;; [4]
        (local.set $i (i32.add (local.get $i) (i32.const 1)))           ;; [4]
        (if (i32.eq (local.get $i) (i32.const 3))                       ;; [4]
          (then (drop (i32.load (i32.const -1))))                       ;; [3], trapping
          (else (nop)))
        (br $l))))                                                      ;; [1]
  (func (export "unused")))`)

describe("a counting copy", () => {
  it("counts executions, iterations and instructions of each loop, and what it calls", () => {
    const { call, profile } = counting(nest)
    call("nest", 5, 12)
    const { functions, instructions } = profile()
    // 2 and 3 iterations: 15 of the inner loop, each with a call of 3 instructions.
    const [leaf, outer] = functions
    assert.deepInclude(leaf, { index: 0, calls: 15, instructions: 45 })
    assert.deepInclude(outer, { index: 1, calls: 1, instructions: 5 * 10 + 15 * 12 })
    const [first, second] = outer.loops
    assert.deepInclude(first, { executions: 1, iterations: 5, instructions: 5 * 10, called: 0 })
    assert.deepEqual({ ...second, offset: 0 }, {
      offset: 0,
      parent: first.offset,
      executions: 5,
      iterations: 15,
      instructions: 15 * 12,
      called: 45
    })
    assert.strictEqual(instructions, 45 + 5 * 10 + 15 * 12)
    assert.lengthOf(functions, 2)
    const shares = loopShares(profile())
    assert.strictEqual(shares.get(first.offset), 1)
    assert.strictEqual(shares.get(second.offset), 225 / 275)
  })

  it("counts up to the stretch that traps", () => {
    const { call, profile } = counting(nest)
    call("early", 2)
    const [{ loops: [whole] }] = profile().functions
    assert.deepInclude(whole, { executions: 1, iterations: 3, instructions: 2 * 13 + 4 })
    assert.throws(() => call("early", 9), WebAssembly.RuntimeError)
    const [{ calls, loops: [trapped] }] = profile().functions
    assert.strictEqual(calls, 2)
    assert.deepInclude(trapped, { executions: 2, iterations: 6, instructions: 2 * 13 + 4 + 2 * 13 + 12 + 3 })
  })

  it("gives what the original gives, with every proposal", () => {
    for (const { bytes, name } of runnable) {
      const copy = new WebAssembly.Module(instrument(decodeModule(bytes)).bytes)
      const original = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports())
      const { exports } = new WebAssembly.Instance(copy, imports())
      assert.deepStrictEqual(observe(name, exports), observe(name, original.exports), name)
    }
  })

  it("is not made of a counting copy", () => {
    assert.throws(() => instrument(decodeModule(instrument(decodeModule(nest)).bytes)), /counts already/)
  })
})

describe("a profile", () => {
  it("guides the analysis: hot loops first, cold ones stay as they are", () => {
    const functions = 6
    return assemble(manyLoops(functions)).then((bytes) => {
      const { call, profile } = counting(bytes)
      call("f1", 0, 1000)
      call("f4", 0, 9000)
      call("f5", 0, 2)
      const profiled = profile()
      const shares = loopShares(profiled)
      const { chunks, guest, plan } = prepare(bytes, { profile: shares, maximumPlans: 1 })
      const states = plan.loops.map((loop) => loop._tag === "planned" ? "planned" : loop.reasons[0].code)
      assert.deepStrictEqual(states, ["profile", "budget", "profile", "profile", "planned", "profile"])
      assert.lengthOf(chunks, 1)
      assert.isTrue(WebAssembly.validate(new Uint8Array(guest ?? [])))
      const both = prepare(bytes, { profile: shares }).plan.loops.filter((loop) => loop._tag === "planned")
      assert.deepStrictEqual(both.map(({ functionIndex }) => functionIndex), [1, 4])
    })
  })
})
