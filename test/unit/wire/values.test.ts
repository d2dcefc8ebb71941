import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { bitsCaller, globalBits } from "../../../src/wire/bits.ts"
import { trapKind } from "../../../src/wire/trap.ts"
import { type BitsType, formatSignature, formatValue, parseValue } from "../../../src/wire/values.ts"
import { assemble } from "../../support/wat.ts"

const WIDTHS: ReadonlyArray<readonly [BitsType, number]> = [["i32", 32], ["i64", 64], ["f32", 32], ["f64", 64], [
  "v128",
  128
]]

describe("values as text", () => {
  for (const [type, width] of WIDTHS) {
    it(`${type}: what is printed reads back to the same bits`, () => {
      fc.assert(
        fc.property(fc.bigInt({ min: 0n, max: (1n << BigInt(width)) - 1n }), (bits) => {
          assert.strictEqual(parseValue(type, formatValue(type, bits)), bits)
        }),
        { numRuns: 2000 }
      )
    })
  }

  it("reads the text format", () => {
    const cases: ReadonlyArray<readonly [BitsType, string, bigint]> = [
      ["i32", "-1", 0xffff_ffffn],
      ["i32", "4294967295", 0xffff_ffffn],
      ["i32", "-0x80000000", 0x8000_0000n],
      ["i64", "0xffff_ffff_ffff_ffff", 0xffff_ffff_ffff_ffffn],
      ["i64", "-9223372036854775808", 0x8000_0000_0000_0000n],
      ["f64", "0x1.8p3", 0x4028_0000_0000_0000n],
      ["f64", "-0", 0x8000_0000_0000_0000n],
      ["f64", "5e-324", 1n],
      ["f64", "2e-324", 0n],
      ["f64", "1e400", 0x7ff0_0000_0000_0000n],
      ["f64", "1e99999999999", 0x7ff0_0000_0000_0000n],
      ["f64", "-nan:0x4", 0xfff0_0000_0000_0004n],
      ["f32", "nan", 0x7fc0_0000n],
      ["f32", "nan:0x200001", 0x7fa0_0001n],
      ["f32", "-inf", 0xff80_0000n],
      ["f32", "3.4028235677973366e38", 0x7f7f_ffffn],
      ["f32", "3.4028235677973367e38", 0x7f80_0000n],
      // Just above the middle of two neighbours: rounding to 64 bits first would lose what decides.
      ["f32", "1.00000005960464477539062500001", 0x3f80_0001n],
      ["f32", "1.000000059604644775390625", 0x3f80_0000n],
      ["f32", "0x1.000001p0", 0x3f80_0000n],
      ["f32", "0x1.0000010000000001p0", 0x3f80_0001n]
    ]
    for (const [type, text, bits] of cases) assert.strictEqual(parseValue(type, text), bits, `${type} ${text}`)
  })

  it("says why a text is no value", () => {
    for (
      const [type, text] of [
        ["i32", "4294967296"],
        ["i32", "-2147483649"],
        ["i32", "1.5"],
        ["i32", ""],
        ["i64", "1n"],
        ["f32", "nan:0x800000"],
        ["f32", "nan:0x0"],
        ["f64", "."],
        ["f64", "1e"],
        ["f64", "0x"]
      ] as const
    ) assert.isString(parseValue(type, text), `${type} "${text}"`)
  })

  it("agrees with the engine on decimals of 64 bits", () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer({ min: 1, max: 21 }),
        (value, digits) => {
          const text = value.toPrecision(digits)
          const view = new DataView(new ArrayBuffer(8))
          view.setFloat64(0, Number(text))
          assert.strictEqual(parseValue("f64", text), view.getBigUint64(0), text)
        }
      ),
      { numRuns: 2000 }
    )
  })

  it("writes a signature", () => {
    assert.strictEqual(formatSignature({ params: ["i32", "f64"], results: ["i64"] }), "(i32, f64) -> i64")
    assert.strictEqual(formatSignature({ params: [], results: [] }), "() -> ()")
  })
})

describe("calls by bits", () => {
  it("keeps every bit of every type, in order, and does not touch a NaN", async () => {
    const bytes = await assemble(`(module
      (func (export "swap") (param i32 i64 f32 f64 v128) (result v128 f64 f32 i64 i32)
        (local.get 4) (local.get 3) (local.get 2) (local.get 1) (local.get 0)))`)
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes))
    const call = bitsCaller(instance.exports["swap"] as Function, {
      params: ["i32", "i64", "f32", "f64", "v128"],
      results: ["v128", "f64", "f32", "i64", "i32"]
    })
    const args = [0xdead_beefn, 0x8000_0000_0000_0001n, 0x7fa0_0001n, 0xfff4_0000_0000_0001n, (1n << 127n) | 5n]
    assert.deepStrictEqual(call?.(args), args.toReversed())
    assert.deepStrictEqual(call?.([1n, 2n, 3n, 4n, 5n]), [5n, 4n, 3n, 2n, 1n])
  })

  it("has no answer for references", () => {
    assert.isUndefined(bitsCaller(() => {}, { params: ["ref"], results: [] }))
  })

  it("reads globals, mutable and constant", async () => {
    const bytes = await assemble(`(module
      (global (export "a") (mut i64) (i64.const -2))
      (global (export "b") f32 (f32.const -nan:0x200001)))`)
    const { a, b } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports
    const bits = globalBits([
      { global: a as WebAssembly.Global, type: "i64", mutable: true },
      { global: b as WebAssembly.Global, type: "f32", mutable: false }
    ])
    assert.deepStrictEqual(bits, [0xffff_ffff_ffff_fffen, 0xffa0_0001n])
  })
})

describe("traps", () => {
  it("tells each kind from the engine's own errors", async () => {
    const bytes = await assemble(`(module
      (memory 1) (table 1 funcref) (type $none (func))
      (func (export "unreachable") unreachable)
      (func (export "out-of-bounds") (drop (i32.load (i32.const -1))))
      (func (export "divide-by-zero") (drop (i32.div_s (i32.const 1) (i32.const 0))))
      (func (export "integer-overflow") (drop (i32.div_s (i32.const 0x80000000) (i32.const -1))))
      (func (export "invalid-conversion") (drop (i32.trunc_f64_s (f64.const 1e30))))
      (func (export "indirect-call") (call_indirect (type $none) (i32.const 0)))
      (func $deep (export "stack-exhausted") (call $deep) (call $deep)))`)
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes))
    for (const [kind, entry] of Object.entries(exports)) {
      let thrown: unknown
      try {
        ;(entry as () => void)()
      } catch (error) {
        thrown = error
      }
      assert.strictEqual(trapKind(thrown), kind)
    }
    assert.isUndefined(trapKind(new Error("unreachable")))
    assert.isUndefined(trapKind("unreachable"))
  })
})
