/**
 * The opcode table against two oracles: the engine's validation and execution judge the shapes, wabt's disassembly the
 * names.
 */
import { assert, describe, it } from "@effect/vitest"
import wabt from "wabt"
import { InstructionReader } from "../../../src/binary/instruction.ts"
import {
  knownOpcodes,
  laneShape,
  loadShape,
  mnemonic,
  type NumberType,
  numericShape,
  storeShape
} from "../../../src/binary/opcodes.ts"
import { ByteWriter } from "../../../src/binary/writer.ts"

const typeBytes: Readonly<Record<NumberType, number>> = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b }
const numberTypes = Object.keys(typeBytes) as ReadonlyArray<NumberType>

/** Pushes a constant: zero, or a value with every bit set (an integer's -1, a float's NaN). */
const constant = (out: ByteWriter, type: NumberType, ones = false): void => {
  const byte = ones ? 0xff : 0
  switch (type) {
    case "i32":
      out.opcode(0x41).s32(ones ? -1 : 0)
      break
    case "i64":
      out.opcode(0x42).s64(ones ? -1n : 0n)
      break
    case "f32":
      out.opcode(0x43).bytes(new Uint8Array(4).fill(byte))
      break
    case "f64":
      out.opcode(0x44).bytes(new Uint8Array(8).fill(byte))
      break
    case "v128":
      out.opcode(0xfd00c).bytes(new Uint8Array(16).fill(byte))
  }
}

/** The opcode with immediates of the right form: constants and shuffles have theirs, lane instructions a lane. */
const instruction = (out: ByteWriter, opcode: number): void => {
  const name = mnemonic(opcode)
  if (name.endsWith(".const")) {
    constant(out, name.split(".")[0] as NumberType)
    return
  }
  out.opcode(opcode)
  if (name === "i8x16.shuffle") out.bytes(new Uint8Array(16).fill(3))
  if (/(?:extract|replace)_lane/.test(name)) out.u8(1)
}

interface Body {
  readonly params?: ReadonlyArray<NumberType>
  readonly results: ReadonlyArray<NumberType>
  readonly write: (out: ByteWriter) => void
}

/** A module of one page of memory whose functions are exported by their number. */
const moduleOf = (bodies: ReadonlyArray<Body>, shared = false): Uint8Array<ArrayBuffer> => {
  const types = new ByteWriter().u32(bodies.length)
  const functions = new ByteWriter().u32(bodies.length)
  const exports = new ByteWriter().u32(bodies.length)
  const code = new ByteWriter().u32(bodies.length)
  for (const [i, { params = [], results, write }] of bodies.entries()) {
    types.u8(0x60)
    for (const list of [params, results]) {
      types.u32(list.length)
      for (const type of list) types.u8(typeBytes[type])
    }
    functions.u32(i)
    exports.name(`f${i}`).u8(0).u32(i)
    const body = new ByteWriter().u32(0)
    write(body)
    body.u8(0x0b)
    code.u32(body.length).append(body)
  }
  return new ByteWriter().fixed32(0x6d736100).fixed32(1)
    .section(1, types)
    .section(3, functions)
    .section(5, new ByteWriter().u32(1).u8(shared ? 3 : 1).u32(1).u32(1))
    .section(7, exports)
    .section(10, code)
    .finish()
}

const computes = (opcode: number, operands: ReadonlyArray<NumberType>, result: NumberType): Body => ({
  results: [result],
  write: (out) => {
    for (const type of operands) constant(out, type)
    instruction(out, opcode)
  }
})

const valid = (body: Body): boolean => WebAssembly.validate(moduleOf([body]))

const traps = (body: Body): boolean => {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(moduleOf([body])))
  try {
    ;(exports["f0"] as () => unknown)()
    return false
  } catch (error) {
    assert.instanceOf(error, WebAssembly.RuntimeError)
    return true
  }
}

const opcodes = knownOpcodes()
const numerics = opcodes.filter((opcode) => numericShape(opcode) !== undefined)
const shapeOf = (opcode: number) => {
  const shape = numericShape(opcode)
  if (shape === undefined) throw new Error(mnemonic(opcode))
  return shape
}

describe("numeric instructions", () => {
  it("are all there", () => {
    // 4 constants, 128 plain (0x45 to 0xc4), 8 saturating; of 236 vector instructions all but 22 accesses; 20 relaxed.
    assert.strictEqual(numerics.length, 4 + 128 + 8 + (236 - 22) + 20)
    for (const opcode of numerics) {
      const { operands, pops } = shapeOf(opcode)
      assert.strictEqual(pops, operands.length)
      assert.isUndefined(loadShape(opcode) ?? storeShape(opcode) ?? laneShape(opcode))
    }
  })

  it("have the operands and the result that the engine demands", () => {
    for (const opcode of numerics) {
      const { operands, type } = shapeOf(opcode)
      assert.isTrue(valid(computes(opcode, operands, type)), mnemonic(opcode))
      for (const other of numberTypes.filter((candidate) => candidate !== type)) {
        assert.isFalse(valid(computes(opcode, operands, other)), `${mnemonic(opcode)} gives ${other}`)
      }
      if (operands.length > 0) {
        assert.isFalse(valid(computes(opcode, operands.slice(1), type)), `${mnemonic(opcode)} with one less`)
      }
      assert.isFalse(valid(computes(opcode, [type, ...operands], type)), `${mnemonic(opcode)} with one more`)
      for (const [i, operand] of operands.entries()) {
        for (const other of numberTypes.filter((candidate) => candidate !== operand)) {
          assert.isFalse(
            valid(computes(opcode, operands.with(i, other), type)),
            `${mnemonic(opcode)} takes ${other} as operand ${i}`
          )
        }
      }
    }
  })

  it("trap where they are said to, and nowhere else", () => {
    for (const opcode of numerics) {
      const { operands, traps: claimed } = shapeOf(opcode)
      const trapped = [false, true].some((ones) =>
        traps({
          results: [],
          write: (out) => {
            for (const type of operands) constant(out, type, ones)
            instruction(out, opcode)
            out.opcode(0x1a)
          }
        })
      )
      assert.strictEqual(trapped, claimed, mnemonic(opcode))
    }
  })
})

describe("accesses", () => {
  const address = 0x1_0000
  const end = (opcode: number, bytes: number, at: number): boolean => {
    const load = loadShape(opcode)
    const store = storeShape(opcode)
    const lane = laneShape(opcode)
    return traps({
      results: [],
      write: (out) => {
        out.opcode(0x41).s32(at - bytes)
        if (store !== undefined) constant(out, store.type)
        if (lane !== undefined) constant(out, "v128")
        out.opcode(opcode).memarg(0, 0)
        if (lane !== undefined) out.u8(0)
        if (load !== undefined || lane?.store === false) out.opcode(0x1a)
      }
    })
  }
  const accesses = opcodes.filter((opcode) => loadShape(opcode) ?? storeShape(opcode) ?? laneShape(opcode))

  it("are all there", () => {
    // 23 plain, 22 of vectors.
    assert.strictEqual(accesses.length, 45)
  })

  it("touch as many bytes as they are said to", () => {
    for (const opcode of accesses) {
      const bytes = (loadShape(opcode) ?? storeShape(opcode) ?? laneShape(opcode))?.bytes ?? 0
      assert.isFalse(end(opcode, bytes, address), mnemonic(opcode))
      assert.isTrue(end(opcode, bytes, address + 1), mnemonic(opcode))
    }
  })

  it("load and store the types that they are said to", () => {
    for (const opcode of accesses) {
      const load = loadShape(opcode)
      const store = storeShape(opcode)
      for (const type of numberTypes) {
        if (load !== undefined) {
          const body: Body = { results: [type], write: (out) => out.opcode(0x41).s32(0).opcode(opcode).memarg(0, 0) }
          assert.strictEqual(valid(body), type === load.type, `${mnemonic(opcode)} of ${type}`)
        }
        if (store !== undefined) {
          const write = (out: ByteWriter): void => {
            out.opcode(0x41).s32(0)
            constant(out, type)
            out.opcode(opcode).memarg(0, 0)
          }
          assert.strictEqual(valid({ results: [], write }), type === store.type, `${mnemonic(opcode)} of ${type}`)
        }
      }
    }
  })
})

describe("names", () => {
  const atomics = opcodes.filter((opcode) => opcode >> 12 === 0xfe)

  it("are those of the text format", async () => {
    const { readWasm } = await wabt()
    const named = [...numerics, ...atomics, ...opcodes.filter((opcode) => loadShape(opcode) ?? storeShape(opcode))]
    const module = readWasm(
      moduleOf(
        named.map((opcode) => ({
          results: [],
          write: (out) => {
            // Not validated: what matters is how the instruction is called.
            out.opcode(0x00)
            if (numericShape(opcode) !== undefined) instruction(out, opcode)
            else if (opcode === 0xfe003) out.opcode(opcode).u8(0)
            else out.opcode(opcode).memarg(0, 0)
          }
        })),
        true
      ),
      { simd: true, threads: true, relaxed_simd: true } as Parameters<typeof readWasm>[1]
    )
    const text = module.toText({})
    module.destroy()
    const written = Array.from(text.matchAll(/^ {4}unreachable\n {4}([\w.]+)/gm), ([, name]) => name)
    assert.deepStrictEqual(written, named.map(mnemonic))
  })

  it("belong to exactly the opcodes that the reader knows", () => {
    const known = new Set(opcodes)
    // Zeros serve every immediate; blocks take a zero for a type index.
    const accepted = (write: (out: ByteWriter) => void): number | undefined => {
      const out = new ByteWriter()
      write(out)
      const bytes = out.bytes(new Uint8Array(32)).finish()
      const reader = new InstructionReader(bytes, 0, bytes.length)
      try {
        return reader.next() ? reader.opcode : undefined
      } catch {
        return undefined
      }
    }
    for (let byte = 0; byte < 0x100; byte++) {
      if (byte >= 0xfb && byte <= 0xfe) continue
      assert.strictEqual(accepted((out) => out.u8(byte)), known.has(byte) ? byte : undefined, byte.toString(16))
    }
    for (let prefix = 0xfb; prefix <= 0xfe; prefix++) {
      for (const sub of [...new Array(600).keys(), 4096, 4106, 0x10001, 0xffff_ffff]) {
        const opcode = (prefix << 12) | sub
        const expected = sub < 512 && known.has(opcode) ? opcode : undefined
        assert.strictEqual(accepted((out) => out.u8(prefix).u32(sub)), expected, `${prefix.toString(16)} ${sub}`)
      }
    }
  })
})
