/**
 * The codec of small values: what it writes is what the structured clone would have given, and the rest it leaves.
 */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { types } from "node:util"
import { ValueReader, ValueWriter } from "../../../src/tasks/codec.ts"

const region = new Uint8Array(new SharedArrayBuffer(65_536))
const writer = new ValueWriter(region, types.isProxy)
const reader = new ValueReader(region)

/** The value behind the codec; `undefined` in a list of none where it is left. */
const through = (value: unknown, end = region.length): ReadonlyArray<unknown> => {
  const written = writer.write(value, 8, end)
  if (written < 0) return []
  const read = reader.read(8)
  assert.strictEqual(reader.end, written)
  return [read]
}

const fill = (length: number) => Uint8Array.from({ length }, (_, at) => at * 7)

describe("the codec", () => {
  it("gives what the structured clone gives", () => {
    const values = [
      undefined,
      null,
      true,
      false,
      0,
      -0,
      1.5,
      Number.NaN,
      -(2 ** 31),
      2 ** 31,
      Number.MAX_VALUE,
      5n,
      -(2n ** 63n),
      "",
      "text",
      "é",
      "\ud800 alone",
      "long ".repeat(300),
      "ü".repeat(9_000),
      [],
      {},
      [1, [undefined, "x"]],
      { a: 1, "": 2, é: { b: [null] }, [`name of ${"many".repeat(20)}`]: 3 },
      fill(3),
      fill(5_000),
      fill(8).buffer,
      new Float64Array([1, -0, Number.NaN]),
      new BigInt64Array([1n, -1n]),
      new Uint16Array(0),
      new Uint8ClampedArray(2)
    ]
    for (const value of values) assert.deepStrictEqual(through(value), [structuredClone(value)])
    assert.deepStrictEqual(through(values), [structuredClone(values)])
  })

  it("does so with any plain value, or leaves it", () => {
    const anything = FastCheck.anything({ withBigInt: true, withTypedArray: true, withSparseArray: true })
    FastCheck.assert(FastCheck.property(anything, (value) => {
      const copy = through(value)
      if (copy.length > 0) assert.deepStrictEqual(copy, [structuredClone(value)])
    }))
  })

  it("leaves what it cannot give in the same way", () => {
    const twice = { a: 1 }
    const cycle: Record<string, unknown> = {}
    cycle["self"] = cycle
    const bytes = fill(16)
    const named = Object.assign([1, 2], { name: 1 })
    const throwing = {
      get a(): never {
        throw new Error("read")
      }
    }
    const left = [
      2n ** 64n,
      [twice, twice],
      cycle,
      named,
      new Array<number>(3),
      throwing,
      new Map(),
      new Date(),
      /x/,
      new Error("e"),
      () => 1,
      Symbol("s"),
      new Proxy({}, {}),
      new (class A {})(),
      Object.create(null),
      { ["__proto__"]: 1 },
      bytes.subarray(2),
      [bytes, bytes.buffer],
      new DataView(bytes.buffer),
      new Uint8Array(new SharedArrayBuffer(4)),
      new ArrayBuffer(4, { maxByteLength: 8 }),
      Array.from({ length: 1_000 }, (_, at) => at),
      Array.from({ length: 100 }, () => ({}))
    ]
    for (const value of left) assert.deepStrictEqual(through(value), [], String(typeof value))
    const handedOver = fill(4)
    structuredClone(handedOver, { transfer: [handedOver.buffer] })
    assert.deepStrictEqual(through(handedOver), [])
  })

  it("stays within its bounds", () => {
    const values = [1, 1.5, 1n, "twelve chars", "é".repeat(12), [1, 2, 3], { a: 1 }, fill(20), fill(20).buffer]
    for (const value of values) {
      const needed = writer.write(value, 8, region.length)
      for (let end = 8; end < needed; end++) {
        region.fill(0xee, end, needed + 32)
        assert.strictEqual(writer.write(value, 8, end), -1)
        assert.isTrue(region.subarray(end, needed + 32).every((byte) => byte === 0xee))
      }
    }
  })
})
