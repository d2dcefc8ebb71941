/**
 * Hashes, joined bytes and entries.
 */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import {
  type CacheEntry,
  decodeEntry,
  encodeEntry,
  hash128,
  hexadecimal,
  joinBlobs,
  splitBlobs
} from "../../../layers/node/entry.ts"

describe("the hash", () => {
  it("is MurmurHash3 x86-128, by the verification value of its author's test suite", () => {
    const hashes = Array.from({ length: 256 }, (_, length) => {
      const key = Uint8Array.from({ length }, (_, index) => index)
      return [...hash128(key, 256 - length)]
    })
    const verification = hash128(new Uint8Array(hashes.flat()))
    assert.strictEqual(new DataView(verification.buffer).getUint32(0, true), 0xb3ece62a)
  })

  it("does not depend on where the bytes lie", () => {
    const bytes = Uint8Array.from({ length: 77 }, (_, index) => index * 7)
    for (let offset = 0; offset < 9; offset++) {
      const buffer = new Uint8Array(100)
      buffer.set(bytes, offset)
      assert.deepStrictEqual(hash128(buffer.subarray(offset, offset + 77)), hash128(bytes))
    }
  })

  it("changes with every bit", () => {
    const bytes = Uint8Array.from({ length: 67 }, (_, index) => index)
    const seen = new Set([hexadecimal(hash128(bytes))])
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = bytes.slice()
      changed[bit >> 3] ^= 1 << (bit & 7)
      seen.add(hexadecimal(hash128(changed)))
    }
    assert.strictEqual(seen.size, 67 * 8 + 1)
  })
})

describe("joined bytes", () => {
  it("come apart as they were", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.uint8Array({ maxLength: 30 }), { maxLength: 6 }), (blobs) => {
        assert.deepStrictEqual(splitBlobs(joinBlobs(blobs)).map((blob) => new Uint8Array(blob)), blobs)
      })
    )
  })

  it("are refused where lengths do not add up", () => {
    const joined = joinBlobs([new Uint8Array(3), new Uint8Array(5)])
    for (let length = 0; length < joined.length; length++) assert.throws(() => splitBlobs(joined.subarray(0, length)))
    assert.throws(() => splitBlobs(new Uint8Array([...joined, 0])))
    assert.throws(() => splitBlobs(new Uint8Array([255, 255, 255, 255, 0, 0, 0, 0])))
  })
})

describe("an entry", () => {
  const module = new Uint8Array([1, 2, 3, 4, 5])
  const entries: ReadonlyArray<CacheEntry> = [
    { summary: "", patch: undefined },
    {
      summary: "{}",
      patch: { hash: hash128(module), patch: new Uint8Array(3), length: 70_000, bundle: new Uint8Array() }
    }
  ]

  it("comes back for its module", () => {
    for (const entry of entries) {
      const decoded = decodeEntry(encodeEntry(module, entry), module)
      assert.strictEqual(decoded?.summary, entry.summary)
      assert.strictEqual(decoded?.patch?.length, entry.patch?.length)
      assert.deepStrictEqual(decoded?.patch?.hash, entry.patch?.hash)
    }
  })

  it("is none for a module of another length, and of other bytes where they would be patched", () => {
    const other = new Uint8Array([1, 2, 3, 4, 6])
    const [native, patched] = entries.map((entry) => encodeEntry(module, entry))
    for (const entry of [native, patched]) assert.isUndefined(decodeEntry(entry, new Uint8Array(4)))
    assert.isUndefined(decodeEntry(patched, other))
    assert.isDefined(decodeEntry(native, other))
  })
})
