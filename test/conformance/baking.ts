/**
 * The suite of the Baking contract, for every layer that implements it.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { Baking, type ImageModule } from "../../services/Baking.ts"
import type { ImageMismatch } from "../../services/ImageErrors.ts"
import { chunkImage } from "../../src/image/chunks.ts"
import { assemble } from "../support/wat.ts"
import { type Guest, guestOf, type Subject, subjects } from "./contexts-modules.ts"

/** A program with a seed, a log that the host opens, and a boot that asks the host for both. */
const program = await assemble(`(module
  (import "host" "random" (func $random (result i32)))
  (import "host" "open" (func $open (result i32)))
  (memory (export "memory") 2)
  (global $seed (mut i32) (i32.const 0))
  (global $log (mut i32) (i32.const 0))
  (func (export "boot") (param $words i32)
    (global.set $seed (call $random))
    (global.set $log (call $open))
    (memory.fill (i32.const 4096) (i32.const 7) (local.get $words)))
  (func (export "seed") (result i32) (global.get $seed))
  (func (export "reseed") (global.set $seed (call $random)))
  (func (export "log") (result i32) (global.get $log))
  (func (export "reopen") (global.set $log (call $open)))
  (func (export "sum") (result i32) (i32.load (i32.const 4096))))`)

type Program = WebAssembly.Exports & Readonly<Record<"boot" | "seed" | "reseed" | "log" | "reopen" | "sum", Function>>

const call = (instance: WebAssembly.Instance): Program => instance.exports as Program

/** A host whose numbers and handles are other ones each time it is asked. */
const makeHost = (first = 1) => {
  let next = first
  const asked: Array<string> = []
  const answer = (what: string) => () => {
    asked.push(what)
    return next++
  }
  return { asked, imports: { host: { random: answer("random"), open: answer("open") } } }
}

const bootOf = (instance: WebAssembly.Instance) => Effect.sync(() => void call(instance).boot(1000))

const bytesOf = ({ memory }: Guest): Buffer => Buffer.from(memory.buffer)

/** The state is captured in the middle of a run, and everything behind it must come out the same. */
const continues = (subject: Subject, from: number, guest: Guest): ReadonlyArray<unknown> =>
  [from, 1, 2].map((profile) => subject.run(guest, profile))

/** Runs the suite over a layer. */
export const suite = (name: string, layer: Layer.Layer<Baking>): void => {
  const run = <A, E>(program: Effect.Effect<A, E, Baking>): Promise<A> =>
    Effect.runPromise(Effect.provide(program, layer))

  const captured = Effect.gen(function*() {
    const baking = yield* Baking
    const module = yield* baking.prepare(program, "program")
    const instance = yield* baking.instantiate(module, makeHost().imports)
    call(instance).boot(1000)
    const image = yield* baking.capture(module, instance, {
      fingerprint: "config 1",
      renew: ["seed"],
      handles: ["log"]
    })
    return { baking, module, image, bytes: baking.encode(image) }
  })

  const hooks = {
    renewed: { seed: (exports: WebAssembly.Exports) => void (exports as Program).reseed() },
    rebound: { log: (exports: WebAssembly.Exports) => void (exports as Program).reopen() }
  }

  describe(`baking, ${name}`, () => {
    for (const subject of subjects) {
      it(`${subject.name}: applied, chunked and baked, the program goes on as it would have`, () =>
        run(Effect.gen(function*() {
          const baking = yield* Baking
          const module = yield* baking.prepare(subject.bytes(), subject.name)
          const guest = (instance: WebAssembly.Instance, imports: WebAssembly.Imports) =>
            guestOf(instance.exports, imports)
          const start = function*(of: ImageModule) {
            const imports = subject.imports()
            return { imports, instance: yield* baking.instantiate(of, imports) }
          }
          const source = yield* start(module)
          const original = guest(source.instance, source.imports)
          subject.begin(original)
          subject.run(original, 3)
          const image = yield* baking.capture(module, source.instance)
          const bytes = baking.encode(image)
          const before = Buffer.from(bytesOf(original))
          const expected = continues(subject, 4, original)

          const applied = yield* start(module)
          yield* baking.open(module, applied.instance, bytes)
          const chunked = yield* start(module)
          const files = chunkImage(image)
          yield* baking.load(module, chunked.instance, async (file) => files.get(file)!)
          const baked = yield* baking.bake(module, image)
          assert.deepStrictEqual(yield* baking.checkBaked(module, baked, image), [])
          const born = yield* Effect.gen(function*() {
            const imports = subject.imports()
            const { instance } = yield* baking.openOrBoot({ baked, imports: () => imports, boot: () => Effect.void })
            return { imports, instance }
          })
          for (const { imports, instance } of [applied, chunked, born]) {
            const copy = guest(instance, imports)
            assert.isTrue(bytesOf(copy).equals(before), "memory as captured")
            assert.deepStrictEqual(continues(subject, 4, copy), expected)
            assert.isTrue(bytesOf(copy).equals(bytesOf(original)), "memory at the end")
          }
          assert.deepStrictEqual(baking.encode(yield* baking.read(bytes)), bytes)
        })))
    }

    it("opens an image that fits: nothing of the boot is done again, hooks are run", () =>
      run(Effect.gen(function*() {
        const { baking, bytes, module } = yield* captured
        const host = makeHost(50)
        const started = yield* baking.openOrBoot({
          module,
          image: bytes,
          fingerprint: "config 1",
          imports: () => host.imports,
          boot: () => Effect.dieMessage("booted"),
          hooks
        })
        assert.strictEqual(started.from, "image")
        assert.deepStrictEqual(host.asked, ["open", "random"])
        assert.deepStrictEqual([call(started.instance).log(), call(started.instance).seed()], [50, 51])
        assert.strictEqual(call(started.instance).sum(), 0x07070707)
      })))

    it("without its hook a seed would be the same for everyone: the replay is refused and boots", () =>
      run(Effect.gen(function*() {
        const { baking, bytes, module } = yield* captured
        for (const [missing, code] of [["renewed", "renewal"], ["rebound", "handle"]] as const) {
          const started = yield* baking.openOrBoot({
            module,
            image: bytes,
            fingerprint: "config 1",
            imports: () => makeHost(70).imports,
            boot: bootOf,
            hooks: { ...hooks, [missing]: undefined }
          })
          assert.deepStrictEqual([started.from, started.mismatch?.code], ["boot", code])
          assert.strictEqual(call(started.instance).seed(), 70)
        }
        const objected = yield* baking.openOrBoot({
          module,
          image: bytes,
          imports: () => makeHost(80).imports,
          boot: bootOf,
          hooks: { ...hooks, captured: () => "the heap is not ready" }
        })
        assert.deepStrictEqual([objected.from, objected.mismatch?.code], ["boot", "replay"])
        const baked = yield* baking.bake(module, yield* baking.read(bytes))
        for (const source of [{ image: bytes }, { baked }]) {
          const invalid = yield* baking.openOrBoot({
            ...source,
            module,
            imports: () => makeHost(85).imports,
            boot: bootOf,
            hooks: { ...hooks, invalidated: () => "the configuration is newer" }
          })
          assert.deepStrictEqual([invalid.from, invalid.mismatch?.code], ["boot", "invalidated"])
        }
      })))

    it("boots plain on another fingerprint, and refuses where no plain module is at hand", () =>
      run(Effect.gen(function*() {
        const { baking, bytes, image, module } = yield* captured
        const request = { fingerprint: "config 2", imports: () => makeHost(90).imports, boot: bootOf, hooks }
        const started = yield* baking.openOrBoot({ ...request, module, image: bytes })
        assert.deepStrictEqual([started.from, started.mismatch?.code], ["boot", "fingerprint"])
        assert.strictEqual(call(started.instance).seed(), 90)
        const baked = yield* baking.bake(module, image)
        const born = yield* baking.openOrBoot({ ...request, fingerprint: "config 1", baked })
        assert.deepStrictEqual([born.from, call(born.instance).sum()], ["baked", 0x07070707])
        const refused = yield* Effect.flip(baking.openOrBoot({ ...request, baked }))
        assert.deepInclude(refused, { _tag: "ImageMismatch", code: "fingerprint" })
        const booted = yield* baking.openOrBoot({ ...request, baked, module })
        assert.strictEqual(booted.from, "boot")
        assert.deepInclude(yield* Effect.flip(baking.openOrBoot(request)), { code: "unreadable" })
        assert.deepInclude(yield* Effect.flip(baking.openOrBoot({ ...request, baked: module.bytes })), {
          code: "baked"
        })
      })))

    it("passes on what the boot fails with", () =>
      run(Effect.gen(function*() {
        const { baking, module } = yield* captured
        const failed = yield* Effect.flip(
          baking.openOrBoot({ module, imports: () => makeHost().imports, boot: () => Effect.fail("no database") })
        )
        assert.strictEqual(failed, "no database")
      })))

    it("refuses damage of every kind with a code, a place and a remedy", () =>
      run(Effect.gen(function*() {
        const { baking, bytes, image, module } = yield* captured
        const other = yield* baking.prepare(yield* Effect.promise(() => assemble("(module (memory 1))")), "other")
        const flipped = bytes.slice()
        flipped[flipped.length - 5] ^= 16
        const instance = yield* baking.instantiate(module, makeHost().imports)
        const elsewhere = yield* baking.instantiate(other)
        const failures = {
          truncated: baking.read(bytes.subarray(0, 5000)),
          corrupt: baking.read(flipped),
          malformed: baking.read(module.bytes.slice(0, 60)),
          module: baking.open(other, elsewhere, image),
          fingerprint: baking.open(module, instance, image, { fingerprint: "config 9", hooks }),
          renewal: baking.open(module, instance, image),
          unreadable: baking.read("missing/image.folio")
        }
        for (const [code, failure] of Object.entries(failures)) {
          const error = yield* Effect.flip(failure as Effect.Effect<unknown, ImageMismatch>)
          assert.deepStrictEqual([error._tag, error.code], ["ImageMismatch", code])
          assert.match(error.message, /^[^:]+: .+: .+\. .+\.$/s)
        }
        assert.strictEqual(call(instance).sum(), 0, "nothing was written")
        // Whoever trusts the bytes gets them as they are.
        yield* baking.open(module, instance, flipped, { hooks, trusted: true })
        assert.strictEqual(call(instance).sum(), 0x07070707)
      })))

    it("refuses live state of the host, and handles without a name", () =>
      run(Effect.gen(function*() {
        const { baking, module } = yield* captured
        const instance = yield* baking.instantiate(module, makeHost().imports)
        const live = yield* Effect.flip(baking.capture(module, instance, { refused: () => "a transaction is open" }))
        assert.strictEqual(live.code, "live-state")
        const handle = yield* Effect.flip(baking.capture(module, instance, { handles: [undefined] }))
        assert.deepInclude(handle, { code: "handle", place: "handle 0" })
      })))

    it("tells what boots differ in", () =>
      run(Effect.gen(function*() {
        const { baking, module } = yield* captured
        const host = makeHost(3)
        const boot = (imports: () => WebAssembly.Imports) =>
          Effect.suspend(() => Effect.tap(baking.instantiate(module, imports()), bootOf))
        // One host for both boots: the second one draws other numbers.
        const varied = yield* baking.verdict(module, boot(() => host.imports))
        assert.isFalse(varied.same)
        assert.deepStrictEqual(varied.outside.map((one) => one.slice(0, 8)), ["global 0", "global 1"])
        assert.deepStrictEqual(varied.differing, [])
        const fixed = yield* baking.verdict(module, boot(() => makeHost(3).imports))
        assert.isTrue(fixed.same)
      })))

    it("finds a secret that the boot read", () =>
      run(Effect.gen(function*() {
        const { baking, module } = yield* captured
        const instance = yield* baking.instantiate(module, makeHost().imports)
        const secret = new TextEncoder().encode("the key of the house")
        const memory = instance.exports["memory"] as WebAssembly.Memory
        Buffer.from(memory.buffer).write(Buffer.from(secret).toString("base64"), 70_000)
        const image = yield* baking.capture(module, instance)
        const found = yield* baking.scan(module, image, [{ name: "key", bytes: secret }])
        assert.include(found.map(({ form }) => form), "base64")
        const clean = yield* baking.capture(module, yield* baking.instantiate(module, makeHost().imports))
        assert.deepStrictEqual(yield* baking.scan(module, clean, [{ name: "key", bytes: secret }]), [])
      })))
  })
}
