/**
 * The map of a module: areas, weights, and a page that no name of the module breaks.
 */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { inspection } from "../../../layers/core/inspection.ts"
import { type ModuleMap, moduleMap } from "../../../programs/map/module-map.ts"
import { escapeText, mapPage } from "../../../programs/map/page.ts"
import { squarify } from "../../../programs/map/treemap.ts"
import { emitModule } from "../../../src/binary/emit.ts"
import { decodeModule } from "../../../src/binary/module.ts"
import { prepare } from "../../../src/plan/prepare.ts"
import { instrument } from "../../../src/profile/instrument.ts"
import { readProfile } from "../../../src/profile/profile.ts"
import { manyLoops } from "../../support/many-loops.ts"
import { assemble } from "../../support/wat.ts"

const inspected = (bytes: Uint8Array) => {
  const [decoded, prepared] = [decodeModule(bytes), prepare(bytes)]
  const module = new WebAssembly.Module(new Uint8Array(bytes))
  const nativeReason = prepared.guest === undefined ? "no loop of this module can run apart" : undefined
  const found = inspection({ name: "m.wasm", bytes: new Uint8Array(bytes), module, decoded, prepared, nativeReason })
  return { decoded, found }
}

const pageOf = (bytes: Uint8Array): { readonly map: ModuleMap; readonly page: string } => {
  const { decoded, found } = inspected(bytes)
  const map = moduleMap(decoded, found, undefined)
  return { map, page: mapPage(map, found) }
}

describe("a treemap", () => {
  it("gives each weight its share of the area, inside, and nothing twice", () => {
    const weights = FastCheck.array(FastCheck.integer({ min: 0, max: 1_000_000 }), { maxLength: 60 })
    FastCheck.assert(FastCheck.property(weights, (given) => {
      const falling = given.toSorted((a, b) => b - a)
      const total = falling.reduce((sum, weight) => sum + weight, 0)
      const rects = squarify(falling, { x: 3, y: 5, width: 400, height: 300 })
      assert.strictEqual(rects.length, falling.length)
      for (const [index, { height, width, x, y }] of rects.entries()) {
        const area = total === 0 ? 0 : falling[index] / total * 120_000
        assert.approximately(width * height, area, 0.01)
        if (area === 0) continue
        assert.isTrue(x >= 3 - 1e-6 && y >= 5 - 1e-6 && x + width <= 403 + 1e-6 && y + height <= 305 + 1e-6)
        for (const other of rects.slice(index + 1)) {
          const wide = Math.min(x + width, other.x + other.width) - Math.max(x, other.x)
          const high = Math.min(y + height, other.y + other.height) - Math.max(y, other.y)
          if (wide > 0 && high > 0) assert.isBelow(wide * high, 0.01)
        }
      }
    }))
  })
})

const colours = await assemble(`(module
  (import "env" "f" (func $f))
  (memory (export "memory") 1)
  (func $planned (param $n i32) (local $i i32)
    (loop $outer
      (i32.store (i32.shl (local.get $i) (i32.const 2)) (local.get $i))
      (br_if $outer (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
  (func $calling (param $n i32) (local $i i32)
    (loop $l
      (call $f)
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
  (func $straight (param i32) (result i32) (i32.mul (local.get 0) (local.get 0))))`)

describe("a map", () => {
  it("has all code of functions, loops inside them, and what was found", () => {
    const { decoded, found } = inspected(colours)
    const { functions, planned, weighs, weight } = moduleMap(decoded, found, undefined)
    assert.strictEqual(weighs, "bytes")
    assert.deepStrictEqual(functions.map(({ name }) => name).sort(), ["calling", "planned", "straight"])
    assert.strictEqual(
      weight,
      decoded.functions.slice(1).reduce((sum, { body }) => sum + body!.end - body!.sizeStart, 0)
    )
    const [one] = functions.find(({ name }) => name === "planned")!.loops
    assert.strictEqual(one.found?.tier, "direct")
    assert.strictEqual(planned, one.bytes)
    assert.strictEqual(functions.find(({ name }) => name === "calling")?.loops[0].found?.reasons[0].code, "call")
  })

  it("weighs by a profile, what is called from a planned loop included", () => {
    const { decoded, found } = inspected(colours)
    const { bytes, functions: counters } = instrument(decoded)
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { f: () => {} } })
    assert.isDefined(exports)
    const none = moduleMap(decoded, found, readProfile(counters, new ArrayBuffer(65_536)))
    assert.deepStrictEqual([none.weight, none.planned], [0, 0])
    assert.include(mapPage(none, found), "Not executed and not shown: 3 functions.")
  })
})

describe("a page", () => {
  it("shows planned loops and reasons, in colours that the legend names", () => {
    const { page } = pageOf(colours)
    assert.include(page, `<rect class="planned"`)
    assert.include(page, `<rect class="calls"`)
    assert.match(page, /<li><i class="planned"><\/i>planned: runs on several threads <b>1<\/b><\/li>/)
    assert.match(page, /<title>loop at 0x[0-9a-f]+ of planned \[1\], \d+ bytes&#10;planned, direct: /)
    assert.include(page, "Let the compiler inline the call")
    assert.include(page, "3 functions, 2 loops: 1 planned, 0 inside these, 1 serial.")
  })

  it("needs nothing besides: no address, no resource", () => {
    const { page } = pageOf(colours)
    assert.notMatch(page, /\b(?:src|srcset|action)=|@import|url\(|https?:|href="(?!#)/)
    // Every place that is linked to is there.
    const targets = new Set(Array.from(page.matchAll(/ id="([^"]+)"/g), ([, id]) => id))
    for (const [, target] of page.matchAll(/href="#(l[^"]+)"/g)) assert.isTrue(targets.has(target), target)
  })

  it("shows names as text, whatever they hold", () => {
    const names = [
      `</title><script>alert(1)</script>`,
      `"><img src=x onerror='alert(1)'>`,
      "&lt;&amp;\\u{0}",
      "\u202egpj.exe\u2066",
      "nul\u0000line\nfeed\u2028",
      "naïve-日本-🙂"
    ]
    const decoded = decodeModule(colours)
    const named = emitModule(decoded, {
      exports: names.map((name, index) => ({ name, kind: "function" as const, index: 1 + index % 2 }))
    })
    const { page } = pageOf(named)
    const svg = page.slice(page.indexOf("<svg"), page.indexOf("</svg>"))
    const details = page.slice(page.indexOf("<h2>"), page.lastIndexOf("<script>"))
    for (const part of [svg, details]) {
      for (const [, tag] of part.matchAll(/<\/?([^\s>/]+)/g)) {
        assert.include([
          "svg",
          "a",
          "g",
          "title",
          "rect",
          "text",
          "h2",
          "h3",
          "section",
          "ul",
          "li",
          "i",
          "code",
          "br",
          "em",
          "small",
          "p"
        ], tag)
      }
    }
    for (const character of "\u0000\u2028\u202e\u2066") assert.notInclude(page, character)
    assert.include(page, escapeText(names[1]))
    assert.include(page, "naïve-日本-🙂")
    assert.strictEqual(page.match(/<script>/g)?.length, 1)
  })

  it("shows what is too small together", async () => {
    const { page } = pageOf(await assemble(manyLoops(2_100)))
    assert.include(page, "<title>100 smaller functions</title>")
  })
})
