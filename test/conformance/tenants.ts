/**
 * What tenants are on every backend: states of their own under one budget, in fewer contexts than there are tenants.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as MemoryBaking from "../../layers/memory/MemoryBaking.ts"
import { Baking, type ImageSource } from "../../services/Baking.ts"
import {
  type MakeInstance,
  type TenantContext,
  type TenantLimits,
  type TenantProgram,
  Tenants,
  type TenantsShape
} from "../../services/Tenants.ts"
import type { Image } from "../../src/image/model.ts"
import { assemble } from "../support/wat.ts"

/** A counter in a hidden global, and whatever else a state can be in: pages, bits of floats and vectors, table slots. */
const text = `(module
  (memory (export "memory") 8 16)
  (data (i32.const 100) "born with it") (data (i32.const 300000) "far away")
  (global $count (mut i32) (i32.const 0))
  (global $bits (mut f64) (f64.const nan:0x4000000000001)) (global $vector (mut v128) (v128.const i32x4 1 2 3 4))
  (type $get (func (result i32))) (table (export "table") 4 8 funcref) (elem (i32.const 1) func $one $two)
  (func $one (result i32) (i32.const 1)) (func $two (result i32) (i32.const 2))
  (func (export "boot") (param i32)
    (global.set $count (local.get 0))
    (memory.fill (i32.const 65536) (local.get 0) (i32.const 70000))
    (memory.fill (i32.const 100) (i32.const 0) (i32.const 4)))
  (func (export "next") (result i32)
    (global.set $count (i32.add (global.get $count) (i32.const 1))) (global.get $count))
  (func (export "bits") (result i64) (i64.reinterpret_f64 (global.get $bits)))
  (func (export "lane") (result i32) (i32x4.extract_lane 2 (global.get $vector)))
  (func (export "spoil")
    (global.set $bits (f64.const 1)) (global.set $vector (v128.const i32x4 9 9 9 9))
    (table.set (i32.const 1) (ref.null func)) (table.set (i32.const 3) (ref.func $two))
    (memory.fill (i32.const 0) (i32.const 255) (i32.const 524288)))
  (func (export "call") (param i32) (result i32) (call_indirect (type $get) (local.get 0)))
  (func (export "grow") (result i32) (memory.grow (i32.const 1)))
  (func (export "trap") (global.set $count (i32.const 99)) unreachable))`

type Call = (...args: ReadonlyArray<number>) => number

interface Guest {
  readonly call: Readonly<Record<string, Call>>
  readonly memory: WebAssembly.Memory
  readonly table: WebAssembly.Table
}

const open = (instantiate: MakeInstance): Guest => {
  const { exports } = instantiate({})
  return {
    call: exports as unknown as Record<string, Call>,
    memory: exports["memory"] as WebAssembly.Memory,
    table: exports["table"] as WebAssembly.Table
  }
}

/** Everything of a context that can be seen. */
const seen = ({ host: { call, memory } }: TenantContext<Guest>): ReadonlyArray<unknown> => [
  memory.buffer.byteLength,
  Buffer.from(memory.buffer).toString("latin1").replace(/(.)\1{99,}/gs, (run, byte: string) => `${byte}×${run.length}`),
  call["bits"](),
  call["lane"](),
  [1, 2].map((slot) => call["call"](slot)),
  (() => {
    try {
      return call["call"](3)
    } catch (error) {
      return String(error)
    }
  })()
]

const MEMORY = 8 * 65_536

/** Room for so many contexts, so many states without one, the module and an image. */
const roomFor = (contexts: number, states = 0): typeof TenantLimits.Encoded => ({
  budgetBytes: contexts * MEMORY + states * MEMORY / 2 + 3 * MEMORY / 4
})

const next = ({ host }: TenantContext<Guest>): number => host.call["next"]()

/** What a test works with. */
interface Bench {
  readonly tenants: TenantsShape
  readonly program: TenantProgram<Guest>
  /** The image of a state that `boot` makes. */
  readonly image: (count: number) => Image
}

/** Runs the suite. `place` may put an image somewhere else, into a file for one. */
export const suite = (
  name: string,
  layer: (limits: typeof TenantLimits.Encoded) => Layer.Layer<Tenants>,
  place: (image: Image, encode: (image: Image) => Uint8Array) => ImageSource
): void => {
  const images = Effect.gen(function*() {
    const baking = yield* Baking
    const bytes = yield* Effect.promise(() => assemble(text))
    const module = yield* baking.prepare(bytes, "counter")
    const made = new Map<number, Image>()
    for (let count = 0; count < 100; count += 10) {
      const instance = yield* baking.instantiate(module)
      ;(instance.exports["boot"] as Call)(count)
      made.set(count, yield* baking.capture(module, instance, { fingerprint: `from ${count}` }))
    }
    return { bytes, made, encode: baking.encode }
  }).pipe(Effect.provide(MemoryBaking.layer))

  const bench = <A, E>(
    limits: typeof TenantLimits.Encoded,
    contexts: number,
    work: (
      bench: Bench & { readonly add: (name: string, count: number, state?: "persist") => Effect.Effect<void> }
    ) => Effect.Effect<A, E, Scope.Scope>
  ): Promise<A> =>
    Effect.gen(function*() {
      const { bytes, encode, made } = yield* images
      const tenants = yield* Tenants
      const program = yield* tenants.program({ name: "counter", module: bytes, open, contexts })
      return yield* work({
        tenants,
        program,
        image: (count) => made.get(count)!,
        add: (tenant, count, state) =>
          tenants.add(tenant, {
            program,
            image: place(made.get(count)!, encode),
            ...(state === undefined ? {} : { state })
          }).pipe(Effect.orDie)
      })
    }).pipe(Effect.scoped, Effect.provide(layer(limits)), Effect.runPromise)

  describe(`tenants, ${name}`, () => {
    it("begin each request with their image, whatever the requests before have left", () =>
      bench(roomFor(2), 1, ({ add, program, tenants }) =>
        Effect.gen(function*() {
          for (const count of [0, 10, 20]) yield* add(`from ${count}`, count)
          const first = new Map<number, ReadonlyArray<unknown>>()
          for (const count of [0, 10, 20]) first.set(count, yield* tenants.run(program, `from ${count}`, seen))
          assert.notDeepEqual(first.get(0), first.get(10))
          for (const count of [10, 10, 0, 20, 20, 20, 10, 0]) {
            const tenant = `from ${count}`
            assert.deepStrictEqual(yield* tenants.run(program, tenant, seen), first.get(count))
            assert.strictEqual(yield* tenants.run(program, tenant, next), count + 1)
            yield* tenants.run(program, tenant, ({ host }) => {
              host.call["spoil"]()
              host.table.set(2, null)
            })
          }
          assert.strictEqual(yield* tenants.run(program, "from 0", (context) => context.opening.how), "reset")
          assert.strictEqual(tenants.status().contexts, 1)
        })))

    it("keep the state that they are told to keep, in whichever context it goes on", () =>
      bench(roomFor(2, 4), 2, ({ add, program, tenants }) =>
        Effect.gen(function*() {
          for (const count of [0, 10, 20, 30]) yield* add(`from ${count}`, count, "persist")
          for (let round = 1; round <= 4; round++) {
            for (const count of [0, 10, 20, 30]) {
              const written = yield* tenants.run(program, `from ${count}`, (context) => {
                const word = new Uint32Array(context.host.memory.buffer, 200_000, 1)
                word[0]++
                return [next(context), word[0], context.host.memory.buffer.byteLength]
              })
              assert.deepStrictEqual(written, [count + round, round, MEMORY])
            }
          }
          const kept = yield* tenants.run(program, "from 30", ({ opening }) => opening.how)
          assert.strictEqual(kept, "kept")
          assert.isAtMost(tenants.status().heldBytes, roomFor(2, 4).budgetBytes!)
          assert.isAtMost(tenants.status().contexts, 2)
        })))

    it("keep a state across a spoilt table, globals and a grown memory", () =>
      bench(roomFor(2), 1, ({ add, program, tenants }) =>
        Effect.gen(function*() {
          yield* add("mine", 10, "persist")
          yield* add("other", 20)
          yield* tenants.run(program, "mine", ({ host }) => {
            host.call["spoil"]()
            assert.strictEqual(host.call["grow"](), 8)
          })
          const look = yield* tenants.run(program, "mine", (context) => {
            const { host } = context
            return [
              host.memory.buffer.byteLength,
              host.call["bits"](),
              host.call["call"](3),
              host.memory.buffer.slice(0)
            ]
          })
          assert.strictEqual(look[0], MEMORY + 65_536)
          // A context that has grown is of no use for the other, and gives way.
          assert.strictEqual(
            yield* tenants.run(program, "other", (context) => context.host.memory.buffer.byteLength),
            MEMORY
          )
          const again = yield* tenants.run(
            program,
            "mine",
            (
              { host }
            ) => [host.memory.buffer.byteLength, host.call["bits"](), host.call["call"](3), host.memory.buffer.slice(0)]
          )
          assert.deepStrictEqual(again, look)
        })))

    it("have their state captured, and others begin with it", () =>
      bench(roomFor(2), 1, ({ add, program, tenants }) =>
        Effect.gen(function*() {
          yield* add("first", 10, "persist")
          yield* add("other", 20)
          yield* tenants.run(program, "first", next)
          const resident = yield* tenants.capture("first")
          yield* tenants.run(program, "other", next)
          assert.deepStrictEqual(yield* tenants.capture("first"), resident)
          yield* tenants.add("second", { program, image: resident, fingerprint: "from 10" })
          assert.strictEqual(yield* tenants.run(program, "second", next), 12)
          assert.strictEqual(yield* tenants.run(program, "first", next), 12)
          const refused = yield* Effect.flip(tenants.capture("other"))
          assert.include(refused, { _tag: "TenantRefused", reason: "state" })
        })))

    it("may have a module of their own, with other data and the same code", () =>
      bench(roomFor(3), 1, ({ add, program, tenants }) =>
        Effect.gen(function*() {
          const baking = yield* Baking
          const variant = text.replace("born with it", "other bytes").replace("300000", "400000")
          const bytes = yield* Effect.promise(() => assemble(variant))
          const module = yield* baking.prepare(bytes, "variant")
          const instance = yield* baking.instantiate(module)
          ;(instance.exports["boot"] as Call)(50)
          const image = place(yield* baking.capture(module, instance), baking.encode)
          yield* add("plain", 10)
          yield* tenants.add("own", { program, image, module: bytes })
          yield* tenants.add("persist", { program, image, module: bytes, state: "persist" })
          const own = Buffer.from((instance.exports["memory"] as WebAssembly.Memory).buffer)
          for (const tenant of ["own", "plain", "persist", "own", "persist", "plain", "persist"]) {
            const memory = yield* tenants.run(program, tenant, (context) => {
              const memory = Buffer.from(context.host.memory.buffer.slice(0))
              if (tenant !== "persist") context.host.call["spoil"]()
              return memory
            })
            if (tenant === "plain") assert.strictEqual(memory.toString("latin1", 300_000, 300_008), "far away")
            else assert.strictEqual(Buffer.compare(memory, own), 0, tenant)
          }
          assert.strictEqual(tenants.status().contexts, 1)
          yield* tenants.add("without", { program, image })
          assert.include(yield* Effect.flip(tenants.run(program, "without", next)), { code: "module" })
          const otherCode = yield* Effect.promise(() => assemble(variant.replace("(i32.const 99)", "(i32.const 98)")))
          const refused = yield* Effect.flip(tenants.add("code", { program, image, module: otherCode }))
          assert.include(refused, { _tag: "ImageMismatch", code: "module", detail: "section 10 differs" })
          const nothing = yield* Effect.flip(tenants.add("code", { program, image, module: new Uint8Array(9) }))
          assert.include(nothing, { _tag: "ImageMismatch", code: "module" })
          assert.include(yield* Effect.flip(tenants.add("code", { program, image, module: "no/such.wasm" })), {
            _tag: "ImageMismatch",
            code: "unreadable"
          })
        }).pipe(Effect.provide(MemoryBaking.layer))))

    it("are held by one request at a time where they persist, and by several where they do not", () =>
      bench(roomFor(2, 1), 2, ({ add, program, tenants }) =>
        Effect.gen(function*() {
          yield* add("persist", 10, "persist")
          yield* add("reset", 20)
          const order: Array<string> = []
          const done = yield* Deferred.make<void>()
          const first = yield* Effect.scope.pipe(
            Effect.zipRight(tenants.acquire(program, "persist")),
            Effect.tap(() => Effect.zipRight(Effect.sync(() => order.push("first")), Deferred.await(done))),
            Effect.scoped,
            Effect.fork
          )
          yield* Effect.yieldNow()
          const second = yield* Effect.fork(tenants.run(program, "persist", () => order.push("second")))
          yield* Effect.yieldNow()
          assert.deepStrictEqual(order, ["first"])
          yield* Deferred.succeed(done, undefined)
          yield* Fiber.join(first)
          yield* Fiber.join(second)
          assert.deepStrictEqual(order, ["first", "second"])
          const one = yield* tenants.acquire(program, "reset")
          const two = yield* tenants.acquire(program, "reset")
          assert.notStrictEqual(one.host, two.host)
          assert.deepStrictEqual([next(one), next(one), next(two)], [21, 22, 21])
        })))

    it("wait for a context that is in use, and an interrupted one leaves nothing behind", () =>
      bench(roomFor(1), 1, ({ add, program, tenants }) =>
        Effect.gen(function*() {
          yield* add("a", 10)
          yield* add("b", 20)
          const holding = yield* Scope.make()
          yield* Scope.extend(tenants.acquire(program, "a"), holding)
          const interrupted = yield* Effect.fork(tenants.run(program, "b", next))
          const waiting = yield* Effect.fork(tenants.run(program, "b", next))
          yield* Effect.yieldNow()
          assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(interrupted)))
          assert.strictEqual(tenants.status().inUse, 1)
          yield* Scope.close(holding, Exit.void)
          assert.strictEqual(yield* Fiber.join(waiting), 21)
          assert.include(tenants.status(), { inUse: 0, contexts: 1 })
        })))

    it("give a context back after a trap and after an exception, and say which it was", () =>
      bench(roomFor(1), 1, ({ add, program, tenants }) =>
        Effect.gen(function*() {
          yield* add("a", 10)
          yield* add("kept", 30, "persist")
          const trap = yield* Effect.flip(tenants.run(program, "a", ({ host }) => host.call["trap"]()))
          assert.include(trap, { _tag: "Trap", reason: "unreachable" })
          const thrown = new RangeError("not today")
          const exception = yield* Effect.flip(tenants.run(program, "a", () => {
            throw thrown
          }))
          assert.include(exception, { _tag: "HostException", cause: thrown })
          assert.strictEqual(yield* tenants.run(program, "a", next), 11)
          // What a request leaves is the state, also when it ends in a trap.
          yield* Effect.flip(tenants.run(program, "kept", ({ host }) => host.call["trap"]()))
          assert.strictEqual(yield* tenants.run(program, "kept", next), 100)
          assert.strictEqual(tenants.status().inUse, 0)
        })))

    it("run hooks when an image is taken over, and not where a state goes on", () =>
      bench(roomFor(2), 1, ({ image, program, tenants }) =>
        Effect.gen(function*() {
          const renewed: Array<string> = []
          const hooks = { renewed: { seed: (_: WebAssembly.Exports, name: string) => void renewed.push(name) } }
          const needs = { ...image(10), renew: ["seed"] }
          yield* tenants.add("without", { program, image: needs })
          assert.include(yield* Effect.flip(tenants.run(program, "without", next)), {
            _tag: "ImageMismatch",
            code: "renewal"
          })
          yield* tenants.add("reset", { program, image: needs, hooks })
          yield* tenants.add("persist", { program, image: needs, hooks, state: "persist" })
          yield* tenants.run(program, "reset", next)
          yield* tenants.run(program, "reset", next)
          assert.strictEqual(renewed.length, 2)
          for (const tenant of ["persist", "persist", "reset", "persist"]) yield* tenants.run(program, tenant, next)
          assert.strictEqual(renewed.length, 4)
          assert.strictEqual(yield* tenants.run(program, "persist", next), 14)
        })))

    it("are refused in words", () =>
      bench(roomFor(4), 1, ({ add, image, program, tenants }) =>
        Effect.gen(function*() {
          yield* add("a", 10)
          const run = (tenant: string, of = program) => Effect.flip(tenants.run(of, tenant, next))
          assert.include(yield* run("nobody"), { _tag: "TenantRefused", reason: "unknown", name: "nobody" })
          assert.include(yield* Effect.flip(tenants.add("a", { program, image: image(10) })), { reason: "exists" })
          assert.include(yield* run("a", { name: "other", digest: "" }), { reason: "program" })
          const twin = yield* tenants.program({
            name: "twin",
            module: yield* Effect.map(images, ({ bytes }) => bytes),
            open,
            contexts: 0
          })
          assert.include(yield* run("a", twin), { reason: "program" })
          yield* tenants.remove("a")
          assert.include(yield* run("a"), { reason: "unknown" })
          yield* add("a", 20)
          assert.strictEqual(yield* tenants.run(program, "a", next), 21)

          const other = { ...image(10), module: "0".repeat(64) }
          yield* tenants.add("module", { program, image: other })
          assert.include(yield* run("module"), { _tag: "ImageMismatch", code: "module" })
          yield* tenants.add("fingerprint", { program, image: image(10), fingerprint: "from 20" })
          assert.include(yield* run("fingerprint"), { _tag: "ImageMismatch", code: "fingerprint" })
          const { encode } = yield* images
          const bytes = encode(image(10))
          bytes[bytes.length - 70_000] ^= 1
          yield* tenants.add("flipped", { program, image: bytes })
          assert.include(yield* run("flipped"), { _tag: "ImageMismatch", code: "corrupt" })
          yield* tenants.add("shape", {
            program,
            image: { ...image(10), memories: [{ ...image(10).memories[0], pages: 20 }] }
          })
          assert.include(yield* run("shape"), { _tag: "ImageMismatch", code: "maximum" })
          assert.strictEqual(yield* tenants.run(program, "a", next), 21)
          assert.match((yield* run("nobody")).message, /^"nobody": there is no tenant of this name\. Add it before/)
        })))

    it("say what they lack when the budget is too small", () =>
      Effect.gen(function*() {
        const { bytes, made } = yield* images
        const tenants = yield* Tenants
        const refused = yield* Effect.flip(tenants.program({ name: "counter", module: bytes, open }))
        assert.include(refused, { _tag: "TenantRefused", reason: "budget" })
        assert.match(refused.message, /a context needs 524288 bytes, and of 400000 at most \d+ can be had/)
        const program = yield* tenants.program({ name: "counter", module: bytes, open, contexts: 0 })
        yield* tenants.add("a", { program, image: made.get(10)! })
        assert.include(yield* Effect.flip(tenants.run(program, "a", next)), { reason: "budget" })
        assert.strictEqual(tenants.status().inUse, 0)
      }).pipe(Effect.scoped, Effect.provide(layer({ budgetBytes: 400_000 })), Effect.runPromise))

    it("say when a program makes no instance, or throws", () =>
      bench(roomFor(2), 1, ({ tenants }) =>
        Effect.gen(function*() {
          const { bytes } = yield* images
          const program = (open: (instantiate: MakeInstance) => unknown) =>
            Effect.flip(tenants.program({ name: "p", module: bytes, open }))
          assert.match((yield* program(() => 1)).message, /`open` has made no instance/)
          assert.match((yield* program((make) => [make(), make()])).message, /this is the second/)
          const thrown = yield* program(async () => {
            throw new Error("no glue")
          })
          assert.include(thrown, { _tag: "HostException" })
          assert.include(yield* Effect.flip(tenants.program({ name: "p", module: new Uint8Array(9), open })), {
            _tag: "ModuleInvalid"
          })
          assert.include(tenants.status(), { inUse: 0, contexts: 1 })
        })))

    it("are closed with their scope", async () => {
      let kept: Bench | undefined
      await bench(roomFor(2), 2, (bench) =>
        Effect.gen(function*() {
          kept = bench
          yield* bench.add("a", 10)
          yield* bench.tenants.run(bench.program, "a", next)
        }))
      const { program, tenants } = kept!
      const refused = await Effect.runPromise(Effect.flip(tenants.run(program, "a", next)))
      assert.include(refused, { _tag: "TenantRefused", reason: "closed" })
      assert.include(tenants.status(), { contexts: 0, openImages: 0, inUse: 0 })
    })
  })
}
