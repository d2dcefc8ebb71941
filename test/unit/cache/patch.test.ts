/**
 * Runs are what both modules have, and nearly all of it where little differs.
 */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { commonRuns } from "../../../layers/node/patch.ts"

/** Checks that runs are in order and hold what they say; the bytes of the output that they leave out. */
const left = (input: Uint8Array, output: Uint8Array): number => {
  const runs = commonRuns(input, output)
  let done = 0
  let covered = 0
  for (let run = 0; run < runs.length; run += 3) {
    const [at, to, length] = runs.subarray(run, run + 3)
    assert.isAtLeast(to, done)
    assert.isAtMost(to + length, output.length)
    assert.isAtMost(at + length, input.length)
    assert.strictEqual(Buffer.compare(input.subarray(at, at + length), output.subarray(to, to + length)), 0)
    covered += length
    done = to + length
  }
  return output.length - covered
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

describe("common runs", () => {
  it("hold what both have, in order", () => {
    FastCheck.assert(FastCheck.property(edited, ({ input, output }) => {
      assert.isAtMost(left(input, output), output.length)
    }))
  })

  it("are found also among few different bytes", () => {
    const few = FastCheck.array(FastCheck.nat(1), { maxLength: 200 }).map((values) => new Uint8Array(values))
    FastCheck.assert(FastCheck.property(few, few, (input, output) => {
      assert.isAtMost(left(input, output), output.length)
    }))
  })

  it("leave out little more than what was inserted, however close the changes lie", () => {
    const input = counting(100_000)
    for (const distance of [40, 100, 1000]) {
      const output: Array<number> = []
      let inserted = 0
      for (let at = 0; at < input.length; at += distance) {
        const added = 1 + inserted % 7
        output.push(...new Uint8Array(added).fill(0xfe), ...input.subarray(at, at + distance))
        inserted += added
      }
      assert.isBelow(left(input, new Uint8Array(output)), inserted + Math.ceil(input.length / distance))
    }
  })

  it("follow what was moved", () => {
    const input = counting(50_000)
    const output = new Uint8Array([...input.subarray(30_000), ...input.subarray(0, 30_000)])
    assert.isBelow(left(input, output), 50)
  })

  it("of equal bytes are one", () => {
    assert.deepStrictEqual([...commonRuns(counting(5000), counting(5000))], [0, 0, 5000])
  })
})
