/**
 * Each mechanism by its name: with it a loop runs apart and leaves the same behind, without it the loop stays serial or
 * runs apart less far.
 */
import { assert, describe, it } from "@effect/vitest"
import { type Mechanism, MECHANISMS } from "../../src/plan/mechanisms.ts"
import { prepare, type Prepared } from "../../src/plan/prepare.ts"
import { Apart, compareCall, Guest, type Split } from "../support/differential.ts"
import { assemble } from "../support/wat.ts"

const SPLITS: ReadonlyArray<Split> = [
  { order: "forward", width: 2 },
  { order: "reverse", width: 4 },
  { order: 1, width: 7 }
]

interface Case {
  readonly signature: string
  readonly body: string
  readonly more?: string
  readonly args: ReadonlyArray<ReadonlyArray<number>>
}

const next = `(br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))`
const word = (base: string): string => `(i32.add (local.get ${base}) (i32.shl (local.get $i) (i32.const 2)))`

const CASES: Readonly<Record<Mechanism, Case>> = {
  reductions: {
    signature: "(param $a i32) (param $n i32) (result i32) (local $i i32) (local $sum i32)",
    body: `(loop $l (local.set $sum (i32.add (local.get $sum) (i32.load ${word("$a")}))) ${next}) (local.get $sum)`,
    args: [[1024, 40], [1024, 3]]
  },
  "private-windows": {
    signature: "(param $a i32) (param $n i32) (local $i i32)",
    body: `(loop $l
      (i32.store (i32.const 64) (i32.load ${word("$a")}))
      (i32.store8 (i32.const 65) (local.get $i))
      (i32.store ${word("$a")} (i32.load (i32.const 64))) ${next})`,
    args: [[8192, 40], [8192, 4]]
  },
  calls: {
    more: `(func $twice (param i32) (result i32) (if (i32.eqz (local.get 0)) (then (return (i32.const 9))))
      (i32.mul (local.get 0) (i32.const 2)))`,
    signature: "(param $a i32) (param $n i32) (local $i i32)",
    body: `(loop $l (i32.store ${word("$a")} (call $twice (i32.load ${word("$a")}))) ${next})`,
    args: [[1024, 40]]
  },
  "indirect-calls": {
    more: `(type $f (func (param i32 i32) (result i32)))
      (table 6 funcref) (elem (i32.const 1) $plus $minus $wide)
      (func $plus (type $f) (i32.add (local.get 0) (local.get 1)))
      (func $minus (type $f) (i32.sub (local.get 0) (local.get 1)))
      (func $wide (param i64) (result i64) (local.get 0))`,
    signature: "(param $a i32) (param $n i32) (param $f i32) (local $i i32)",
    body: `(loop $l (i32.store ${word("$a")}
      (call_indirect (type $f) (i32.load ${word("$a")}) (local.get $i)
        (i32.add (local.get $f) (i32.and (local.get $i) (i32.const 1))))) ${next})`,
    // The last ones trap: another type, no function, behind the table's end.
    args: [[1024, 40, 1], [1024, 40, 2], [1024, 40, 3], [1024, 40, 4], [1024, 40, 5]]
  },
  forwarding: {
    signature: "(param $a i32) (param $n i32) (local $i i32)",
    body: `(loop $l
      (i64.store (i32.const 64) (i64.extend_i32_u (i32.shl (local.get $i) (i32.const 2))))
      (i32.store (i32.add (local.get $a) (i32.load (i32.const 64))) (local.get $i)) ${next})`,
    args: [[8192, 40], [8192, 2]]
  },
  "early-exits": {
    signature: "(param $a i32) (param $n i32) (param $stop i32) (result i32) (local $i i32)",
    body: `(block $out (loop $l
      (br_if $out (i32.eq (i32.load ${word("$a")}) (local.get $stop)))
      (i32.store ${word("$a")} (local.get $i)) ${next})) (local.get $i)`,
    args: [[1024, 40, -1], [1024, 40, 20 * 77]]
  },
  "checked-loads": {
    signature: "(param $a i32) (param $n i32) (param $p i32) (local $i i32)",
    body: `(loop $l
      (i32.store ${word("$a")} (i32.load offset=8 (i32.add (local.get $p)
        (i32.div_u (i32.load offset=8192 ${word("$a")}) (i32.const 64))))) ${next})`,
    // Elsewhere; over what is stored.
    args: [[1024, 40, 4096], [1024, 40, -1448]]
  },
  "kept-pieces": {
    signature: "(param $a i32) (param $n i32) (param $x i32) (result i32) (local $i i32) (local $j i32) (local $s i32)",
    // Where four words add up to a number.
    body: `(block $out (loop $l
      (local.set $s (i32.const 0)) (local.set $j (i32.const 0))
      (loop $m
        (local.set $s (i32.add (local.get $s) (i32.load (i32.add ${
      word("$a")
    } (i32.shl (local.get $j) (i32.const 2))))))
        (br_if $m (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const 4))))
      (br_if $out (i32.eq (local.get $s) (local.get $x))) ${next})) (local.get $i)`,
    // In the middle, at the end, in the first iteration, nowhere, behind the memory.
    args: [[1024, 40, 86 * 77], [1024, 40, 162 * 77], [1024, 40, 6 * 77], [1024, 40, -1], [65_436, 40, -1]]
  },
  "last-iterations": {
    signature: "(param $a i32) (param $n i32) (result i32) (local $i i32) (local $last i32)",
    body: `(loop $l
      (local.set $last (i32.mul (i32.load ${word("$a")}) (i32.const 3)))
      (i32.store ${word("$a")} (local.get $last)) ${next}) (local.get $last)`,
    args: [[1024, 2], [1024, 3], [1024, 40]]
  },
  "polled-loops": {
    signature: "(param $a i32) (param $n i32) (local $i i32) (local $v i32)",
    body: `(block $out (loop $l
      (local.set $v (i32.and (i32.load ${word("$a")}) (i32.const 255)))
      (br_if $out (i32.eqz (local.get $v)))
      (loop $m (br_if $m (local.tee $v (i32.sub (local.get $v) (i32.const 1)))))
      (i32.store ${word("$a")} (local.get $i)) ${next}))`,
    args: [[1028, 40]]
  }
}

const image = Uint8Array.from(
  { length: 65_536 },
  (_, at) => at < 1024 ? 0 : (77 * ((at - 1024) >> 2)) >> (8 * (at & 3))
)

const wat = ({ body, more, signature }: Case): string =>
  `(module (memory (export "memory") 1) ${more ?? ""} (func (export "run") ${signature} ${body}))`

const extents = ({ plan }: Prepared): ReadonlyArray<string> =>
  plan.loops.map((loop) => loop._tag === "planned" ? loop.extent : loop.reasons[0].code)

describe("a mechanism", () => {
  for (const name of MECHANISMS) {
    const one = CASES[name]
    it(`that is named ${name} makes a loop run apart`, async () => {
      const bytes = await assemble(wat(one))
      const prepared = prepare(bytes)
      const original = new Guest(new WebAssembly.Module(bytes))
      const apart = new Apart(prepared)
      for (const args of one.args) {
        const { mismatch } = compareCall(original, apart, image, { name: "run", args }, SPLITS)
        assert.isUndefined(mismatch, JSON.stringify(mismatch))
      }
      assert.isAbove(apart.counts().dispatches, 0)
    })

    it(`that is named ${name} can be left out`, async () => {
      const bytes = await assemble(wat(one))
      const without = prepare(bytes, { mechanisms: MECHANISMS.filter((other) => other !== name) })
      assert.notDeepEqual(extents(without), extents(prepare(bytes)))
    })
  }
})
