/**
 * Tenants of a real interpreter, with its glue around each context: more of them than contexts, in an order that makes
 * states change contexts all the time.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openQuickJs, quickJsBytes } from "../../bench/lib/quickjs.ts"
import { initialise, isAnswer, openHost, requestOf, writeImages } from "../../bench/lib/tenants-fixture.ts"
import { probeNative } from "../../layers/node/ffi.ts"
import * as NodeTenants from "../../layers/node/NodeTenants.ts"
import { Tenants } from "../../services/Tenants.ts"

const TENANTS = 9

/** The interpreter's memory. */
const MEMORY = 256 * 65_536

const order = Array.from({ length: 160 }, (_, n) => (n * n * 7 + (n >> 3)) % TENANTS)

/** How many descriptors this process has, and how many ranges of files in a folder it has mapped. */
const openFiles = (folder: string): number =>
  readdirSync("/proc/self/fd").length
  + readFileSync("/proc/self/maps", "utf8").split("\n").filter((line) => line.includes(folder)).length

describe("tenants of QuickJS", () => {
  it("answer as an interpreter of their own would, and leave nothing behind", () =>
    Effect.gen(function*() {
      const folder = mkdtempSync(join(tmpdir(), "folio-quickjs-tenants-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
      const fixture = yield* writeImages(folder, TENANTS)
      const module = new WebAssembly.Module(quickJsBytes())
      const expected: Array<ReadonlyArray<string>> = []
      for (let tenant = 0; tenant < TENANTS; tenant++) {
        const own = yield* Effect.promise(() =>
          openQuickJs((imports) => new WebAssembly.Instance(module, imports).exports)
        )
        const context = own.boot()
        own.evaluate(context, initialise(tenant))
        expected.push([3, 77, 3].map((route) => own.evaluate(context, requestOf(tenant, route))))
      }
      const before = process.platform === "linux" ? openFiles(folder) : 0
      yield* Effect.gen(function*() {
        const tenants = yield* Tenants
        const program = yield* tenants.program({
          name: "quickjs",
          module: quickJsBytes(),
          open: openHost(fixture.context),
          contexts: 3
        })
        for (let tenant = 0; tenant < TENANTS; tenant++) {
          const options = { program, image: fixture.image(tenant) }
          yield* tenants.add(`reset ${tenant}`, options)
          yield* tenants.add(`persist ${tenant}`, { ...options, state: "persist" })
        }
        const asked = Array.from({ length: TENANTS }, () => 0)
        for (const [n, tenant] of order.entries()) {
          const ask = (kind: string, route: number) =>
            tenants.run(
              program,
              `${kind} ${tenant}`,
              ({ host }) => host.evaluate(host.context, requestOf(tenant, route))
            )
          const answer = yield* ask("reset", 3)
          assert.isTrue(isAnswer(answer, tenant))
          assert.strictEqual(answer, expected[tenant][0], `request ${n}`)
          if (n % 5 === 0 && asked[tenant] < 3) {
            const route = [3, 77, 3][asked[tenant]]
            assert.strictEqual(yield* ask("persist", route), expected[tenant][asked[tenant]++], `request ${n}`)
          }
        }
        const { counts, contexts, heldBytes, budgetBytes, inUse } = tenants.status()
        assert.isAbove(counts.opened, 100)
        assert.isAbove(counts.reset + counts.kept, 3)
        assert.deepStrictEqual([contexts, inUse], [3, 0])
        assert.isAtMost(heldBytes, budgetBytes)
      }).pipe(Effect.provide(NodeTenants.layer({ budgetBytes: 5 * MEMORY })))
      if (process.platform === "linux" && typeof probeNative() !== "string") {
        assert.isAtMost(openFiles(folder), before)
      }
    }).pipe(Effect.scoped, Effect.runPromise))
})
