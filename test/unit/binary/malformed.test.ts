/**
 * Broken modules: decoding gives data or a `ModuleFormatError`, never anything else, and whatever the engine takes is
 * taken here too and can be added to.
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { emitModule } from "../../../src/binary/emit.ts"
import { decodeModule, ModuleFormatError } from "../../../src/binary/module.ts"
import { checkRoundTrip } from "../../../src/binary/round-trip.ts"
import { decodeOnly, fixtures } from "./fixtures.ts"

/** Whether everything that can be asked of the bytes is answered, rather than refused. */
const understood = (bytes: Uint8Array): boolean => {
  try {
    assert.isTrue(checkRoundTrip(bytes).identical)
    void decodeModule(bytes).functionNames
    return true
  } catch (error) {
    if (!(error instanceof ModuleFormatError)) throw error
    assert.isAtMost(error.offset, bytes.length)
    return false
  }
}

/** Whether the engine takes the bytes, and what is wrong here if it does. */
const verdict = (bytes: Uint8Array<ArrayBuffer>): { readonly valid: boolean; readonly fault: string | undefined } => {
  const here = understood(bytes)
  if (!WebAssembly.validate(bytes)) return { valid: false, fault: undefined }
  if (!here) return { valid: true, fault: "valid and not understood" }
  const global = { valueType: "i32", mutable: true, init: 1 } as const
  const added = emitModule(decodeModule(bytes), { types: [{ params: [], results: [] }], globals: [global] })
  return { valid: true, fault: WebAssembly.validate(added) ? undefined : "not valid with additions" }
}

describe("broken modules", () => {
  for (const { bytes, name } of fixtures) {
    it(`${name}: cut anywhere`, () => {
      let valid = 0
      for (let length = 0; length < bytes.length; length++) {
        const cut = verdict(bytes.slice(0, length))
        assert.isUndefined(cut.fault, `${length} bytes`)
        if (cut.valid) valid++
      }
      // Only where a section ends can there be a module.
      assert.isAtMost(valid, decodeModule(bytes).sections.length)
    })

    it(`${name}: any one bit flipped`, () => {
      let valid = 0
      for (let at = 0; at < bytes.length; at++) {
        for (let bit = 0; bit < 8; bit++) {
          const changed = bytes.slice()
          changed[at] ^= 1 << bit
          const flipped = verdict(changed)
          assert.isUndefined(flipped.fault, `bit ${bit} of byte ${at}`)
          if (flipped.valid) valid++
        }
      }
      // Flips in data, names and constants leave a module valid: both sides of the comparison are met.
      if (!decodeOnly.has(name)) assert.isAbove(valid, 0)
    })
  }

  it("with bytes replaced, removed and inserted", () => {
    const edits = fc.array(
      fc.record({
        at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        remove: fc.nat(3),
        insert: fc.uint8Array({ maxLength: 4 })
      }),
      { minLength: 1, maxLength: 4 }
    )
    fc.assert(
      fc.property(fc.constantFrom(...fixtures), edits, ({ bytes }, list) => {
        let changed = Array.from(bytes)
        for (const { at, insert, remove } of list) {
          const start = 8 + Math.floor(at * (changed.length - 8))
          changed = changed.toSpliced(start, remove, ...insert)
        }
        assert.isUndefined(verdict(new Uint8Array(changed)).fault)
      }),
      { numRuns: 3000 }
    )
  })

  it("of nothing but chance behind a header", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        assert.isUndefined(verdict(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...bytes])).fault)
      }),
      { numRuns: 3000 }
    )
  })
})
