import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as MemoryFolio from "../../layers/memory/MemoryFolio.ts"
import * as NodeFolio from "../../layers/node/NodeFolio.ts"
import { Folio } from "../../services/Folio.ts"
import { filesUnder, read } from "../house/tree.ts"
import { exportsOf, makeHost, program } from "./program.ts"

const width = Effect.scoped(
  Effect.map(Folio.open(program, { imports: makeHost().imports }), (session) => session.report().width)
)

const environment = (values: Record<string, string>) =>
  Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(values))))

const fromEnv = (values: Record<string, string>) => Layer.provide(NodeFolio.layerFromEnv, environment(values))

describe("layers", () => {
  it("of sessions are each under the suite of their contract", () => {
    const layers = filesUnder("layers").filter((path) => /\/(?!Core)\w+Folio\.ts$/.test(path))
    const suites = read("test/conformance/session.test.ts")
    assert.isAtLeast(layers.length, 2)
    for (const path of layers) assert.include(suites, `from "../../${path}"`)
  })
})

describe("NodeFolio", () => {
  it.live("reads its options from the environment", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Effect.provide(width, fromEnv({ FOLIO_WORKERS: "1" })), 1)
      const two = { FOLIO_WORKERS: "2", FOLIO_MINIMUM_WORK_NS: "0", FOLIO_START_TIMEOUT_MS: "", FOLIO_REPORT: "-" }
      assert.strictEqual(yield* Effect.provide(width, fromEnv(two)), 2)
    }))

  it.live("names the variable whose value is none", () =>
    Effect.gen(function*() {
      for (const value of ["0", "33", "two", "1.5", "-1"]) {
        const error = yield* Effect.flip(Effect.provide(width, fromEnv({ FOLIO_WORKERS: value })))
        assert.match(String(error), /FOLIO_WORKERS.*no whole number from 1 to 32/)
      }
    }))

  it.live("takes a Config", () =>
    Effect.gen(function*() {
      const layer = NodeFolio.layerConfig({ workers: Config.integer("THREADS") })
      assert.strictEqual(yield* Effect.provide(width, Layer.provide(layer, environment({ THREADS: "1" }))), 1)
    }))

  it.live("dies of options out of range, in words", () =>
    Effect.gen(function*() {
      for (
        const layer of [
          NodeFolio.layer({ workers: 0 }),
          MemoryFolio.layer({ width: 1 }),
          MemoryFolio.layer({ order: "up" as never })
        ]
      ) {
        const exit = yield* Effect.exit(Effect.provide(width, layer))
        assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
        assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /workers|width|order/)
      }
    }))

  it.live("hands out nothing over a shared memory unless asked to", () =>
    Effect.gen(function*() {
      const run = Effect.scoped(Effect.gen(function*() {
        const memory = new WebAssembly.Memory({ initial: 8, maximum: 8, shared: true })
        const session = yield* Folio.open(yield* Effect.promise(shared), { imports: { env: { memory } } })
        yield* session.awaitLanes
        yield* session.run("scale", [4, 20_000, 3])
        return session.report()
      }))
      const given = yield* Effect.provide(run, NodeFolio.layer({ workers: 2, minimumWorkNs: 0 }))
      assert.match(given.reason ?? "", /shared with threads of its own/)
      assert.strictEqual(given.dispatches, 0)
      const asked = yield* Effect.provide(run, NodeFolio.layer({ workers: 2, minimumWorkNs: 0, sharedGiven: true }))
      assert.strictEqual(asked.rung, "shared-given")
      assert.isAbove(asked.dispatches, 0)
    }))
})

describe("MemoryFolio", () => {
  it.live("gives the same run for the same seed", () =>
    Effect.gen(function*() {
      const run = (seed: number) =>
        Effect.scoped(Effect.gen(function*() {
          const session = yield* Folio.open(program, { imports: makeHost().imports })
          for (let round = 1; round < 20; round++) yield* session.run("scale", [round * 4, round * 50, 7])
          return { report: session.report(), bytes: Buffer.from(exportsOf(session).memory.buffer).toString("base64") }
        })).pipe(Effect.provide(MemoryFolio.layer({ order: seed, width: 5 })))
      assert.deepStrictEqual(yield* run(3), yield* run(3))
    }))
})

const shared = async (): Promise<Uint8Array> => {
  const { assemble } = await import("../support/wat.ts")
  return assemble(`(module (import "env" "memory" (memory 8 8 shared))
    (func (export "scale") (param $at i32) (param $n i32) (param $factor i32)
      (local $i i32)
      (loop $next
        (i32.store (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2)))
          (i32.mul (i32.load (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2)))) (local.get $factor)))
        (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))))`)
}
