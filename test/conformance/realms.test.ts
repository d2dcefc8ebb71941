/**
 * Sessions over what belongs to other realms (`vm` contexts), and in worker threads that have a Folio of their own.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { createContext, runInContext } from "node:vm"
import { Worker } from "node:worker_threads"
import * as MemoryFolio from "../../layers/memory/MemoryFolio.ts"
import * as NodeFolio from "../../layers/node/NodeFolio.ts"
import { Folio, type SessionReport } from "../../services/Folio.ts"
import { assemble } from "../support/wat.ts"
import { assertSameState, callValues, fill, makeHost, original, program } from "./program.ts"

const context = createContext({ program })

/** A value of the other realm. */
const foreign = <A>(source: string, given: Readonly<Record<string, unknown>> = {}): A =>
  runInContext(`(({ ${Object.keys(given).join(", ")} }) => (${source}))`, context)(given) as A

const overMemory = (limits: string) =>
  assemble(`(module
  (import "env" "memory" (memory ${limits}))
  (func (export "fill") (param $n i32) (local $i i32)
    (loop $l
      (i32.store (i32.shl (local.get $i) (i32.const 2)) (i32.mul (local.get $i) (local.get $i)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))))`)

const [importing, sharing] = [await overMemory("2 4"), await overMemory("2 4 shared")]

const layers: ReadonlyArray<readonly [string, Layer.Layer<Folio>]> = [
  ["threads", NodeFolio.layer({ workers: 2, minimumWorkNs: 0 })],
  ["one thread", MemoryFolio.layer({ order: "reverse" })]
]

describe.each(layers)("%s, another realm", (_, layer) => {
  it.scopedLive("gives the bytes and the imports: it runs in parallel, and what is thrown keeps its identity", () =>
    Effect.gen(function*() {
      const bytes = foreign<Uint8Array>("Uint8Array.from(program)", { program })
      assert.isFalse(bytes instanceof Uint8Array)
      const thrown = foreign<Error>(`new RangeError("of the other realm")`)
      const host = makeHost()
      const imports = foreign<WebAssembly.Imports>("({ host: { tick: (n) => tick(n) } })", {
        tick: (n: number) => host.tick(n)
      })
      const [twin, session] = [makeHost(), yield* Folio.open(bytes, { imports })]
      const oracle = original(twin)
      yield* session.awaitLanes
      fill(session, oracle, 3)
      for (const [entry, args] of [["scale", [64, 9000, 5]], ["visit", [16, 5000]]] as const) {
        assert.deepStrictEqual(yield* session.run(entry, args), callValues(oracle, entry, args))
      }
      assertSameState(session, oracle, "of the other realm")
      assert.strictEqual(session.report().mode, "parallel")
      host.tick = () => {
        throw thrown
      }
      const error = yield* Effect.flip(session.run("visit", [0, 100]))
      assert.strictEqual(error._tag, "HostException")
      assert.isTrue("cause" in error && error.cause === thrown)
      assert.include(error.message, "of the other realm")
    }).pipe(Effect.provide(layer)))

  it.scopedLive("gives the memory: loops over it run in parallel, and its own realm sees them", () =>
    Effect.gen(function*() {
      const memory = foreign<WebAssembly.Memory>("new WebAssembly.Memory({ initial: 2, maximum: 4 })")
      assert.isFalse(memory instanceof WebAssembly.Memory)
      const session = yield* Folio.open(importing, { imports: { env: { memory } } })
      assert.strictEqual(session.memory, memory)
      yield* session.awaitLanes
      yield* session.run("fill", [20_000])
      const words = new Uint32Array(memory.buffer, 0, 20_000)
      assert.isTrue(words.every((word, index) => word === Math.imul(index, index) >>> 0))
      assert.strictEqual(session.report().mode, "parallel")
    }).pipe(Effect.provide(layer)))

  it.scopedLive("gives a compiled module: it runs natively and says why", () =>
    Effect.gen(function*() {
      const module = foreign<WebAssembly.Module>("new WebAssembly.Module(bytes)", { bytes: importing })
      assert.isFalse(module instanceof WebAssembly.Module)
      const memory = foreign<WebAssembly.Memory>("new WebAssembly.Memory({ initial: 2, maximum: 4 })")
      const session = yield* Folio.open(module, { imports: { env: { memory } } })
      yield* session.run("fill", [10])
      assert.strictEqual(new Uint32Array(memory.buffer)[9], 81)
      assert.strictEqual(session.memory, memory)
      assert.match(session.report().reason ?? "", /compiled module/)
    }).pipe(Effect.provide(layer)))
})

describe("a shared memory of another realm", () => {
  it.scopedLive("is one: it has threads of its own, and loops over it stay native", () =>
    Effect.gen(function*() {
      const memory = foreign<WebAssembly.Memory>("new WebAssembly.Memory({ initial: 2, maximum: 4, shared: true })")
      assert.isFalse(memory.buffer instanceof SharedArrayBuffer)
      const session = yield* Folio.open(sharing, { imports: { env: { memory } } })
      yield* session.awaitLanes
      yield* session.run("fill", [20_000])
      assert.strictEqual(new Uint32Array(memory.buffer)[19_999], 19_999 * 19_999)
      assert.strictEqual(session.report().mode, "native")
      assert.match(session.report().reason ?? "", /shared with threads of its own/)
    }).pipe(Effect.provide(layers[0][1])))
})

describe("worker threads with a Folio of their own", () => {
  it("give the right bytes beside each other, and share the CPUs' lanes", async () => {
    const rounds = 40
    const owners = [3, 5, 7].map(async (seed) => {
      const worker = new Worker(new URL("../fixtures/owner.ts", import.meta.url), {
        workerData: { bytes: program, rounds, seed }
      })
      const [[told]] = await Promise.all([once(worker, "message"), once(worker, "exit")])
      return { seed, told: told as { readonly digest: string; readonly report: SessionReport } }
    })
    for (const { seed, told: { digest, report } } of await Promise.all(owners)) {
      const oracle = original(makeHost())
      const memory = new Uint8Array(oracle.memory.buffer)
      for (let at = 0; at < memory.length; at++) memory[at] = at * seed >> 3
      for (let round = 0; round < rounds; round++) callValues(oracle, "scale", [64, 20_000, seed + round])
      assert.strictEqual(digest, createHash("sha256").update(memory).digest("hex"), `seed ${seed}`)
      assert.strictEqual(report.runs, rounds)
      // Whoever got no lane says so.
      assert.strictEqual(report.mode === "native", report.reason !== undefined)
    }
  })
})
