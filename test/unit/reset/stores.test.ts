/**
 * Marks of stores: none too few. What a store wrote is put back although it has no mark of its own, or one that is
 * left out while its window holds.
 */
import { assert, describe, it } from "vitest"
import { FUNCTIONS, generatedCall } from "../../../bench/fuzz/campaign.ts"
import { generateModule } from "../../../bench/fuzz/modules.ts"
import { decodeModule } from "../../../src/binary/module.ts"
import { Checkpoint } from "../../../src/reset/checkpoint.ts"
import { MARK_REACH } from "../../../src/reset/layout.ts"
import { resettable } from "../../../src/reset/resettable.ts"
import { functionMarks } from "../../../src/reset/stores.ts"
import { Guest } from "../../support/differential.ts"
import { assemble } from "../../support/wat.ts"

const opened = (bytes: Uint8Array) => {
  const prepared = resettable(bytes, { storeMap: true })
  if (prepared._tag === "refused") return undefined
  let state: WebAssembly.Exports = {}
  const guest = new Guest(new WebAssembly.Module(prepared.bytes), undefined, (instance) => (state = instance.exports))
  return { guest, checkpoint: () => new Checkpoint(state, prepared.layout, "tracked-map") }
}

/** Marks of function 0: `covered`, `page` or `window` for each store, in the order of the code. */
const marksOf = async (text: string): Promise<string> => {
  const marks = functionMarks(decodeModule(await assemble(text)), 0)
  return [...marks?.stores ?? []].toSorted(([a], [b]) => a - b).map(([, { kind }]) => kind).join(" ")
}

/** A function over `(param $p i32) (param $n i32)`, and what is left of its stores for each argument. */
const putsBack = async (code: string, calls: ReadonlyArray<readonly [number, number]>): Promise<string> => {
  const text = `(module (func (export "run") (param $p i32) (param $n i32) (local $q i32) ${code})
    (memory (export "memory") 4) (func $skip (param i32)))`
  const { checkpoint, guest } = opened(await assemble(text))!
  const bytes = new Uint8Array(guest.memory!.buffer)
  bytes.forEach((_, at) => (bytes[at] = at * 7 + 1))
  const start = bytes.slice()
  const from = checkpoint()
  for (const [p, n] of calls) {
    try {
      ;(guest.exports["run"] as (p: number, n: number) => void)(p, n)
    } catch (error) {
      assert.instanceOf(error, WebAssembly.RuntimeError)
    }
    assert.notStrictEqual(Buffer.compare(bytes, start), 0, `${p}, ${n} stores nothing`)
    from.reset()
    assert.strictEqual(Buffer.compare(bytes, start), 0, `${p}, ${n} is not put back`)
  }
  return marksOf(text)
}

const store = (address: string, offset = 0, kind = "i64.store"): string =>
  `(${kind} offset=${offset} ${address} (${kind.slice(0, 3)}.const -1))`

/** Around the edges of pages, and of the memory. */
const edges: ReadonlyArray<readonly [number, number]> = [
  4_080,
  4_095,
  4_096,
  8_190,
  12_000,
  65_530,
  262_144 - 16,
  261_000
]
  .flatMap((p) => [0, 1, 5].map((n) => [p, n] as const))

describe("marks of stores", () => {
  it("cover what is stored near them, before and behind", async () => {
    const near = [0, 8, MARK_REACH - 24, 1].map((offset) => store("(local.get $p)", offset)).join("\n")
    assert.strictEqual(await putsBack(near, edges), "page covered covered covered")
    const before = `${store("(local.get $p)")} ${store("(i32.sub (local.get $p) (i32.const 250))")}
      ${store("(i32.add (local.get $p) (i32.const -257))")}`
    assert.strictEqual(await putsBack(before, edges), "page covered page")
    assert.strictEqual(
      await putsBack(`${store("(local.get $p)")} ${store("(local.get $p)", MARK_REACH)}`, edges),
      "page page"
    )
    assert.strictEqual(
      await putsBack(
        `${store("(i32.const 8190)")} ${store("(i32.const 8000)", 186)} ${store("(i32.const 20)")}`,
        edges
      ),
      "page covered page"
    )
  })

  it("end with the arm, the block or the handler in which they were made", async () => {
    const arm = `(if (local.get $n) (then ${store("(local.get $p)")}) (else ${store("(local.get $p)", 8)}))
      ${store("(local.get $p)", 16)}`
    assert.strictEqual(await putsBack(arm, edges), "page page page")
    const block = `(block $b (br_if $b (local.get $n)) ${store("(local.get $p)")}) ${store("(local.get $p)", 8)}`
    assert.strictEqual(await putsBack(block, edges), "page page")
    const within = `${store("(local.get $p)")} (block $b (br_if $b (local.get $n)) ${store("(local.get $p)", 8)})`
    assert.strictEqual(await putsBack(within, edges), "page covered")
  })

  it("belong to a value, not to a local", async () => {
    const moved = `${store("(local.get $p)")}
      (local.set $p (i32.add (i32.mul (local.get $n) (i32.const 5000)) (i32.const 77)))
      ${store("(local.get $p)", 8)}`
    assert.strictEqual(await putsBack(moved, edges), "page page")
    const advanced = `${store("(local.get $p)")} (local.set $p (i32.add (local.get $p) (i32.const 40)))
      ${store("(local.get $p)", 8)} (local.set $q (local.get $p)) ${store("(local.get $q)")}`
    assert.strictEqual(await putsBack(advanced, edges), "page covered covered")
    const chosen = `(local.set $q (i32.const 9000)) ${store("(local.get $q)")}
      (if (local.get $n) (then (local.set $q (local.get $p)))) ${store("(local.get $q)")}`
    assert.strictEqual(await putsBack(chosen, edges), "page page")
    const other = `${store("(local.get $p)")} (local.set $q (i32.const 9000))
      (if (local.get $n) (then (local.set $q (local.get $p)))) ${store("(local.get $q)")}`
    assert.strictEqual(await putsBack(other, edges), "page page")
    const otherwise = `${store("(local.get $p)")} (local.set $q (i32.const 9000))
      (if (local.get $n) (then (local.set $q (local.get $p))) (else ${store("(local.get $q)")}))`
    assert.strictEqual(await putsBack(otherwise, edges), "page page")
  })

  it("of one iteration are not those of the next", async () => {
    const walk = (step: number, body: string): string =>
      `(loop $l ${body} (local.set $p (i32.and (i32.add (local.get $p) (i32.const ${step})) (i32.const 0x3ffff)))
         (br_if $l (i32.gt_s (local.tee $n (i32.sub (local.get $n) (i32.const 1))) (i32.const 0))))`
    // With the `and` the address is wild; without it, it advances.
    assert.strictEqual(
      await putsBack(walk(5_000, `${store("(local.get $p)")} ${store("(local.get $p)", 9)}`), edges),
      "page covered"
    )
    const even = (step: number): string =>
      `${store("(local.get $p)")} (loop $l ${
        store("(local.get $p)")
      } (local.set $p (i32.add (local.get $p) (i32.const ${step})))
         (br_if $l (i32.gt_s (local.tee $n (i32.sub (local.get $n) (i32.const 1))) (i32.const 0))))`
    for (const step of [1, 8, -8, 500, 4_096, -5_000, 70_000]) {
      assert.strictEqual(await putsBack(even(step), [...edges, [100_000, 9_000], [200_000, 3_000]]), "page window")
    }
    const table = `(loop $l
        ${store("(i32.add (local.get $p) (i32.shl (i32.load8_u (local.get $n)) (i32.const 2)))", 3, "i32.store")}
        (br_if $l (i32.gt_s (local.tee $n (i32.sub (local.get $n) (i32.const 1))) (i32.const 0))))`
    assert.strictEqual(await putsBack(table, [[0, 500], [3_000, 500], [4_090, 300], [261_600, 200]]), "window")
  })

  it("do without a local that holds the address", async () => {
    const loaded = `(i64.store offset=4 (i32.and (i32.load (local.get $p)) (i32.const 0x3fff0)) (i64.const -1))
      (i64.store (i32.mul (local.get $n) (i32.const 4095)) (i64.const -1))`
    assert.strictEqual(await putsBack(loaded, [[0, 1], [5_000, 20], [70_000, 60]]), "page page")
  })

  it("are enough for generated functions", () => {
    let calls = 0
    for (let seed = 1; seed <= 300; seed++) {
      const module = generateModule(seed, FUNCTIONS)
      const open = opened(module.bytes)
      if (open === undefined) continue
      const bytes = new Uint8Array(open.guest.memory!.buffer)
      for (let f = 0; f < FUNCTIONS; f++) {
        for (let n = 0; n < 3; n++) {
          const generated = generatedCall(module, f, n)
          if (generated === undefined) continue
          bytes.set(generated.image)
          const start = bytes.slice()
          const checkpoint = open.checkpoint()
          try {
            ;(open.guest.exports[generated.call.name] as (...args: ReadonlyArray<unknown>) => unknown)(
              ...generated.call.args
            )
          } catch (error) {
            assert.instanceOf(error, WebAssembly.RuntimeError)
          }
          if (Buffer.compare(bytes, start) === 0) continue
          calls++
          assert.isUndefined(checkpoint.reset())
          assert.strictEqual(Buffer.compare(bytes, start), 0, `seed ${seed}, function ${f}, call ${n}`)
        }
      }
    }
    assert.isAbove(calls, 1_000)
  })
})
