import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { decodeModule } from "../../../src/binary/module.ts"
import { bakeModule } from "../../../src/image/bake.ts"
import { capture } from "../../../src/image/capture.ts"
import { decodeImage, encodeImage } from "../../../src/image/format.ts"
import { instrument } from "../../../src/image/instrument.ts"
import { PAGE_BYTES } from "../../../src/image/model.ts"
import { runsOf } from "../../../src/image/runs.ts"
import { assemble } from "../../support/wat.ts"
import { bytesOf, type Exports, instantiate, options } from "./program.ts"

const bytes = await assemble(`(module (memory (export "memory") 5 300)
  (data (i32.const 20) "some bytes of the module") (data (i32.const 131060) "across the border of two pages"))`)
const m = decodeModule(bytes)
const compiled = new WebAssembly.Module(instrument(m))

const written = (writes: ReadonlyArray<readonly [at: number, length: number, value: number]>): Exports => {
  const exports = new WebAssembly.Instance(compiled).exports as Exports
  const memory = new Uint8Array((exports["memory"] as unknown as WebAssembly.Memory).buffer)
  for (const [at, length, value] of writes) memory.fill(value, at, at + length)
  return exports
}

describe("data segments of a baked module", () => {
  const near = (place: number) => FastCheck.integer({ min: place - 40, max: place + 40 })
  const at = FastCheck.oneof(
    FastCheck.integer({ min: 0, max: 5 * PAGE_BYTES - 1 }),
    near(PAGE_BYTES),
    near(2 * PAGE_BYTES),
    near(5 * PAGE_BYTES - 41)
  )
  const length = FastCheck.oneof(FastCheck.integer({ min: 1, max: 40 }), FastCheck.constant(70_000))
  const writes = FastCheck.array(FastCheck.tuple(at, length, FastCheck.constantFrom(0, 1, 255)), { maxLength: 12 })

  it("leave the bytes that were captured, whatever was written and zeroed", () =>
    FastCheck.assert(
      FastCheck.property(writes, (writes) => {
        const source = written(writes)
        const image = decodeImage(encodeImage(capture(m, source, options)))
        assert.isTrue(bytesOf(instantiate(bakeModule(m, image))).equals(bytesOf(source)))
      }),
      { numRuns: 150, seed: 4 }
    ))

  it("stay as many as an engine takes: gaps are written out where there would be more", async () => {
    const wide = await assemble(`(module (memory (export "memory") 130))`)
    const large = decodeModule(wide)
    const source = instantiate(instrument(large))
    const words = new Uint32Array((source["memory"] as unknown as WebAssembly.Memory).buffer)
    for (let word = 0; word < words.length; word += 16) words[word] = word + 1
    assert.isAbove(words.length / 16, 100_000)
    const baked = bakeModule(large, capture(large, source, options))
    assert.isAtMost(decodeModule(baked).dataSegments.length, 90_000)
    assert.isTrue(bytesOf(instantiate(baked)).equals(bytesOf(source)))
  })

  it("hold no zeros at their ends and no long ones inside", () => {
    const page = new Uint8Array(PAGE_BYTES)
    page.fill(9, 101, 150)
    // A segment here costs seven bytes besides its content: as many zeros are written out, one more is left out.
    page[157] = 9
    page[166] = 9
    page[400] = 9
    const runs = runsOf(new Map([[3, page]]))
    assert.deepStrictEqual(
      runs.map(({ at, end }) => [at - 3 * PAGE_BYTES, end - at]),
      [[101, 57], [166, 1], [400, 1]]
    )
  })
})
