/**
 * What was wrong once stays right: by running apart with equal results, or by not running apart at all.
 */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { prepare } from "../../src/plan/prepare.ts"
import { compareRegression } from "../support/differential-regression.ts"
import { assemble } from "../support/wat.ts"
import { REGRESSIONS } from "./regressions.ts"

const program = fileURLToPath(new URL("../support/differential-regression.ts", import.meta.url))

describe("the same is left behind where", () => {
  for (const regression of REGRESSIONS) {
    it(`${regression.name}`, async () => {
      if (regression.endless !== true) {
        assert.deepStrictEqual(await compareRegression(regression), [])
        return
      }
      // Ends by a signal when a chunk never comes back.
      const { signal, status, stderr, stdout } = spawnSync(process.execPath, [program, regression.name], {
        encoding: "utf8",
        timeout: 30_000
      })
      assert.deepStrictEqual(
        { status, signal, stdout: stdout.trim() },
        { status: 0, signal: null, stdout: "[]" },
        stderr
      )
    })
  }
})

const around = (body: string, more = ""): string =>
  `(module (memory (export "memory") 1) (global $r (mut externref) (ref.null extern)) ${more}
    (func (export "run") (param $a i32) (param $n i32) (param $p externref) (result externref) (local $q externref)
      (loop $l
        (i32.store (local.get $a) (local.get $n))
        ${body}
        (local.set $a (i32.add (local.get $a) (i32.const 4)))
        (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (local.get $q)))`

describe("preparation makes valid modules or none for", () => {
  const references: Readonly<Record<string, string>> = {
    "a reference that leaves the loop":
      "(local.set $q (local.get $p)) (if (i32.eq (i32.load (local.get $a)) (i32.const 99)) (then (return (local.get $q))))",
    "a choice between references":
      "(local.set $q (select (result externref) (local.get $p) (local.get $q) (local.get $n)))",
    "a block with a reference": "(drop (block (result externref) (local.get $p)))",
    "a global reference": "(drop (global.get $r))"
  }
  for (const [name, body] of Object.entries(references)) {
    it(`${name}`, async () => {
      const { chunks, guard, guest } = prepare(await assemble(around(body)))
      for (const bytes of [guest, guard, ...chunks]) {
        if (bytes !== undefined) assert.isTrue(WebAssembly.validate(bytes as BufferSource))
      }
    })
  }

  it("a loop whose block type is the index of a type without results", async () => {
    const bytes = await assemble(`(module (type (func)) (memory 1) (func (export "run") (param $a i32) (param $n i32)
      (loop $l
        (i32.store (local.get $a) (local.get $n))
        (local.set $a (i32.add (local.get $a) (i32.const 4)))
        (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))`)
    const loop = bytes.findIndex((byte, at) => byte === 0x03 && bytes[at + 1] === 0x40 && bytes[at + 2] === 0x20)
    bytes[loop + 1] = 0
    const { chunks } = prepare(bytes)
    assert.lengthOf(chunks, 1)
    assert.isTrue(WebAssembly.validate(chunks[0] as BufferSource))
  })

  it("an address of thousands of operations", async () => {
    const step = "(local.set $x (i32.add (local.get $x) (i32.const 4)))"
    const { plan } = prepare(
      await assemble(`(module (memory 1) (func (export "run") (param $a i32) (param $n i32) (local $x i32)
        (loop $l
          (local.set $x (local.get $n)) ${step.repeat(3000)}
          (i32.store (i32.add (local.get $a) (local.get $x)) (local.get $n))
          (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))`)
    )
    assert.lengthOf(plan.loops, 1)
  })
})
