/**
 * What every backend of the session contract must do. Results are compared with the original module, bit for bit;
 * that loops really were handed out is asserted too, so that a backend that does nothing does not pass.
 */
import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { Folio } from "../../services/Folio.ts"
import {
  assertSameState,
  callBits,
  callValues,
  exportsOf,
  fill,
  loopless,
  makeHost,
  original,
  program
} from "./program.ts"

/** Words that a loop works on: none, fewer than lanes, odd, and enough to be worth it. */
const SIZES = [0, 1, 2, 3, 7, 64, 1000, 4096, 20_001]

const opened = Effect.gen(function*() {
  const [host, twin] = [makeHost(), makeHost()]
  const session = yield* Folio.open(program, { imports: host.imports, name: "program" })
  yield* session.awaitLanes
  return { host, twin, session, oracle: original(twin) }
})

/** Runs the suite over a backend. Its layer must admit loops of any size. */
export const suite = (name: string, layer: Layer.Layer<Folio>): void =>
  withLayer(layer, { excludeTestServices: true })(`session: ${name}`, (it) => {
    it.scoped("gives the results, memory and globals of the original", () =>
      Effect.gen(function*() {
        const { oracle, session } = yield* opened
        for (const [round, n] of SIZES.entries()) {
          fill(session, oracle, round + 1)
          const calls: ReadonlyArray<readonly [string, ReadonlyArray<unknown>]> = [
            ["scale", [64, n, 2654435761]],
            ["sum", [68, n]],
            ["prefix", [128, n]],
            ["visit", [4096, n]],
            ["scale", [1, n, -3]],
            // Distances between destination and sources at which iterations meet, and at which they do not.
            ["divide", [262144, 0, 131072, n]],
            ["sum", [0, n]]
          ]
          // No word of the divisors may be zero here: traps have their own test.
          for (const { memory } of [oracle, exportsOf(session)]) {
            const divisors = new Int32Array(memory.buffer, 131072, 32768)
            for (let at = 0; at < divisors.length; at++) divisors[at] |= 1
          }
          for (const [entry, args] of calls) {
            const label = `${entry}(${args.join(", ")})`
            assert.deepStrictEqual(yield* session.run(entry, args), callValues(oracle, entry, args), label)
            assertSameState(session, oracle, label)
          }
        }
        const { dispatches, lanesUsed, mode } = session.report()
        assert.strictEqual(mode, "parallel")
        assert.isAbove(dispatches, 5)
        assert.isAbove(lanesUsed, 1)
      }))

    it.scoped("stops at a trap with exactly the stores before it", () =>
      Effect.gen(function*() {
        const { oracle, session } = yield* opened
        const n = 6000
        for (const [round, at] of [0, 1, 17, 2999, 3000, 3001, 5999, -1].entries()) {
          fill(session, oracle, 77 + round)
          for (const { memory } of [oracle, exportsOf(session)]) {
            const divisors = new Int32Array(memory.buffer, 131072, n)
            for (let word = 0; word < n; word++) divisors[word] |= 1
            if (at >= 0) divisors[at] = 0
          }
          const args = [262144, 0, 131072, n]
          let expected: unknown
          try {
            callValues(oracle, "divide", args)
          } catch (error) {
            expected = error
          }
          const exit = yield* Effect.either(session.run("divide", args))
          assert.strictEqual(exit._tag, at < 0 ? "Right" : "Left", `zero at ${at}`)
          if (exit._tag === "Left") {
            const error = exit.left
            assert.strictEqual(error._tag, "Trap")
            if (error._tag !== "Trap") return
            assert.strictEqual(error.reason, "divide-by-zero")
            assert.instanceOf(error.cause, WebAssembly.RuntimeError)
            assert.strictEqual((error.cause as Error).message, (expected as Error).message)
          }
          assertSameState(session, oracle, `zero at ${at}`)
        }
      }))

    it.scoped("keeps the bits of NaNs, 64-bit integers and vectors", () =>
      Effect.gen(function*() {
        const { oracle, session } = yield* opened
        const cases: ReadonlyArray<readonly [string, ReadonlyArray<bigint>]> = [
          ["swap", [0xffff_ffffn, 0x8000_0000_0000_0001n, 0x7fa0_0001n, 0xfff4_0000_0000_0001n]],
          ["swap", [0n, 0xffff_ffff_ffff_ffffn, 0x8000_0000n, 0x7ff0_0000_0000_0001n]],
          ["half", [0x7ff4_0000_0000_0001n]],
          ["half", [1n]],
          ["wide", [0xff01_0203_0405_0607_0809_0a0b_0c0d_0e0fn]]
        ]
        for (const [entry, args] of cases) {
          assert.deepStrictEqual(yield* session.runBits(entry, args), callBits(oracle, entry, args), entry)
        }
        assert.deepStrictEqual(yield* session.runBits("swap", cases[0][1]), cases[0][1].toReversed())
        const reference = { any: "object" }
        assert.strictEqual(yield* session.run("keep", [reference]), reference)
      }))

    it.scoped("exports what the original does", () =>
      Effect.gen(function*() {
        const { oracle, session } = yield* opened
        assert.deepStrictEqual(Object.keys(session.exports), Object.keys(oracle))
        assert.isTrue(Object.isFrozen(session.exports))
        assert.isNull(Object.getPrototypeOf(session.exports))
        for (const [name, value] of Object.entries(oracle)) {
          const mine = session.exports[name]
          assert.strictEqual(Object.prototype.toString.call(mine), Object.prototype.toString.call(value), name)
          if (typeof value !== "function" || typeof mine !== "function") continue
          assert.strictEqual(mine.length, value.length)
          // Only functions of WebAssembly fit into a table: no wrapper stands between.
          const table = new WebAssembly.Table({ element: "anyfunc", initial: 1 })
          table.set(0, mine)
          assert.strictEqual(table.get(0), mine)
        }
        assert.strictEqual(session.memory, exportsOf(session).memory)
      }))

    it.scoped("keeps the identity of what an import throws, and goes on afterwards", () =>
      Effect.gen(function*() {
        const { host, oracle, session, twin } = yield* opened
        for (const thrown of [new Error("mine"), "text", undefined, { code: 7 }]) {
          host.tick = twin.tick = () => {
            throw thrown
          }
          const error = yield* Effect.flip(session.run("visit", [0, 100]))
          assert.strictEqual(error._tag, "HostException")
          assert.isTrue("cause" in error && error.cause === thrown)
          try {
            callValues(oracle, "visit", [0, 100])
          } catch (error) {
            assert.strictEqual(error, thrown)
          }
        }
        host.tick = twin.tick = () => 5
        assert.strictEqual(yield* session.run("visit", [0, 100]), callValues(oracle, "visit", [0, 100]))
        assertSameState(session, oracle, "after exceptions")
      }))

    it.scoped("lets an import call exports back", () =>
      Effect.gen(function*() {
        const { host, oracle, session, twin } = yield* opened
        fill(session, oracle, 5)
        host.tick = (n) => Number(callValues(exportsOf(session), "sum", [0, n])) & 0xff
        twin.tick = (n) => Number(callValues(oracle, "sum", [0, n])) & 0xff
        for (const n of [9, 5000]) {
          assert.strictEqual(yield* session.run("visit", [16, n]), callValues(oracle, "visit", [16, n]))
          assertSameState(session, oracle, `visit of ${n}`)
        }
      }))

    it.scoped("refuses a second run inside the first, which goes on", () =>
      Effect.gen(function*() {
        const { host, session } = yield* opened
        const inner: Array<string> = []
        host.tick = () => {
          const exit = Effect.runSyncExit(Effect.flip(session.run("half", [1])))
          if (Exit.isSuccess(exit)) inner.push(exit.value._tag)
          return 1
        }
        assert.strictEqual(yield* session.run("visit", [0, 10]), 1)
        assert.deepStrictEqual(inner, ["RunConflict"])
        assert.strictEqual(yield* session.run("half", [1]), 0.5)
      }))

    it.scoped("tells a trap by its reason and cause", () =>
      Effect.gen(function*() {
        const { session } = yield* opened
        const error = yield* Effect.flip(session.run("fault"))
        assert.strictEqual(error._tag, "Trap")
        assert.isTrue(error._tag === "Trap" && error.reason === "unreachable")
        assert.isTrue("cause" in error && error.cause instanceof WebAssembly.RuntimeError)
        assert.strictEqual(yield* session.run("half", [3]), 1.5)
      }))

    it.scoped("follows the memory when it grows", () =>
      Effect.gen(function*() {
        const { oracle, session } = yield* opened
        fill(session, oracle, 9)
        for (const pages of [1, 3, 0, 100, 20]) {
          const before = exportsOf(session).memory.buffer
          assert.strictEqual(yield* session.run("grow", [pages]), callValues(oracle, "grow", [pages]))
          if (pages > 0 && before.byteLength !== session.memory?.buffer.byteLength) {
            assert.strictEqual(before.byteLength, 0, "a buffer is detached by growth")
          }
          const bytes = oracle.memory.buffer.byteLength
          const args = [bytes - 20_000 * 4, 20_000, 77]
          assert.deepStrictEqual(yield* session.run("scale", args), callValues(oracle, "scale", args))
          assertSameState(session, oracle, `grown by ${pages}`)
          const beyond = yield* Effect.flip(session.run("scale", [bytes - 5000, 5000, 3]))
          assert.isTrue(beyond._tag === "Trap" && beyond.reason === "out-of-bounds")
          assert.throws(() => callValues(oracle, "scale", [bytes - 5000, 5000, 3]), WebAssembly.RuntimeError)
          assertSameState(session, oracle, `beyond the end, grown by ${pages}`)
        }
      }))

    it.effect("ends with its scope; the exports stay, natively", () =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const { oracle, session } = yield* Scope.extend(opened, scope)
        yield* session.run("scale", [0, 5000, 3])
        yield* Scope.close(scope, Exit.void)
        const error = yield* Effect.flip(session.run("half", [1]))
        assert.strictEqual(error._tag, "SessionClosed")
        const { dispatches } = session.report()
        callValues(oracle, "scale", [0, 5000, 3])
        for (const exports of [exportsOf(session), oracle]) callValues(exports, "scale", [0, 5000, 11])
        assertSameState(session, oracle, "closed")
        assert.strictEqual(session.report().dispatches, dispatches)
      }))

    it.scoped("keeps sessions apart that share its lanes", () =>
      Effect.gen(function*() {
        const first = yield* opened
        const second = yield* opened
        for (const [seed, { oracle, session }] of [first, second, first, second].entries()) {
          fill(session, oracle, seed + 40)
          const args = [4, 9000, seed + 2]
          assert.deepStrictEqual(yield* session.run("scale", args), callValues(oracle, "scale", args))
          assert.deepStrictEqual(yield* session.run("sum", [0, 9000]), callValues(oracle, "sum", [0, 9000]))
        }
        assertSameState(first.session, first.oracle, "first")
        assertSameState(second.session, second.oracle, "second")
      }))

    it.scoped("says in the error channel why nothing ran in parallel, when asked to", () =>
      Effect.gen(function*() {
        const { session } = yield* opened
        const fail = { fallback: "fail" } as const
        assert.isUndefined(yield* session.run("scale", [0, 20_000, 3], fail))
        const idle = yield* Effect.flip(session.run("half", [3], fail))
        assert.strictEqual(idle._tag, "NotWorthwhile")
        assert.isTrue(idle._tag === "NotWorthwhile" && idle.ran && idle.result === 1.5)

        const serial = yield* Folio.open(loopless, { name: "loopless" })
        const refused = yield* Effect.flip(serial.run("add", [1, 2], fail))
        assert.strictEqual(refused._tag, "Refused")
        assert.strictEqual(yield* serial.run("add", [1, 2]), 3)
        assert.strictEqual(serial.report().mode, "native")

        const compiled = yield* Folio.open(new WebAssembly.Module(loopless))
        const unread = yield* Effect.flip(compiled.run("add", [1, 2], fail))
        assert.strictEqual(unread._tag, "Refused")
        assert.match(compiled.report().reason ?? "", /compiled module/)
        assert.strictEqual(yield* compiled.run("add", [1, 2]), 3)
      }))
  })
