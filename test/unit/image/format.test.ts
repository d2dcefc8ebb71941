/**
 * Files of images that nobody has captured: any image is given back as it was, and no bytes are anything but an image or
 * a refusal.
 */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { ByteWriter } from "../../../src/binary/writer.ts"
import { decodeImage, decodeIndex, encodeImage, encodeIndex } from "../../../src/image/format.ts"
import { hash128 } from "../../../src/image/hash.ts"
import { Mismatch } from "../../../src/image/mismatch.ts"
import { type Image, type MemoryImage, PAGE_BYTES } from "../../../src/image/model.ts"
import type { BitsType } from "../../../src/wire/values.ts"

const page = (seed: number): Uint8Array =>
  new Uint8Array(Uint32Array.from({ length: PAGE_BYTES / 4 }, (_, at) => Math.imul(at + 1, seed * 2 + 1)).buffer)

/** Of each page: not in the image, zero, or with bytes. */
const memories = FastCheck.array(FastCheck.constantFrom<"own" | "zero" | "stored">("own", "zero", "stored"), {
  maxLength: 9
}).map((kinds): MemoryImage => ({
  pages: kinds.length,
  delta: kinds.flatMap((kind, at) =>
    kind === "own"
      ? []
      : [kind === "zero" ? { page: at, bytes: undefined, hash: "" } : { page: at, bytes: page(at), hash: undefined }]
  )
}))

const types: ReadonlyArray<BitsType> = ["i32", "i64", "f32", "f64", "v128"]
const WIDTHS: Readonly<Record<BitsType, number>> = { i32: 32, i64: 64, f32: 32, f64: 64, v128: 128 }
const globals = FastCheck.constantFrom(...types).chain((type) =>
  FastCheck.record({
    index: FastCheck.nat(1000),
    type: FastCheck.constant(type),
    mutable: FastCheck.boolean(),
    bits: FastCheck.bigInt({ min: 0n, max: (1n << BigInt(WIDTHS[type])) - 1n })
  })
)

const images: FastCheck.Arbitrary<Image> = FastCheck.record({
  module: FastCheck.constant("0123456789abcdef".repeat(4)),
  fingerprint: FastCheck.string(),
  memories: FastCheck.array(memories, { minLength: 1, maxLength: 2 }),
  globals: FastCheck.array(globals, { maxLength: 4 }),
  tables: FastCheck.array(
    FastCheck.record({
      index: FastCheck.nat(9),
      slots: FastCheck.array(FastCheck.integer({ min: -1, max: 2 ** 31 - 2 }), { maxLength: 20 })
    }),
    { maxLength: 2 }
  ),
  dropped: FastCheck.record({
    data: FastCheck.array(FastCheck.nat(300)),
    elements: FastCheck.array(FastCheck.nat(300))
  }),
  renew: FastCheck.array(FastCheck.string(), { maxLength: 2 }),
  rebind: FastCheck.array(FastCheck.string(), { maxLength: 2 })
})

/** What is said of bytes; undefined where they are an image. Anything else that is thrown fails the test. */
const refusalOf = (work: () => Image): Mismatch | undefined => {
  try {
    work()
    return undefined
  } catch (error) {
    if (error instanceof Mismatch) return error
    throw error
  }
}

describe("the file of any image", () => {
  it("gives it back, and is the same again", () =>
    FastCheck.assert(
      FastCheck.property(images, (image) => {
        const bytes = encodeImage(image)
        const read = decodeImage(bytes)
        const { memories, ...rest } = image
        const { memories: given, ...same } = read
        assert.deepStrictEqual(same, rest)
        for (const [index, { delta, pages }] of memories.entries()) {
          assert.strictEqual(given[index].pages, pages)
          assert.deepStrictEqual(
            given[index].delta.map(({ bytes, page }) => [page, bytes && Buffer.from(bytes)]),
            delta.map(({ bytes, page }) => [page, bytes && Buffer.from(bytes)])
          )
        }
        assert.isTrue(Buffer.from(encodeImage(read)).equals(Buffer.from(bytes)))
        assert.isTrue(Buffer.from(encodeIndex(decodeIndex(encodeIndex(image)))).equals(Buffer.from(encodeIndex(image))))
      }),
      { numRuns: 60, seed: 11 }
    ))

  it("with any bits changed, or cut anywhere, is refused; trusted pages may differ, and nothing else", () =>
    FastCheck.assert(
      FastCheck.property(
        images,
        FastCheck.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        FastCheck.integer({ min: 1, max: 255 }),
        (image, place, change) => {
          const bytes = encodeImage(image)
          const at = Math.floor(place * bytes.length)
          assert.isDefined(refusalOf(() => decodeImage(bytes.subarray(0, at))))
          bytes[at] ^= change
          assert.isDefined(refusalOf(() => decodeImage(bytes)), `byte ${at}`)
          const hashes = 56 + new DataView(bytes.buffer).getUint32(12, true)
          if (at < hashes) assert.isDefined(refusalOf(() => decodeImage(bytes, true)), `byte ${at}, trusted`)
        }
      ),
      { numRuns: 300, seed: 12 }
    ))

  it("whose record is nonsense under a right hash is refused, and asks for no memory without end", () => {
    const sealed = (record: ByteWriter): Uint8Array => {
      const out = new ByteWriter(4096).bytes(encodeIndex(EMPTY), 0, 12).fixed32(record.length).fixed32(0).fixed32(4096)
      const index = out.bytes(new Uint8Array(32)).append(record).bytes(new Uint8Array(4096 - out.length)).finish()
      const set = (place: number, range: Uint8Array): void =>
        index.set(Uint8Array.from(Buffer.from(hash128(range), "hex")), place)
      set(40, index.subarray(56 + record.length))
      set(24, index.slice(0, 56 + record.length))
      return index
    }
    const memory = (...numbers: ReadonlyArray<number>): ByteWriter => {
      const record = new ByteWriter().name("m").name("").u32(1)
      for (const number of numbers) record.u32(number)
      return record
    }
    const faults: ReadonlyArray<readonly [ByteWriter, RegExp]> = [
      [memory(2 ** 32 - 1, 1, 0, 2 ** 32 - 1, 0), /a memory of 4294967295 pages/],
      [memory(4, 1, 3, 2, 0), /pages 3 to 5/],
      [memory(4, 2, 1, 2, 0, 2, 1, 0), /pages 2 to 3 behind 3/],
      [memory(4, 1, 0, 1, 1), /more than 0 pages/],
      [memory(4, 0).u32(1).u32(0).u8(9), /unknown type of a global/],
      [memory(4, 0).u32(2 ** 31), /a vector of/],
      [memory(4, 0, 0, 0, 0, 0, 0, 0).u8(7), /bytes left over/]
    ]
    for (const [record, reason] of faults) {
      const refusal = refusalOf(() => decodeIndex(sealed(record)))
      assert.strictEqual(refusal?.code, "malformed")
      assert.match(refusal!.detail, reason)
    }
    assert.isUndefined(refusalOf(() => decodeIndex(sealed(memory(4, 0, 0, 0, 0, 0, 0, 0)))))
  })
})

const EMPTY: Image = {
  module: "m",
  fingerprint: "",
  memories: [],
  globals: [],
  tables: [],
  dropped: { data: [], elements: [] },
  renew: [],
  rebind: []
}
