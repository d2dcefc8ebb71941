/**
 * Immediates of every form, and what the reader refuses.
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { InstructionReader } from "../../../src/binary/instruction.ts"
import { ModuleFormatError } from "../../../src/binary/reader.ts"
import { ByteWriter } from "../../../src/binary/writer.ts"

const written = (write: (out: ByteWriter) => unknown): InstructionReader => {
  const out = new ByteWriter()
  write(out)
  const bytes = out.finish()
  return new InstructionReader(bytes, 0, bytes.length)
}

/** Decodes one instruction, which must fill its bytes. */
const one = (write: (out: ByteWriter) => unknown): InstructionReader => {
  const reader = written(write)
  assert.isTrue(reader.next())
  assert.strictEqual(reader.start, 0)
  assert.strictEqual(reader.position, reader.bytes.length)
  assert.isFalse(reader.next())
  return reader
}

const index = fc.oneof(fc.nat(0xffff_ffff), fc.nat(300))

/** Opcodes with one index, by name of the thing it counts. */
const indexed = [0x07, 0x08, 0x09, 0x0c, 0x0d, 0x10, 0x12, 0x14, 0x15, 0x18, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26]
const moreIndexed = [0xd2, 0xd5, 0xd6, 0xfb000, 0xfb006, 0xfb00b, 0xfb010, 0xfc009, 0xfc00d, 0xfc00f, 0xfc010, 0xfc011]
const paired = [0x11, 0x13, 0xfb002, 0xfb005, 0xfb008, 0xfb009, 0xfb00a, 0xfb011, 0xfb012, 0xfb013, 0xfc00c, 0xfc00e]

describe("immediates", () => {
  it("indices", () => {
    fc.assert(
      fc.property(fc.constantFrom(...indexed, ...moreIndexed), index, (opcode, value) => {
        const reader = one((out) => out.opcode(opcode).u32(value))
        assert.strictEqual(reader.opcode, opcode)
        assert.strictEqual(reader.index, value)
      })
    )
    fc.assert(
      fc.property(fc.constantFrom(...paired), index, index, (opcode, first, second) => {
        const reader = one((out) => out.opcode(opcode).u32(first).u32(second))
        assert.deepStrictEqual([reader.opcode, reader.index, reader.index2], [opcode, first, second])
      })
    )
  })

  it("memory accesses, of any memory and with offsets of 64 bits", () => {
    const opcodes = [0x28, 0x3e, 0xfd000, 0xfd00b, 0xfd05c, 0xfe000, 0xfe010, 0xfe04e]
    const offset = fc.oneof(fc.maxSafeNat(), fc.nat(300), fc.nat(0xffff_ffff))
    fc.assert(
      fc.property(fc.constantFrom(...opcodes), fc.nat(4), offset, fc.nat(200), (opcode, align, offset, memory) => {
        const reader = one((out) => out.opcode(opcode).memarg(align, offset, memory))
        assert.strictEqual(reader.opcode, opcode)
        assert.deepStrictEqual([reader.align, reader.offset, reader.memory], [align, offset, memory])
      })
    )
    const lane = one((out) => out.opcode(0xfd057).memarg(3, 70000, 2).u8(1))
    assert.deepStrictEqual([lane.index, lane.align, lane.offset, lane.memory], [1, 3, 70000, 2])
    // A memory named in one access does not stay for the next.
    const two = written((out) => out.opcode(0x28).memarg(2, 0, 3).opcode(0x28).memarg(2, 4))
    assert.isTrue(two.next() && two.memory === 3 && two.next())
    assert.deepStrictEqual([two.memory, two.offset], [0, 4])
  })

  it("memories of bulk instructions", () => {
    assert.strictEqual(one((out) => out.opcode(0x3f).u32(5)).memory, 5)
    assert.strictEqual(one((out) => out.opcode(0x40).u32(6)).memory, 6)
    assert.strictEqual(one((out) => out.opcode(0xfc00b).u32(7)).memory, 7)
    assert.strictEqual(one((out) => out.opcode(0xfc012).u32(8)).memory, 8)
    const copy = one((out) => out.opcode(0xfc00a).u32(1).u32(2))
    assert.deepStrictEqual([copy.memory, copy.index2], [1, 2])
    const init = one((out) => out.opcode(0xfc008).u32(9).u32(3))
    assert.deepStrictEqual([init.index, init.memory], [9, 3])
  })

  it("constants, by their bits", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), (value) => {
        const low = Number(BigInt.asIntN(32, value))
        assert.strictEqual(one((out) => out.opcode(0x41).s32(low)).i32, low)
        assert.strictEqual(one((out) => out.opcode(0x42).s64(value)).i64, value)
        assert.strictEqual(one((out) => out.opcode(0x43).fixed32(low)).i32, low)
        assert.strictEqual(one((out) => out.opcode(0x44).fixed64(value)).i64, value)
      }),
      { numRuns: 1000 }
    )
    assert.strictEqual(one((out) => out.opcode(0x43).f32(1.5)).f32, 1.5)
    assert.strictEqual(one((out) => out.opcode(0x44).f64(-1e300)).f64, -1e300)
    const shuffle = one((out) => out.opcode(0xfd00d).bytes(new Uint8Array(16).fill(31)))
    assert.strictEqual(shuffle.bytes[shuffle.immediate], 31)
    assert.strictEqual(shuffle.immediate, shuffle.position - 16)
    // A vector constant may hold any byte, those of opcodes included.
    const vector = one((out) => out.opcode(0xfd00c).bytes(new Uint8Array(16).fill(0x0b)))
    assert.strictEqual(vector.bytes[vector.immediate + 15], 0x0b)
  })

  it("block types", () => {
    for (const opcode of [0x02, 0x03, 0x04, 0x06]) {
      for (const type of [-64, -1, -2, -3, -4, -5, -16, -17, 0, 63, 64, 8000, 0xffff_ffff]) {
        assert.strictEqual(one((out) => out.opcode(opcode).s33(type)).blockType, type)
      }
      // `ref null` and `ref` carry a heap type, by index or abstract.
      for (const heapType of [-16, 0, 200]) {
        assert.strictEqual(one((out) => out.opcode(opcode).u8(0x63).s33(heapType)).blockType, -29)
        assert.strictEqual(one((out) => out.opcode(opcode).u8(0x64).s33(heapType)).blockType, -28)
      }
    }
    assert.strictEqual(one((out) => out.opcode(0x1c).u32(1).u8(0x7e)).blockType, -2)
    assert.strictEqual(one((out) => out.opcode(0x1c).u32(1).u8(0x64).s33(300)).blockType, -28)
  })

  it("branch tables, catch clauses, casts and heap types", () => {
    const table = one((out) => out.opcode(0x0e).u32(3).u32(1).u32(200).u32(0).u32(7))
    assert.deepStrictEqual(table.targets, [1, 200, 0, 7])
    const handlers = one((out) =>
      out.opcode(0x1f).s33(-64).u32(4).u8(0).u32(5).u32(1).u8(1).u32(6).u32(2).u8(2).u32(3).u8(3).u32(300)
    )
    assert.deepStrictEqual(handlers.targets, [1, 2, 3, 300])
    assert.strictEqual(handlers.blockType, -64)
    const cast = one((out) => out.opcode(0xfb018).u8(3).u32(9).s33(-18).s33(70))
    assert.deepStrictEqual([cast.i32, cast.index, cast.blockType, cast.index2], [3, 9, -18, 70])
    for (const opcode of [0xd0, 0xfb014, 0xfb015, 0xfb016, 0xfb017]) {
      assert.strictEqual(one((out) => out.opcode(opcode).s33(-20)).index, -20)
      assert.strictEqual(one((out) => out.opcode(opcode).s33(1000)).index, 1000)
    }
  })

  it("none: wide arithmetic, and a prefixed opcode in a longer encoding", () => {
    for (const opcode of [0xfc013, 0xfc014, 0xfc015, 0xfc016]) {
      assert.strictEqual(one((out) => out.opcode(opcode)).opcode, opcode)
    }
    assert.strictEqual(one((out) => out.u8(0xfc).u8(0x93).u8(0x80).u8(0x00)).opcode, 0xfc013)
    assert.strictEqual(one((out) => out.u8(0xfd).u8(0x85).u8(0x02)).opcode, 0xfd105)
  })
})

describe("the range", () => {
  it("is kept: an instruction that crosses its end is refused", () => {
    const instructions = [
      (out: ByteWriter) => out.opcode(0x41).s32(1_000_000),
      (out: ByteWriter) => out.opcode(0x42).s64(1n << 50n),
      (out: ByteWriter) => out.opcode(0x43).f32(1),
      (out: ByteWriter) => out.opcode(0x44).f64(1),
      (out: ByteWriter) => out.opcode(0x28).memarg(2, 100_000, 3),
      (out: ByteWriter) => out.opcode(0x0e).u32(2).u32(0).u32(1).u32(2),
      (out: ByteWriter) => out.opcode(0x1f).s33(-64).u32(1).u8(0).u32(5).u32(1),
      (out: ByteWriter) => out.opcode(0x1c).u32(1).u8(0x7f),
      (out: ByteWriter) => out.opcode(0xfd00c).bytes(new Uint8Array(16)),
      (out: ByteWriter) => out.opcode(0xfd054).memarg(0, 0).u8(1),
      (out: ByteWriter) => out.opcode(0xfe003).u8(0),
      (out: ByteWriter) => out.opcode(0xfb018).u8(3).u32(9).s33(-18).s33(70)
    ]
    for (const write of instructions) {
      const { bytes } = one(write)
      for (let end = 1; end < bytes.length; end++) {
        // Both where the bytes end and where only the range does.
        assert.throws(() => new InstructionReader(bytes.slice(0, end), 0, end).next(), ModuleFormatError)
        assert.throws(() => new InstructionReader(bytes, 0, end).next(), ModuleFormatError)
      }
    }
  })

  it("may be set anew", () => {
    const reader = written((out) => out.opcode(0x20).u32(1).opcode(0x20).u32(2))
    reader.reset(2, 4)
    assert.isTrue(reader.next())
    assert.deepStrictEqual([reader.start, reader.index], [2, 2])
    assert.isFalse(reader.next())
  })
})

describe("what it does not know", () => {
  it("is refused with its place", () => {
    const refused = (reason: RegExp, offset: number, write: (out: ByteWriter) => unknown): void => {
      const reader = written((out) => {
        out.opcode(0x01)
        write(out)
        out.bytes(new Uint8Array(20))
      })
      assert.isTrue(reader.next())
      try {
        reader.next()
        assert.fail(`not refused: ${reason}`)
      } catch (error) {
        assert.instanceOf(error, ModuleFormatError)
        assert.strictEqual(error._tag, "ModuleFormatError")
        assert.match(error.reason, reason)
        assert.strictEqual(error.offset, offset)
      }
    }
    refused(/unknown opcode 0xff/, 1, (out) => out.u8(0xff))
    refused(/unknown opcode 0xfc 23/, 1, (out) => out.u8(0xfc).u32(23))
    refused(/unknown opcode 0xfd 154/, 1, (out) => out.u8(0xfd).u32(0x9a))
    refused(/unknown opcode 0xfb 4294967295/, 1, (out) => out.u8(0xfb).u32(0xffff_ffff))
    refused(/unknown alignment/, 2, (out) => out.opcode(0x28).u32(0x22).u32(0))
    refused(/unknown alignment/, 2, (out) => out.opcode(0x28).u32(0x82).u32(0))
    refused(/unknown catch clause 4/, 4, (out) => out.opcode(0x1f).s33(-64).u32(1).u8(4))
    refused(/memory order/, 3, (out) => out.opcode(0xfe003).u8(1))
    refused(/not fit in 64 bits/, 11, (out) => out.opcode(0x42).bytes(new Uint8Array(9).fill(0x80)).u8(1))
    refused(/longer than its body/, 1, (out) => out.opcode(0x0e).u32(1_000_000))
  })
})
