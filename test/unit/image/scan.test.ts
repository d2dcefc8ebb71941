import { assert, describe, it } from "@effect/vitest"
import { decodeModule } from "../../../src/binary/module.ts"
import { capture } from "../../../src/image/capture.ts"
import { instrument } from "../../../src/image/instrument.ts"
import { pageKinds, pageMap } from "../../../src/image/picture.ts"
import { scanImage, type Secret } from "../../../src/image/scan.ts"
import { compareImages } from "../../../src/image/verdict.ts"
import { assemble } from "../../support/wat.ts"
import { instantiate, options } from "./program.ts"

const m = decodeModule(
  await assemble(`(module (memory (export "memory") 8) (data (i32.const 3000) "module-own-secret"))`)
)

/** An image of what `write` leaves in the memory. */
const imageOf = (write: (memory: Buffer, view: DataView) => void) => {
  const exports = instantiate(instrument(m))
  const { buffer } = exports["memory"] as unknown as WebAssembly.Memory
  write(Buffer.from(buffer), new DataView(buffer))
  return capture(m, exports, options)
}

const text = "K3y+/ of the house: §1"
const secret: Secret = { name: "key", bytes: new TextEncoder().encode(text) }

describe("scanImage", () => {
  it("finds a secret in every form, wherever it stands in what was encoded", () => {
    const encodings: ReadonlyArray<readonly [string, string]> = [
      ["raw", text],
      ["hex", Buffer.from(text).toString("hex")],
      ["hex", Buffer.from(text).toString("hex").toUpperCase()],
      ["url-encoded", encodeURIComponent(text)],
      ["url-encoded", new URLSearchParams({ key: text }).toString()],
      ["url-encoded", encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase())],
      ...["", "a", "ab", "abc"].flatMap((before) =>
        ["", "z", "zy"].flatMap((after) => [
          ["base64", Buffer.from(before + text + after).toString("base64")] as const,
          ["base64", Buffer.from(before + text + after).toString("base64url")] as const
        ])
      )
    ]
    for (const [form, encoded] of encodings) {
      const image = imageOf((memory) => memory.write(`x${encoded}`, 70_001))
      const found = scanImage(m, image, [secret])
      assert.include(found.map((one) => one.form), form, encoded)
      assert.isTrue(found.every(({ offset }) => offset >= 70_001 && offset < 70_120), encoded)
      assert.deepStrictEqual([found[0].secret, found[0].memory, found[0].origin], ["key", 0, "image"])
    }
  })

  it("finds text of a JavaScript heap, and across the border of two pages", () => {
    const plain: Secret = { name: "token", bytes: new TextEncoder().encode("a-long-token-of-letters") }
    const wide = imageOf((memory) => memory.write("a-long-token-of-letters", 131_072 - 9, "utf16le"))
    assert.deepStrictEqual(
      scanImage(m, wide, [plain]).map(({ form, offset }) => [form, offset]),
      [["utf-16", 131_072 - 9]]
    )
  })

  it("tells the module's own data from the image's", () => {
    const own: Secret = { name: "own", bytes: new TextEncoder().encode("module-own-secret") }
    const image = imageOf((memory) => memory.write("else", 200_000))
    assert.deepStrictEqual(scanImage(m, image, [own]).map(({ origin }) => origin), ["module"])
  })

  it("finds nothing where nothing is, and refuses secrets that chance would find", () => {
    assert.deepStrictEqual(scanImage(m, imageOf((memory) => memory.fill(0xa5, 65_536, 400_000)), [secret]), [])
    assert.throws(
      () => scanImage(m, imageOf(() => {}), [{ name: "pin", bytes: new Uint8Array(4) }]),
      /"pin" has 4 bytes/
    )
  })

  it("returns no part of the secret", () => {
    const image = imageOf((memory) => memory.write(text, 70_001))
    assert.notInclude(JSON.stringify(scanImage(m, image, [secret])), "house")
  })
})

describe("compareImages", () => {
  const clock = { from: Date.UTC(2026, 0, 2), to: Date.UTC(2026, 0, 3) }

  it("finds nothing between equal states", () => {
    const write = (memory: Buffer) => memory.fill(7, 70_000, 90_000)
    const verdict = compareImages(m, imageOf(write), imageOf(write), clock)
    assert.isTrue(verdict.same)
    assert.deepStrictEqual(verdict.pages, [[]])
  })

  it("tells seeds, times, addresses and counters by their values", () => {
    const states = [
      { seed: [0x9e3779b9, 0x243f6a88], seconds: 1767312001, milliseconds: 1767312001123, pointer: 70_000, count: 7 },
      { seed: [0x13198a2e, 0xc0ac29b7], seconds: 1767315555, milliseconds: 1767315555999, pointer: 200_404, count: 9 }
    ]
    const [a, b] = states.map(({ count, milliseconds, pointer, seconds, seed }) =>
      imageOf((_, view) => {
        seed.forEach((word, at) => view.setUint32(80_000 + 4 * at, word, true))
        view.setUint32(80_100, seconds, true)
        view.setFloat64(80_200, milliseconds, true)
        view.setBigUint64(80_304, BigInt(milliseconds) * 1_000_000n, true)
        view.setUint32(80_400, pointer, true)
        view.setUint32(200_000, count, true)
      })
    )
    const verdict = compareImages(m, a, b, clock)
    assert.deepStrictEqual(
      verdict.differing.map(({ kind, length, offset }) => [offset, length, kind]),
      [
        [80_000, 8, "seed"],
        [80_100, 4, "time"],
        [80_200, 8, "time"],
        [80_304, 8, "time"],
        [80_400, 4, "address"],
        [200_000, 4, "counter"]
      ]
    )
    assert.deepStrictEqual(verdict.pages, [[1, 3]])
    assert.isFalse(verdict.same)
    assert.strictEqual(verdict.bytes.time, 20)
  })

  it("lists what differs outside of memory", () => {
    const image = imageOf(() => {})
    const other = { ...image, fingerprint: "another" }
    assert.deepStrictEqual(compareImages(m, image, other, clock).outside, ["the fingerprint"])
  })
})

describe("pageMap", () => {
  it("draws one square a page, by kind", () => {
    const kinds = pageKinds(m, imageOf((memory) => memory.fill(1, 70_000, 70_010)), [[5]])
    assert.deepStrictEqual(kinds, [["module", "image", "zero", "zero", "zero", "differs", "zero", "zero"]])
    // The other image's memory may be larger.
    assert.deepStrictEqual(pageKinds(m, imageOf(() => {}), [[10]])[0].slice(8), ["zero", "zero", "differs"])
    const svg = pageMap(kinds, `<a "title">`)
    assert.strictEqual(svg.match(/<title>page \d+:/g)?.length, 8)
    assert.include(svg, "&#60;a &#34;title&#34;&#62;")
    assert.include(svg, "in the image: 1<")
    assert.include(svg, "zero: 5<")
  })
})
