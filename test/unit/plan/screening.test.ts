/**
 * Loops that control flow alone rules out, and that calls cannot save.
 */
import { assert, describe, it } from "@effect/vitest"
import { prepare } from "../../../src/plan/prepare.ts"
import { assemble } from "../../support/wat.ts"

/** Codes of the first reasons of the loops of `run`; `planned` where there is a plan. */
const outcomes = async (body: string, more = ""): Promise<ReadonlyArray<string>> => {
  const bytes = await assemble(`(module
    (import "host" "log" (func $log (param i32)))
    (memory (export "memory") 16)
    (func (export "run") (param $n i32) (local $i i32) (local $x i32) ${body})
    ${more})`)
  const { plan } = prepare(bytes)
  return plan.loops
    .filter(({ functionIndex }) => functionIndex === 1)
    .map((loop) => (loop._tag === "planned" ? "planned" : loop.reasons[0].code))
}

const store = "(i32.store (i32.shl (local.get $i) (i32.const 2)) (local.get $i))"
const step = "(local.set $i (i32.add (local.get $i) (i32.const 1)))"
const again = "(br_if $l (i32.lt_s (local.get $i) (local.get $n)))"

describe("a loop", () => {
  it("that calls the host in each iteration is refused for the call", async () => {
    assert.deepStrictEqual(await outcomes(`(loop $l ${store} (call $log (local.get $i)) ${step} ${again})`), ["call"])
  })

  it("that calls the host on a way out alone is planned", async () => {
    const body = `(loop $l
      (if (i32.eqz (i32.load8_u (local.get $i))) (then (call $log (local.get $i)) (return)))
      (i32.store (i32.add (i32.const 65536) (i32.shl (local.get $i) (i32.const 2))) (local.get $i)) ${step} ${again})`
    assert.deepStrictEqual(await outcomes(body), ["planned"])
  })

  it("whose only test stands under another is uncountable", async () => {
    const body = `(block $end (loop $l ${store} ${step}
      (if (local.get $x) (then (br_if $end (i32.ge_s (local.get $i) (local.get $n)))))
      (local.set $x (i32.load (local.get $i))) (br $l)))`
    assert.deepStrictEqual(await outcomes(body), ["uncountable"])
  })

  it("that leaves the function by its test is planned", async () => {
    const body = `(loop $l (br_if 1 (i32.ge_s (local.get $i) (local.get $n))) ${store} ${step} (br $l))`
    assert.deepStrictEqual(await outcomes(body), ["planned"])
  })

  it("whose control never returns is uncountable", async () => {
    assert.deepStrictEqual(await outcomes(`(loop $l ${store} ${step})`), ["uncountable"])
  })

  it("whose bound only a followed call knows is planned", async () => {
    const body = `(loop $l ${store} ${step} (br_if $l (i32.lt_s (local.get $i) (call $bound (local.get $n)))))`
    const bound = "(func $bound (param $n i32) (result i32) (i32.add (local.get $n) (i32.const 1)))"
    assert.deepStrictEqual(await outcomes(body, bound), ["planned"])
  })

  it("whose bound a followed call loads from a fixed address is planned", async () => {
    const body = `(loop $l (i32.store (i32.add (i32.const 4096) (i32.shl (local.get $i) (i32.const 2))) (local.get $i))
      ${step} (br_if $l (i32.lt_s (local.get $i) (call $length (local.get $n)))))`
    const length = "(func $length (param $at i32) (result i32) (i32.load (local.get $at)))"
    assert.deepStrictEqual(await outcomes(body, length), ["planned"])
  })

  it("whose step only a followed call knows is planned", async () => {
    const next = "(func $next (param $i i32) (result i32) (i32.add (local.get $i) (i32.const 1)))"
    assert.deepStrictEqual(
      await outcomes(`(loop $l ${store} (local.set $i (call $next (local.get $i))) ${again})`, next),
      ["planned"]
    )
  })

  it("whose step a followed call loads from the data is uncountable", async () => {
    const next = "(func $next (param $i i32) (result i32) (i32.add (local.get $i) (i32.load8_u (local.get $i))))"
    assert.deepStrictEqual(
      await outcomes(`(loop $l ${store} (local.set $i (call $next (local.get $i))) ${again})`, next),
      ["uncountable"]
    )
  })

  it("whose bound a followed call cannot make known is uncountable", async () => {
    const body = `(loop $l ${store} (i32.store (i32.const 8) (call $twice (local.get $i))) ${step}
      (br_if $l (i32.load8_u (i32.shr_u (local.get $i) (i32.const 3)))))`
    const twice = "(func $twice (param $n i32) (result i32) (i32.shl (local.get $n) (i32.const 1)))"
    assert.deepStrictEqual(await outcomes(body, twice), ["uncountable"])
  })

  it("with a callee of many loops is refused for the call", async () => {
    const many = `(func $many (param $a i32) (local $k i32) ${
      Array.from({ length: 11 }, (_, index) =>
        `(local.set $k (i32.const 0)) (loop $m${index} (i32.store8 (i32.add (local.get $a) (local.get $k)) (i32.const 1))
          (local.set $k (i32.add (local.get $k) (i32.const 1)))
          (br_if $m${index} (i32.lt_u (local.get $k) (i32.const ${index + 9}))))`).join(" ")
    })`
    const body = `(loop $l ${store} (call $many (i32.mul (local.get $i) (i32.const 64))) ${step} ${again})`
    assert.deepStrictEqual(await outcomes(body, many), ["call"])
  })
})
