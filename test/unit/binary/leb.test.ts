/**
 * Integers, floats and names: what the writer writes, the reader reads, and nothing else.
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { ByteReader, ModuleFormatError } from "../../../src/binary/reader.ts"
import { ByteWriter } from "../../../src/binary/writer.ts"

const readerOf = (writer: ByteWriter): ByteReader => {
  const bytes = writer.finish()
  return new ByteReader(bytes, 0, bytes.length)
}

const unsigned32 = fc.oneof(fc.nat(0xffff_ffff), fc.constantFrom(0, 127, 128, 0x3fff, 0x4000, 0x7fff_ffff, 0xffff_ffff))
const signed32 = unsigned32.map((value) => value | 0)
const signed64 = fc.oneof(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), signed32.map(BigInt))
const signed33 = fc.bigInt({ min: -(1n << 32n), max: (1n << 32n) - 1n }).map(Number)

/** The same integer in more bytes than it needs, as linkers leave room for relocations. */
const padded = (bytes: Uint8Array, length: number, negative: boolean): Uint8Array => {
  const out = new Uint8Array(Math.max(length, bytes.length))
  out.fill(negative ? 0xff : 0x80)
  out.set(bytes)
  if (out.length > bytes.length) {
    out[bytes.length - 1] |= 0x80
    out[out.length - 1] = negative ? 0x7f : 0x00
  }
  return out
}

const forms = [
  {
    name: "u32",
    values: unsigned32.map(BigInt),
    width: 5,
    write: (writer: ByteWriter, value: bigint) => writer.u32(Number(value)),
    read: (reader: ByteReader) => BigInt(reader.u32())
  },
  {
    name: "u64",
    values: fc.bigInt({ min: 0n, max: (1n << 53n) - 1n }),
    width: 10,
    write: (writer: ByteWriter, value: bigint) => writer.u64(value),
    read: (reader: ByteReader) => BigInt(reader.u64())
  },
  {
    name: "s32",
    values: signed32.map(BigInt),
    width: 5,
    write: (writer: ByteWriter, value: bigint) => writer.s32(Number(value)),
    read: (reader: ByteReader) => BigInt(reader.s32())
  },
  {
    name: "s33",
    values: signed33.map(BigInt),
    width: 5,
    write: (writer: ByteWriter, value: bigint) => writer.s33(Number(value)),
    read: (reader: ByteReader) => BigInt(reader.s33())
  },
  {
    name: "s64",
    values: signed64,
    width: 10,
    write: (writer: ByteWriter, value: bigint) => writer.s64(value),
    read: (reader: ByteReader) => reader.s64()
  }
]

describe("LEB128", () => {
  for (const { name, read, values, width, write } of forms) {
    it(`${name}: reads back what was written, and leaves what follows`, () => {
      fc.assert(
        fc.property(values, (value) => {
          const reader = readerOf(write(new ByteWriter(1), value).u8(0xa5))
          assert.strictEqual(read(reader), value)
          assert.strictEqual(reader.u8(), 0xa5)
        }),
        { numRuns: 2000 }
      )
    })

    it(`${name}: is written in its shortest form, and read in any`, () => {
      fc.assert(
        fc.property(values, fc.integer({ min: 1, max: width }), (value, length) => {
          const shortest = write(new ByteWriter(), value).finish()
          const wide = padded(shortest, length, value < 0n)
          const reader = new ByteReader(wide, 0, wide.length)
          // The last byte of the widest form has fewer bits: padding with sign bits keeps them right.
          assert.strictEqual(read(reader), value)
          assert.strictEqual(reader.position, wide.length)
          if (shortest.length > 1) {
            // Without its last byte the integer is cut, or another one.
            const cut = shortest.slice(0, -1)
            cut[cut.length - 1] &= 0x7f
            assert.notStrictEqual(read(new ByteReader(cut, 0, cut.length)), value)
          }
        }),
        { numRuns: 1000 }
      )
    })

    it(`${name}: is refused when it is cut, too long or too large`, () => {
      const refused = (bytes: number[]): void => {
        assert.throws(() => read(new ByteReader(new Uint8Array(bytes), 0, bytes.length)), ModuleFormatError)
      }
      refused([])
      for (let length = 1; length < width; length++) refused(new Array<number>(length).fill(0x80))
      refused([...new Array<number>(width).fill(0x80), 0x00])
      const tooLarge = { u32: 0x10, u64: 0x02, s32: 0x08, s33: 0x10, s64: 0x01 }[name] ?? 0
      refused([...new Array<number>(width - 1).fill(0xff), tooLarge])
      if (name.startsWith("s")) {
        // A negative number whose unused bits are not all sign bits.
        const mixed = { s32: 0x77, s33: 0x6f, s64: 0x7e }[name] ?? 0
        refused([...new Array<number>(width - 1).fill(0x80), mixed])
      }
    })
  }

  it("agrees with the engine on every encoding of i32.const and i64.const", () => {
    const accepted = (opcode: number, type: number, bytes: Uint8Array): boolean => {
      const code = new ByteWriter().u8(0).u8(opcode).bytes(bytes).u8(0x0b)
      const module = new ByteWriter()
        .fixed32(0x6d736100).fixed32(1)
        .section(1, new ByteWriter().u32(1).u8(0x60).u32(0).u32(1).u8(type))
        .section(3, new ByteWriter().u32(1).u32(0))
        .section(10, new ByteWriter().u32(1).u32(code.length).append(code))
      return WebAssembly.validate(module.finish())
    }
    const reads = (bytes: Uint8Array, read: (reader: ByteReader) => unknown): boolean => {
      const reader = new ByteReader(bytes, 0, bytes.length)
      try {
        read(reader)
      } catch (error) {
        assert.instanceOf(error, ModuleFormatError)
        return false
      }
      return reader.position === bytes.length
    }
    const continued = fc.integer({ min: 0x80, max: 0xff })
    const last = fc.integer({ min: 0, max: 0x7f })
    fc.assert(
      fc.property(fc.array(continued, { minLength: 3, maxLength: 10 }), last, (start, end) => {
        const bytes = new Uint8Array([...start, end])
        assert.strictEqual(reads(bytes, (reader) => reader.s32()), accepted(0x41, 0x7f, bytes))
        assert.strictEqual(reads(bytes, (reader) => reader.s64()), accepted(0x42, 0x7e, bytes))
      }),
      { numRuns: 1000 }
    )
  })
})

describe("other fields", () => {
  it("names are UTF-8, whole or refused", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (name) => {
        assert.strictEqual(readerOf(new ByteWriter().name(name)).name(), name)
      })
    )
    assert.strictEqual(readerOf(new ByteWriter().name("\uFEFFx")).name(), "\uFEFFx")
    for (const bytes of [[1, 0xff], [2, 0xc3, 0x28], [3, 0xed, 0xa0, 0x80], [5, 0x61]]) {
      assert.throws(() => new ByteReader(new Uint8Array(bytes), 0, bytes.length).name(), ModuleFormatError)
    }
  })

  it("fixed-width fields are little endian, floats keep their bits", () => {
    fc.assert(
      fc.property(unsigned32, fc.double({ noNaN: true }), signed64, (word, float, long) => {
        const bytes = new ByteWriter().fixed32(word).f64(float).f32(Math.fround(float)).fixed64(long).finish()
        const view = new DataView(bytes.buffer)
        assert.strictEqual(new ByteReader(bytes, 0, 4).fixed32(), word)
        assert.strictEqual(view.getUint32(0, true), word)
        assert.isTrue(Object.is(view.getFloat64(4, true), float))
        assert.isTrue(Object.is(view.getFloat32(12, true), Math.fround(float)))
        assert.strictEqual(view.getBigInt64(16, true), long)
      })
    )
  })

  it("a vector cannot have more entries than bytes are left", () => {
    const bytes = new ByteWriter().u32(4).u8(0).u8(0).u8(0).finish()
    assert.throws(() => new ByteReader(bytes, 0, bytes.length).count(), ModuleFormatError)
    assert.strictEqual(new ByteReader(new ByteWriter().u32(1).u8(0).finish(), 0, 2).count(), 1)
  })
})
