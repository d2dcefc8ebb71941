/**
 * The checksum, and the module that computes it.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { checksum } from "../../../layers/node/checksum.ts"
import { assemble } from "../../support/wat.ts"

const source = readFileSync(new URL("../../../layers/node/checksum.ts", import.meta.url), "utf8")

/** The same sum in plain words. */
const slowly = (bytes: Uint8Array, seed: bigint): bigint => {
  const padded = new Uint8Array((bytes.length + 7 & ~7) + 8)
  padded.set(bytes)
  const view = new DataView(padded.buffer)
  view.setBigUint64(padded.length - 8, BigInt(bytes.length), true)
  let sum = BigInt.asUintN(64, seed)
  for (let at = 0; at < padded.length; at += 8) {
    const word = sum ^ view.getBigUint64(at, true)
    sum = BigInt.asUintN(64, (word << 29n | word >> 35n) * 0x9e3779b97f4a7c15n)
  }
  return sum
}

const sample = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => index * 31 >> 2)

describe("the checksum", () => {
  it("is computed by the module in its description", async () => {
    const text = /```wat([^]*?)```/.exec(source)?.[1].replaceAll(/^ \* ?/gm, "") ?? ""
    const code = /"(AGFz[^"]*)"/.exec(source)?.[1] ?? ""
    const strip = async (bytes: Uint8Array): Promise<ReadonlyArray<unknown>> => {
      const module = new WebAssembly.Module(new Uint8Array(bytes))
      return [WebAssembly.Module.exports(module), WebAssembly.Module.imports(module)]
    }
    const assembled = await assemble(text)
    const embedded = Buffer.from(code, "base64")
    assert.deepStrictEqual(await strip(embedded), await strip(assembled))
    // Only the names differ, which stand behind everything else.
    assert.deepStrictEqual([...assembled.subarray(0, embedded.length)], [...embedded])
  })

  it("is what it says", () => {
    for (const length of [0, 1, 7, 8, 9, 65_535, 65_536, 65_537, 200_003]) {
      for (const seed of [0n, 1n, 2n ** 64n - 1n]) {
        assert.strictEqual(checksum([sample(length)], seed), slowly(sample(length), seed), `${length} bytes`)
      }
    }
  })

  it("does not depend on how the bytes are cut", () => {
    const bytes = sample(150_000)
    const cut = function*(step: number): Generator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step)
    }
    for (const step of [13, 4096, 65_536, 70_001]) assert.strictEqual(checksum(cut(step)), checksum([bytes]))
  })

  it("changes with every bit, and with zeros at the end", () => {
    const bytes = sample(67)
    const sum = checksum([bytes])
    for (const zeros of [1, 5, 8]) assert.notStrictEqual(checksum([bytes, new Uint8Array(zeros)]), sum)
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = bytes.slice()
      changed[bit >> 3] ^= 1 << (bit & 7)
      assert.notStrictEqual(checksum([changed]), sum, `bit ${bit}`)
    }
  })
})
