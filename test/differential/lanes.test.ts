/**
 * Real lanes beside the original: compiled C loops, reductions many times over, memory that grows, and a stack that
 * overflows in the middle of everything. Left out where no lane comes up.
 */
import { assert, describe, it } from "@effect/vitest"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { afterAll } from "vitest"
import { kernelModules } from "../../bench/fixtures/kernels/catalogue.ts"
import type { NodeEngine } from "../../layers/node/engine.ts"
import { prepare } from "../../src/plan/prepare.ts"
import { fixtureBytes } from "../mutation/fixtures.ts"
import { kernelCases, kernelModule } from "../support/differential-kernels.ts"
import { OnLanes, openLanes } from "../support/differential-lanes.ts"
import { compareCall, describeMismatch, difference, Guest, randomBits, type Split } from "../support/differential.ts"
import { assemble } from "../support/wat.ts"

const lanes = await openLanes()
afterAll(() => typeof lanes === "string" ? undefined : lanes.close())

/** The split has no say on real lanes: each is another round of the same call. */
const rounds = (count: number): ReadonlyArray<Split> => Array.from({ length: count }, () => ({ order: 0, width: 2 }))

const both = (bytes: Uint8Array): { readonly original: Guest; readonly twin: OnLanes } => ({
  original: new Guest(new WebAssembly.Module(bytes as BufferSource)),
  twin: new OnLanes(lanes as NodeEngine, prepare(bytes))
})

describe.skipIf(typeof lanes === "string")("on real lanes", () => {
  for (const { file: name, kernels } of kernelModules) {
    it(`compiled loops leave the same behind: ${name}`, () => {
      const { original, twin } = both(kernelModule(name))
      const differences: Array<string> = []
      let dispatches = 0
      for (const kernel of kernels) {
        for (const { call, image, label } of kernelCases(kernel)) {
          const one = compareCall(original, twin, image, call, rounds(1))
          dispatches += one.dispatches
          if (one.mismatch !== undefined) differences.push(`${label}: ${describeMismatch(one.mismatch)}`)
        }
      }
      assert.deepStrictEqual(differences, [])
      assert.isAbove(dispatches, 10 * kernels.length)
      twin.close()
    })
  }

  it("the results of every participant are there when they are combined", () => {
    const { original, twin } = both(fixtureBytes("reduction"))
    const image = new Uint8Array(65_536)
    const random = randomBits(1)
    for (let at = 0; at < image.length; at++) image[at] = random() >>> 24
    original.reset(image)
    twin.guest.reset(image)
    for (let n = 10; n < 60; n++) {
      const call = { name: "run", args: [4 * n, n, n] }
      const expected = original.call(call).ending
      for (let round = 0; round < 400; round++) assert.strictEqual(twin.guest.call(call).ending, expected)
    }
    assert.isAbove(twin.counts().dispatches, 10_000)
    twin.close()
  })

  it("pages that came between two dispatches are the same for all", async () => {
    const store = (shift: number, value: string): string =>
      `(local.set $i (i32.const 0))
      (loop $l
        (i32.store (i32.add (local.get $a) (i32.shl (local.get $i) (i32.const ${shift}))) ${value})
        (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))`
    const end = (bytes: number): string =>
      `(local.set $a (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.mul (local.get $n) (i32.const ${bytes}))))`
    const { original, twin } = both(
      await assemble(`(module (memory (export "memory") 1 64)
        (func (export "run") (param $n i32) (param $v i32) (result i32) (local $i i32) (local $a i32)
          ${end(4)} ${store(2, "(i32.add (local.get $v) (local.get $i))")}
          (drop (memory.grow (i32.const 1)))
          ${end(8)} ${store(3, "(i32.add (memory.size) (local.get $i))")}
          (memory.size)))`)
    )
    for (let k = 0; k < 30; k++) {
      const call = { name: "run", args: [100 + 50 * k, k * 1000] }
      assert.isUndefined(difference(original.call(call), twin.guest.call(call)))
    }
    assert.isAbove(twin.counts().dispatches, 50)
    twin.close()
  })

  it("a memory goes with its instance", async () => {
    setFlagsFromString("--expose-gc")
    const gc = runInNewContext("gc") as () => void
    const prepared = prepare(fixtureBytes("captured-local"))
    const use = (): WeakRef<object> => {
      const twin = new OnLanes(lanes as NodeEngine, prepared)
      twin.guest.call({ name: "run", args: [1024, 100, 5] })
      twin.close()
      return new WeakRef(twin.guest.memory!)
    }
    const memories = Array.from({ length: 10 }, use)
    const alive = (): number => memories.filter((memory) => memory.deref() !== undefined).length
    for (let round = 0; round < 5; round++) {
      // Whatever a turn has looked at stays alive until the turn ends.
      await new Promise((resolve) => setImmediate(resolve))
      gc()
    }
    assert.strictEqual(alive(), 0)
  })

  it("a stack that overflows leaves the lanes as they were", async () => {
    const { original, twin } = both(
      await assemble(`(module (memory (export "memory") 1)
        (func $f (export "run") (param $a i32) (param $n i32) (param $d i32) (result i32) (local $i i32)
          (loop $l
            (i32.store (i32.add (local.get $a) (i32.shl (local.get $i) (i32.const 2))) (local.get $d))
            (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
          (if (result i32) (local.get $d)
            (then
              (i32.add (i32.const 1)
                (call $f (local.get $a) (local.get $n) (i32.sub (local.get $d) (i32.const 1)))))
            (else (i32.const 0)))))`)
    )
    const deep = (frames: number, run: () => void): void => frames === 0 ? run() : deep(frames - 1, run)
    for (let k = 0; k < 12; k++) {
      // Deeper by a few frames each time, so that the end of the stack comes elsewhere.
      deep(k * 5, () => {
        assert.match(
          twin.guest.call({ name: "run", args: [1024, 60, 1_000_000] }).ending,
          /^RangeError: Maximum call stack/
        )
      })
      original.reset(new Uint8Array(65_536))
      twin.guest.reset(new Uint8Array(65_536))
      const call = { name: "run", args: [1024, 500, 5] }
      assert.isUndefined(difference(original.call(call), twin.guest.call(call)))
    }
    assert.isAbove(twin.counts().dispatches, 1_000)
    twin.close()
  })
})
