/**
 * An entry comes back for its module, for no other one, and not when anything of it was changed.
 */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { decodeEntry, encodeEntry } from "../../../layers/node/entry.ts"
import { commonRuns } from "../../../layers/node/patch.ts"

const bytes = FastCheck.uint8Array({ maxLength: 400 })

const entryOf = (original: Uint8Array, module: Uint8Array, bundle = 0): Uint8Array<ArrayBuffer> =>
  encodeEntry(original, { summary: "{}", patched: { module, bundle } }, commonRuns(original, module))

describe("an entry", () => {
  it("comes back for its module, whatever was patched", () => {
    FastCheck.assert(
      FastCheck.property(bytes, FastCheck.uint8Array({ minLength: 1, maxLength: 400 }), (original, other) => {
        const module = new Uint8Array([...original.subarray(0, 200), ...other, ...original.subarray(200)])
        const decoded = decodeEntry(entryOf(original, module, 1), original)
        assert.strictEqual(decoded?.summary, "{}")
        assert.deepStrictEqual(new Uint8Array(decoded?.patched?.module ?? []), module)
        assert.strictEqual(decoded?.patched?.bundle, 1)
      })
    )
  })

  it("comes back where there is nothing to patch", () => {
    const original = new Uint8Array([1, 2, 3])
    const decoded = decodeEntry(encodeEntry(original, { summary: "ü", patched: undefined }), original)
    assert.deepStrictEqual(decoded, { summary: "ü", patched: undefined })
  })

  it("is none for a module of which any byte differs, or the length", () => {
    const original = Uint8Array.from({ length: 200 }, (_, index) => index * 7)
    // Bytes go, come and are replaced.
    const module = new Uint8Array([...original.subarray(0, 60), 1, 2, 3, ...original.subarray(90, 180), 9, 9])
    const entry = entryOf(original, module)
    for (let at = 0; at < original.length; at++) {
      const other = original.slice()
      other[at] ^= 4
      assert.isUndefined(decodeEntry(entry, other), `byte ${at}`)
    }
    assert.isUndefined(decodeEntry(entry, original.subarray(1)))
    assert.isUndefined(decodeEntry(entry, new Uint8Array([...original, 0])))
  })

  it("that says that there is nothing to patch holds for all of the length", () => {
    const entry = encodeEntry(new Uint8Array([1, 2, 3]), { summary: "", patched: undefined })
    assert.isDefined(decodeEntry(entry, new Uint8Array([1, 2, 4])))
    assert.isUndefined(decodeEntry(entry, new Uint8Array(4)))
  })

  it("is refused when any bit of it was changed, or its end is missing", () => {
    const original = Uint8Array.from({ length: 150 }, (_, index) => index * 7)
    const module = new Uint8Array([...original.subarray(0, 60), 1, 2, 3, ...original.subarray(90)])
    const entry = entryOf(original, module)
    for (let bit = 0; bit < entry.length * 8; bit++) {
      const changed = entry.slice()
      changed[bit >> 3] ^= 1 << (bit & 7)
      assert.throws(() => decodeEntry(changed, original), RangeError, undefined, `bit ${bit}`)
    }
    for (let length = 0; length < entry.length; length++) {
      assert.throws(() => decodeEntry(entry.subarray(0, length), original), RangeError)
    }
  })

  it("is not copied", () => {
    const original = new Uint8Array(1000)
    const entry = entryOf(original, original)
    assert.strictEqual(decodeEntry(entry, original)?.patched?.module.buffer, entry.buffer)
  })
})
