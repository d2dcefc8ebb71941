/**
 * A patch makes the output again out of the input, is small where little differs, and never reaches outside.
 */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { applyPatch as applyInto } from "../../../layers/node/entry.ts"
import { makePatch } from "../../../layers/node/patch.ts"

const applyPatch = (input: Uint8Array, patch: Uint8Array, length: number): Uint8Array => {
  const output = new Uint8Array(length)
  applyInto(input, patch, output)
  return output
}

const bytes = FastCheck.uint8Array({ maxLength: 400 })

/** An input, and what becomes of it by insertions, deletions and replacements. */
const edited = FastCheck.tuple(
  bytes,
  FastCheck.array(
    FastCheck.record({ at: FastCheck.nat(400), drop: FastCheck.nat(8), add: FastCheck.uint8Array({ maxLength: 40 }) }),
    { maxLength: 6 }
  )
).map(([input, edits]) => {
  const output = [...input]
  for (const { add, at, drop } of edits) output.splice(Math.min(at, output.length), drop, ...add)
  return { input, output: new Uint8Array(output) }
})

/** Bytes of which no sixteen in a row come twice. */
const counting = (length: number): Uint8Array => {
  const words = Uint32Array.from({ length: Math.ceil(length / 4) }, (_, index) => Math.imul(index + 1, 0x9e3779b1))
  return new Uint8Array(words.buffer, 0, length)
}

describe("a patch", () => {
  it("makes the output out of the input", () => {
    FastCheck.assert(FastCheck.property(edited, ({ input, output }) => {
      assert.deepStrictEqual(applyPatch(input, makePatch(input, output), output.length), output)
    }))
  })

  it("joins any two inputs and outputs, also of few different bytes", () => {
    const few = FastCheck.array(FastCheck.nat(1), { maxLength: 200 }).map((values) => new Uint8Array(values))
    FastCheck.assert(FastCheck.property(few, few, (input, output) => {
      assert.deepStrictEqual(applyPatch(input, makePatch(input, output), output.length), output)
    }))
  })

  it("holds little more than what was inserted, however close the changes lie", () => {
    const input = counting(100_000)
    for (const distance of [40, 100, 1000]) {
      const output: Array<number> = []
      let inserted = 0
      for (let at = 0; at < input.length; at += distance) {
        const added = 1 + inserted % 7
        output.push(...new Uint8Array(added).fill(0xfe), ...input.subarray(at, at + distance))
        inserted += added
      }
      const patch = makePatch(input, new Uint8Array(output))
      assert.deepStrictEqual(applyPatch(input, patch, output.length), new Uint8Array(output))
      const runs = Math.ceil(input.length / distance)
      assert.isBelow(patch.length, inserted + 13 * runs + 13)
    }
  })

  it("follows what was moved", () => {
    const input = counting(50_000)
    const output = new Uint8Array([...input.subarray(30_000), ...input.subarray(0, 30_000)])
    const patch = makePatch(input, output)
    assert.deepStrictEqual(applyPatch(input, patch, output.length), output)
    assert.isBelow(patch.length, 100)
  })

  it("of equal bytes is one run", () => {
    assert.strictEqual(makePatch(counting(5000), counting(5000)).length, 12)
  })

  it("that does not fit is refused", () => {
    const input = counting(100)
    const run = (step: number, copy: number, insert: number, inserted: number): Uint8Array =>
      new Uint8Array([...new Uint8Array(new Int32Array([step, copy, insert]).buffer), ...new Uint8Array(inserted)])
    const refused: ReadonlyArray<readonly [string, Uint8Array, number]> = [
      ["behind the input", run(0, 101, 0, 0), 101],
      ["in front of the input", run(-1, 10, 0, 0), 10],
      ["beyond the output", run(0, 10, 5, 5), 14],
      ["short of the output", run(0, 10, 5, 5), 16],
      ["more inserted than there is", run(0, 10, 5, 4), 15],
      ["cut off", new Uint8Array(11), 0]
    ]
    for (const [what, patch, length] of refused) {
      assert.throws(() => applyPatch(input, patch, length), undefined, undefined, what)
    }
  })
})
