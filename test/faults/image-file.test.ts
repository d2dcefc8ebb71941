/**
 * Images in files: mapped copy-on-write where the machine can, read where it cannot, refused where they are damaged.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import * as V8 from "node:v8"
import * as Vm from "node:vm"
import { aliasMapping } from "../../layers/node/alias.ts"
import { probeNative } from "../../layers/node/ffi.ts"
import { openImageFile } from "../../layers/node/image-file.ts"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import { openImage } from "../../layers/node/open-image.ts"
import { Baking } from "../../services/Baking.ts"
import { decodeModule } from "../../src/binary/module.ts"
import { capture } from "../../src/image/capture.ts"
import { encodeImage } from "../../src/image/format.ts"
import { instrument } from "../../src/image/instrument.ts"
import { Mismatch } from "../../src/image/mismatch.ts"
import { staticGraph } from "../house/tree.ts"
import { assemble } from "../support/wat.ts"

type Exports = WebAssembly.Exports & Readonly<Record<string, (...args: ReadonlyArray<number>) => number>>

const m = decodeModule(
  await assemble(`(module (memory (export "memory") 40 200)
    (global $count (mut i32) (i32.const 0))
    (data (i32.const 655360) "becomes zero")
    (func (export "boot")
      (drop (memory.grow (i32.const 20)))
      (memory.fill (i32.const 100000) (i32.const 5) (i32.const 300000))
      (memory.fill (i32.const 655360) (i32.const 0) (i32.const 12))
      (memory.fill (i32.const 3500000) (i32.const 9) (i32.const 200000))
      (global.set $count (i32.const 11)))
    (func (export "count") (result i32) (global.get $count))
    (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
    (func (export "fill") (param i32 i32 i32) (memory.fill (local.get 0) (local.get 1) (local.get 2)))
    (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))`)
)
const compiled = new WebAssembly.Module(instrument(m))
const instantiate = (): Exports => new WebAssembly.Instance(compiled).exports as Exports
const memoryOf = (exports: Exports): WebAssembly.Memory => exports["memory"] as unknown as WebAssembly.Memory
const bytesOf = (exports: Exports): Buffer => Buffer.from(memoryOf(exports).buffer)

const native = probeNative()
let folder = ""
let file = ""
let expected: Buffer = Buffer.alloc(0)

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "folio-image-"))
  file = join(folder, "state.folio")
  const source = instantiate()
  source.boot()
  writeFileSync(file, encodeImage(capture(m, source, { module: "0".repeat(64) })))
  expected = Buffer.from(bytesOf(source))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return "opened"
  } catch (error) {
    return error instanceof Mismatch ? error.code : String(error)
  }
}

const open = (exports: Exports, options: Parameters<typeof openImageFile>[3] = {}, place = file) =>
  openImageFile(m, exports, place, options, () => {})

/** Parts of this process's memory that are mapped from the image. */
const mappings = (): number =>
  readFileSync("/proc/self/maps", "utf8").split("\n").filter((line) => line.includes(file)).length

describe("an image file without the system's calls", () => {
  it("is read, and says why", () => {
    const exports = instantiate()
    const opened = openImageFile(m, exports, file, {}, () => {}, "no such calls here")
    assert.deepStrictEqual([opened.how, opened.reason], ["copied", "no such calls here"])
    assert.isTrue(bytesOf(exports).equals(expected))
    assert.strictEqual(exports.count(), 11)
  })
})

describe.runIf(typeof native !== "string")("an image file that is mapped", () => {
  it("gives the state, and shares its pages until they are written", () => {
    const before = mappings()
    const [first, second] = [instantiate(), instantiate()]
    for (const exports of [first, second]) {
      assert.deepStrictEqual(open(exports).how, "mapped")
      assert.isTrue(bytesOf(exports).equals(expected))
      assert.strictEqual(exports.count(), 11)
    }
    // Two stretches of pages a memory.
    assert.strictEqual(mappings() - before, 4)
    first.fill(100_000, 1, 70_000)
    assert.strictEqual(first.load(100_000), 0x01010101)
    assert.isTrue(bytesOf(second).equals(expected), "the other instance")
    assert.isTrue(readFileSync(file).equals(Buffer.from(encodeImage(capture(m, second, { module: "0".repeat(64) })))))
  })

  it("grows, is filled, copied and aliased like any memory", () => {
    const exports = instantiate()
    open(exports)
    assert.strictEqual(exports.grow(30), 60)
    assert.strictEqual(bytesOf(exports).length, 90 * 65_536)
    exports.fill(3_400_000, 3, 2_000_000)
    assert.strictEqual(exports.load(3_600_000), 0x03030303)
    assert.strictEqual(exports.load(200_000), 0x05050505)
    const mapping = aliasMapping(memoryOf(exports), native as Exclude<typeof native, string>)
    assert.isTrue(mapping.ensure(), mapping.reason)
    assert.strictEqual(exports.load(200_000), 0x05050505)
    assert.strictEqual(exports.load(3_600_000), 0x03030303)
    mapping.release()
  })

  it("leaves a memory that lanes see as it is, and copies into it", () => {
    const exports = instantiate()
    const mapping = aliasMapping(memoryOf(exports), native as Exclude<typeof native, string>)
    assert.isTrue(mapping.ensure(), mapping.reason)
    const opened = open(exports)
    assert.deepStrictEqual([opened.how, opened.reason], ["copied", "lanes see the memory already"])
    assert.isTrue(bytesOf(exports).equals(expected))
    mapping.release()
  })

  it("repairs pages that were written before, mapped or not", () => {
    const exports = instantiate()
    exports.fill(0, 1, 2_000_000)
    open(exports)
    assert.isTrue(bytesOf(exports).equals(expected))
    exports.fill(0, 2, 3_900_000)
    open(exports)
    assert.isTrue(bytesOf(exports).equals(expected))
  })

  it("ends with its memory: nothing stays mapped, whether it was opened or refused", async () => {
    V8.setFlagsFromString("--expose-gc")
    const collect = Vm.runInNewContext("gc") as () => void
    const place = join(folder, "collected.folio")
    const bytes = readFileSync(file)
    bytes[bytes.length - 1] ^= 1
    writeFileSync(place, bytes)
    const mapped = () =>
      readFileSync("/proc/self/maps", "utf8").split("\n").filter((line) => line.includes(place)).length
    const use = () => {
      for (let round = 0; round < 10; round++) {
        assert.strictEqual(open(instantiate(), { trusted: true }, place).how, "mapped")
        assert.throws(() => open(instantiate(), {}, place), /hash/)
      }
      return mapped()
    }
    assert.isAbove(use(), 10)
    // A collection is asked for, not promised: some take two.
    for (let round = 0; round < 20 && mapped() > 0; round++) {
      collect()
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.strictEqual(mapped(), 0)
  })

  it("outlives its file's name", () => {
    const place = join(folder, "removed.folio")
    writeFileSync(place, readFileSync(file))
    const exports = instantiate()
    assert.strictEqual(open(exports, { trusted: true }, place).how, "mapped")
    rmSync(place)
    assert.isTrue(bytesOf(exports).equals(expected))
  })
})

describe("an image file that is written again", () => {
  it("leaves those who map the old one with what they have", () =>
    Effect.gen(function*() {
      const baking = yield* Baking
      const place = join(folder, "again.folio")
      const source = instantiate()
      source.boot()
      const options = { module: "0".repeat(64) }
      yield* baking.write(capture(m, source, options), place)
      const mapped = instantiate()
      open(mapped, { trusted: true }, place)
      source.fill(0, 255, 3_900_000)
      yield* baking.write(capture(m, source, options), pathToFileURL(place))
      assert.isTrue(bytesOf(mapped).equals(expected))
      const anew = instantiate()
      open(anew, {}, place)
      assert.isTrue(bytesOf(anew).equals(bytesOf(source)))
      assert.deepStrictEqual(readdirSync(folder).filter((name) => name.endsWith(".tmp")), [])
      const nowhere = yield* Effect.flip(baking.write(capture(m, source, options), join(folder, "none", "x.folio")))
      assert.deepInclude(nowhere, { _tag: "ImageMismatch", code: "unreadable" })
    }).pipe(Effect.provide(NodeBaking.layer), Effect.runPromise))
})

describe("an image file that is opened by the plain function", () => {
  it("is compared with what it was made for, and its hooks are asked and run; nothing of Effect is loaded", () => {
    const place = join(folder, "plain.folio")
    const source = instantiate()
    source.boot()
    writeFileSync(
      place,
      encodeImage(capture(m, source, { module: "1".repeat(64), fingerprint: "v1", renew: ["seed"] }))
    )
    const ran: Array<string> = []
    const hooks = { renewed: { seed: (_: unknown, name: string) => void ran.push(name) } }
    const exports = instantiate()
    openImage(m, exports, place, { fingerprint: "v1", module: "1".repeat(64), hooks, fresh: true })
    assert.isTrue(bytesOf(exports).equals(expected))
    assert.deepStrictEqual(ran, ["seed"])
    const refusals = [
      [{ fingerprint: "v2", hooks }, "fingerprint"],
      [{ module: "2".repeat(64), hooks }, "module"],
      [{}, "renewal"],
      [{ hooks: { ...hooks, invalidated: () => "a newer configuration" } }, "invalidated"]
    ] as const
    for (const [options, code] of refusals) {
      const untouched = instantiate()
      assert.strictEqual(codeOf(() => openImage(m, untouched, place, options)), code)
      assert.strictEqual(untouched.load(200_000), 0, "nothing was written")
    }
    assert.deepStrictEqual(staticGraph("programs/entry/image-file.ts").packages, ["node:fs"])
  })
})

describe("a damaged image file", () => {
  const damaged = (change: (bytes: Buffer) => Uint8Array, trusted = false): Mismatch => {
    const place = join(folder, "damaged.folio")
    writeFileSync(place, change(readFileSync(file)))
    try {
      open(instantiate(), { trusted }, place)
    } catch (error) {
      return error as Mismatch
    }
    return assert.fail("it was opened")
  }

  it("is refused with a code and a place", () => {
    const flip = (at: number) => (bytes: Buffer): Uint8Array => {
      bytes[at] ^= 2
      return bytes
    }
    const size = readFileSync(file).length
    assert.strictEqual(damaged((bytes) => bytes.subarray(0, 10)).code, "truncated")
    assert.strictEqual(damaged((bytes) => bytes.subarray(0, size - 65_536)).code, "truncated")
    assert.strictEqual(damaged((bytes) => Buffer.concat([bytes, bytes])).code, "malformed")
    assert.strictEqual(damaged(flip(60)).code, "corrupt")
    assert.deepInclude(damaged(flip(4096 + 65_536)), { code: "corrupt", place: "page 2 of memory 0" })
    assert.strictEqual(damaged(() => Buffer.from("no image at all, but long enough to have a head")).code, "malformed")
    // Whoever trusts the pages still gets no other state than was captured.
    assert.strictEqual(damaged((bytes) => bytes.subarray(0, size - 65_536), true).code, "truncated")
    for (const at of [17, 30, 50, 60, 150]) assert.strictEqual(damaged(flip(at), true).name, "Mismatch", `byte ${at}`)
  })

  it("that is not there is the system's own error", () => {
    assert.throws(() => open(instantiate(), {}, join(folder, "none.folio")), /ENOENT/)
  })

  it.runIf(process.platform === "linux")("leaves no file open", () => {
    const open = (): number => readdirSync("/proc/self/fd").length
    const before = open()
    for (let round = 0; round < 20; round++) damaged((bytes) => bytes.subarray(0, 5000))
    assert.strictEqual(open(), before)
  })
})
