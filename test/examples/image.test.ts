import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import { type Guest, start } from "../../programs/examples/image.ts"
import { assemble } from "../support/wat.ts"

type Exports = WebAssembly.Exports & Readonly<Record<string, () => number>>

const bytes = await assemble(`(module (import "host" "random" (func $random (result i32)))
  (memory (export "memory") 2)
  (global $seed (mut i32) (i32.const 0))
  (func (export "boot") (global.set $seed (call $random)) (memory.fill (i32.const 70000) (i32.const 3) (i32.const 900)))
  (func (export "reseed") (global.set $seed (call $random)))
  (func (export "seed") (result i32) (global.get $seed))
  (func (export "word") (result i32) (i32.load (i32.const 70000))))`)

describe("the example of an image", () => {
  it("boots once, opens ever after with a seed of its own, and boots again for another configuration", () =>
    Effect.gen(function*() {
      const folder = mkdtempSync(join(tmpdir(), "folio-example-"))
      const file = join(folder, "state.folio")
      let next = 1
      const guest: Guest = {
        imports: () => ({ host: { random: () => next++ } }),
        boot: (exports) => void (exports as Exports)["boot"](),
        renew: (exports) => void (exports as Exports)["reseed"]()
      }
      const seen: Array<readonly [string, number, number]> = []
      for (const fingerprint of ["a", "a", "a", "b", "b"]) {
        const { from, instance } = yield* start(bytes, guest, file, fingerprint)
        const exports = instance.exports as Exports
        seen.push([from, exports["seed"](), exports["word"]()])
      }
      rmSync(folder, { recursive: true })
      assert.deepStrictEqual(seen, [
        ["boot", 1, 0x03030303],
        ["image", 2, 0x03030303],
        ["image", 3, 0x03030303],
        ["boot", 4, 0x03030303],
        ["image", 5, 0x03030303]
      ])
    }).pipe(Effect.provide(NodeBaking.layer), Effect.runPromise))
})
