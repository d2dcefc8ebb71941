import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as NodeTenants from "../../layers/node/NodeTenants.ts"
import { answer } from "../../programs/examples/tenants.ts"
import { assemble } from "../support/wat.ts"

type Exports = WebAssembly.Exports & Readonly<Record<string, () => number>>

const bytes = await assemble(`(module (memory (export "memory") 2) (global $at (mut i32) (i32.const 65536))
  (func (export "boot") (memory.fill (i32.const 65536) (i32.const 7) (i32.const 900)))
  (func (export "next") (result i32)
    (i32.store8 (global.get $at) (i32.add (i32.load8_u (global.get $at)) (i32.const 1)))
    (global.set $at (i32.add (global.get $at) (i32.const 1)))
    (i32.add (i32.load8_u (i32.const 65536)) (global.get $at))))`)

describe("the example of tenants", () => {
  it("lets those go on that keep their state, and the others begin anew, in one context", () =>
    Effect.gen(function*() {
      const next = (exports: WebAssembly.Exports) => (exports as Exports)["next"]()
      const users = ["ada", "bob", "ada", "bob", "cyd", "ada", "cyd"]
      const answers = yield* answer(
        bytes,
        (exports) => void (exports as Exports)["boot"](),
        new Set(["ada", "cyd"]),
        users.map((user) => [user, next] as const)
      )
      const first = 65_537 + 8
      assert.deepStrictEqual(answers, [first, first, first + 1, first, first, first + 2, first + 1])
    }).pipe(Effect.scoped, Effect.provide(NodeTenants.layer({ budgetBytes: 500_000 })), Effect.runPromise))

  it("does the same where nothing can be mapped", () => {
    const example = fileURLToPath(new URL("../../programs/examples/tenants.ts", import.meta.url))
    for (const flags of [[], ["--no-experimental-ffi"]]) {
      const { status, stderr, stdout } = spawnSync(process.execPath, [...flags, example], { encoding: "utf8" })
      assert.strictEqual(status, 0, stderr)
      assert.strictEqual(stdout, "ada goes on, bob begins again: 2, 2, 3, 2\n")
    }
  })
})
