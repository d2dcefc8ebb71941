/**
 * Trip counts at their borders: every relation with starts, limits and steps where counters wrap, never move, go the
 * other way, or pass from positive to negative.
 */
import { assert, describe, it } from "@effect/vitest"
import { prepare } from "../../src/plan/prepare.ts"
import { Apart, compareCall, describeMismatch, Guest, type Split } from "../support/differential.ts"
import { assemble } from "../support/wat.ts"

const RELATIONS = ["ne", "lt_s", "le_s", "gt_s", "ge_s", "lt_u", "le_u", "gt_u", "ge_u"]
const STARTS = [0, 5, 200, -1, 0x7fff_ff00, 0x7fff_ffff, -0x8000_0000, -0x7fff_ff00]
const LIMITS = [0, 100, 0x7fff_ffff, -0x8000_0000, -1, -2, -0x1000_0000]
const STEPS = [1, 3, 0x0100_0000, 0x1000_0000, 0x7fff_ffff, 0, -1, -3, -0x8000_0000]

/** No loop here goes round more often: it is left by a second test. */
const MOST = 300

/** Sums up the values of a counter; the loop leaves behind the sum and the last value. */
const text = (type: "i32" | "i64", relation: string, test: "top" | "bottom"): string => {
  const narrow = type === "i64" ? "(i32.wrap_i64 (local.get $i))" : "(local.get $i)"
  const goesOn = `(${type}.${relation} (local.get $i) (local.get $n))`
  const step = `(local.set $i (${type}.add (local.get $i) (local.get $s)))`
  return `(module (memory (export "memory") 1)
    (func (export "run") (param $x ${type}) (param $n ${type}) (param $s ${type}) (result i32 ${type})
      (local $i ${type}) (local $sum i32) (local $rounds i32)
      (local.set $i (local.get $x))
      (block $out
        (loop $l
          ${test === "top" ? `(br_if $out (i32.eqz ${goesOn}))` : ""}
          (br_if $out
            (i32.ge_u (local.tee $rounds (i32.add (local.get $rounds) (i32.const 1))) (i32.const ${MOST})))
          (local.set $sum (i32.add (local.get $sum) (i32.xor ${narrow} (i32.const 0x55))))
          ${step}
          ${test === "top" ? "(br $l)" : `(br_if $l ${goesOn})`}))
      (local.get $sum) (local.get $i)))`
}

const SPLITS: ReadonlyArray<Split> = [{ order: "reverse", width: 3 }, { order: 7, width: 32 }]

describe("a loop goes round as often as it should", () => {
  for (const type of ["i32", "i64"] as const) {
    for (const test of ["top", "bottom"] as const) {
      it(`${type}, tested at the ${test}`, async () => {
        let dispatches = 0
        for (const relation of RELATIONS) {
          // An i64 counter counts by a constant.
          for (const step of type === "i64" ? STEPS : [undefined]) {
            const wat = text(type, relation, test)
              .replace("(local.get $s)))", step === undefined ? "(local.get $s)))" : `(i64.const ${step})))`)
            const bytes = await assemble(wat)
            const prepared = prepare(bytes)
            if (prepared.guest === undefined) continue
            const original = new Guest(new WebAssembly.Module(bytes))
            const apart = new Apart(prepared)
            const image = new Uint8Array(65_536)
            for (const start of STARTS) {
              for (const limit of LIMITS) {
                for (const by of step === undefined ? STEPS : [step]) {
                  const args = type === "i64" ? [BigInt(start), BigInt(limit), BigInt(by)] : [start, limit, by]
                  const one = compareCall(original, apart, image, { name: "run", args }, SPLITS)
                  dispatches += one.dispatches
                  assert.isUndefined(one.mismatch, one.mismatch && `${relation}: ${describeMismatch(one.mismatch)}`)
                }
              }
            }
          }
        }
        assert.isAbove(dispatches, 100)
      })
    }
  }
})
