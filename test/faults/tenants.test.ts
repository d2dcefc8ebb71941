/**
 * Tenants whose files are damaged or gone, and what is under way when somebody gives up.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { aliasMapping } from "../../layers/node/alias.ts"
import { probeNative } from "../../layers/node/ffi.ts"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import * as NodeTenants from "../../layers/node/NodeTenants.ts"
import { Baking } from "../../services/Baking.ts"
import type { ImageMismatch } from "../../services/ImageErrors.ts"
import type { MakeInstance, TenantContext } from "../../services/Tenants.ts"
import { assemble } from "../support/wat.ts"

const bytes = await assemble(`(module (memory (export "memory") 8) (global $n (mut i32) (i32.const 0))
  (func (export "boot") (global.set $n (i32.const 7)) (memory.fill (i32.const 70000) (i32.const 1) (i32.const 200000)))
  (func (export "next") (result i32) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.get $n)))`)

type Exports = WebAssembly.Exports & Readonly<Record<string, () => number>>

const open = (instantiate: MakeInstance): Exports => instantiate({}).exports as Exports

const next = ({ host }: TenantContext<Exports>): number => host["next"]()

/** An image in a file of its own, in a folder that goes with the scope. */
const files = Effect.gen(function*() {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => Fs.mkdtempSync(join(tmpdir(), "folio-tenants-"))),
    (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true }))
  )
  const baking = yield* Baking
  const module = yield* baking.prepare(bytes, "counter")
  const instance = yield* baking.instantiate(module)
  ;(instance.exports as Exports)["boot"]()
  const image = yield* baking.capture(module, instance)
  const place = (name: string) => join(folder, `${name}.folio`)
  const write = (name: string) => Effect.as(baking.write(image, place(name)), place(name))
  return { place, write }
})

const run = <A, E>(work: Effect.Effect<A, E, Scope.Scope | Baking>): Promise<A> =>
  work.pipe(Effect.scoped, Effect.provide(NodeBaking.layer), Effect.runPromise)

const descriptors = (): number => Fs.readdirSync("/proc/self/fd").length

describe("tenants with damaged files", () => {
  it("say which it is, and leave the context to others", () =>
    run(Effect.gen(function*() {
      const { place, write } = yield* files
      const tenants = yield* NodeTenants.make({ budgetBytes: 2 ** 22 })
      const program = yield* tenants.program({ name: "counter", module: bytes, open })
      const damages: Readonly<Record<string, (path: string) => void>> = {
        unreadable: (path) => Fs.rmSync(path),
        truncated: (path) => Fs.truncateSync(path, 100_000),
        corrupt: (path) => {
          const file = Fs.readFileSync(path)
          file[file.length - 5_000] ^= 16
          Fs.writeFileSync(path, file)
        },
        malformed: (path) => Fs.writeFileSync(path, "no image at all, but long enough to have a head of forty bytes")
      }
      yield* tenants.add("sound", { program, image: yield* write("sound") })
      for (const [code, damage] of Object.entries(damages)) {
        yield* tenants.add(code, { program, image: yield* write(code) })
        damage(place(code))
        const refused = yield* Effect.flip(tenants.run(program, code, next))
        assert.deepStrictEqual([refused._tag, (refused as ImageMismatch).code], ["ImageMismatch", code])
        assert.strictEqual(yield* tenants.run(program, "sound", next), 8)
      }
      // One that was opened before goes on with what it has mapped, and a new file under its name is another one.
      Fs.rmSync(place("sound"))
      assert.strictEqual(yield* tenants.run(program, "sound", next), 8)
      assert.include(tenants.status(), { contexts: 1, inUse: 0 })
    })))

  it.skipIf(process.platform !== "linux" || typeof probeNative() === "string")(
    "keep no file open behind their scope",
    () =>
      run(Effect.gen(function*() {
        const { write } = yield* files
        const image = yield* write("sound")
        const once = Effect.scoped(Effect.gen(function*() {
          const tenants = yield* NodeTenants.make({ budgetBytes: 2 ** 22, openImages: 3 })
          const program = yield* tenants.program({ name: "counter", module: bytes, open, contexts: 2 })
          for (let tenant = 0; tenant < 8; tenant++) {
            yield* tenants.add(`${tenant}`, { program, image, state: tenant % 2 === 0 ? "persist" : "reset" })
          }
          for (let request = 0; request < 40; request++) yield* tenants.run(program, `${request * 5 % 8}`, next)
          assert.isAtMost(tenants.status().openImages, 3)
          assert.strictEqual(yield* tenants.run(program, "0", next), 7 + 6)
        }))
        yield* once
        const before = descriptors()
        for (let round = 0; round < 5; round++) yield* once
        assert.isAtMost(descriptors(), before)
      }))
  )
})

describe("tenants of a program whose memory lanes see", () => {
  const calls = probeNative()

  it.skipIf(typeof calls === "string")(
    "have their states, and the lanes have the memory still",
    () =>
      run(Effect.gen(function*() {
        if (typeof calls === "string") return
        const { write } = yield* files
        const image = yield* write("a")
        const tenants = yield* NodeTenants.make({ budgetBytes: 2 ** 22 })
        const program = yield* tenants.program({ name: "counter", module: bytes, open })
        yield* tenants.add("a", { program, image })
        yield* tenants.add("b", { program, image })
        const memoryOf = ({ host }: TenantContext<Exports>) => host["memory"] as unknown as WebAssembly.Memory
        const look = (tenant: string) =>
          tenants.run(program, tenant, (context) => {
            const memory = new Uint8Array(memoryOf(context).buffer)
            const before = Buffer.from(memory).toString("base64")
            memory.fill(255)
            return [next(context), before]
          })
        const first = yield* look("a")
        const shared = yield* tenants.run(program, "a", (context) => {
          assert.isTrue(aliasMapping(memoryOf(context), calls).ensure())
          return calls.address(memoryOf(context).buffer).toString(16)
        })
        for (const tenant of ["a", "b", "b", "a"]) assert.deepStrictEqual(yield* look(tenant), first)
        const ranges = Fs.readFileSync("/proc/self/maps", "utf8").split("\n")
        assert.isTrue(ranges.some((range) => range.startsWith(shared) && range.includes(" rw-s ")))
      }))
  )
})

describe("tenants that somebody gives up", () => {
  it("have no context less when a request is interrupted while its context is opened", () =>
    run(Effect.gen(function*() {
      const { write } = yield* files
      const tenants = yield* NodeTenants.make({ budgetBytes: 2 ** 22 })
      let go = (): void => {}
      const gate = new Promise<void>((resolve) => (go = resolve))
      const program = yield* tenants.program({
        name: "slow",
        module: bytes,
        contexts: 0,
        open: async (instantiate) => {
          await gate
          return open(instantiate)
        }
      })
      yield* tenants.add("a", { program, image: yield* write("a") })
      const waiting = yield* Effect.fork(tenants.run(program, "a", next))
      yield* Effect.sleep("10 millis")
      assert.strictEqual(tenants.status().inUse, 1)
      const interrupted = yield* Effect.fork(Fiber.interrupt(waiting))
      go()
      const exit = yield* Fiber.join(interrupted)
      assert.isTrue(Exit.isInterrupted(exit) || Exit.isSuccess(exit))
      assert.include(tenants.status(), { inUse: 0, contexts: 1 })
      assert.strictEqual(yield* tenants.run(program, "a", next), 8)
    })))

  it("end what is in use when it is given back, where they were closed before", () =>
    run(Effect.gen(function*() {
      const { write } = yield* files
      const [outer, holding] = [yield* Scope.make(), yield* Scope.make()]
      const tenants = yield* Scope.extend(NodeTenants.make({ budgetBytes: 2 ** 22 }), outer)
      const program = yield* tenants.program({ name: "counter", module: bytes, open })
      yield* tenants.add("a", { program, image: yield* write("a") })
      const context = yield* Scope.extend(tenants.acquire(program, "a"), holding)
      const waiting = yield* Effect.fork(Effect.flip(tenants.run(program, "a", next)))
      yield* Scope.close(outer, Exit.void)
      assert.strictEqual(next(context), 8)
      assert.include(tenants.status(), { inUse: 1, contexts: 1 })
      yield* Scope.close(holding, Exit.void)
      assert.include(tenants.status(), { inUse: 0, contexts: 0 })
      yield* Fiber.interrupt(waiting)
    })))
})
