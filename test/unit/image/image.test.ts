import { assert, describe, it } from "@effect/vitest"
import { decodeModule } from "../../../src/binary/module.ts"
import { applyImage } from "../../../src/image/apply.ts"
import { bakedFrom, bakeModule } from "../../../src/image/bake.ts"
import { capture } from "../../../src/image/capture.ts"
import { checkBaked } from "../../../src/image/check.ts"
import { decodeImage, encodeImage } from "../../../src/image/format.ts"
import { hash128 } from "../../../src/image/hash.ts"
import { instrument } from "../../../src/image/instrument.ts"
import type { Mismatch } from "../../../src/image/mismatch.ts"
import { assemble } from "../../support/wat.ts"
import { booted, bytesOf, decoded, everything, host, instantiate, observe, options } from "./program.ts"

const refusing: WebAssembly.Imports = {
  host: {
    now: () => {
      throw new Error("the host is called again")
    }
  }
}

/** The `Mismatch` that a call throws. */
const mismatchOf = (call: () => unknown): Mismatch => {
  try {
    call()
  } catch (error) {
    return error as Mismatch
  }
  return assert.fail("nothing was refused")
}

describe("hash128", () => {
  it("is MurmurHash3, 128 bits for 32-bit arithmetic", () => {
    const of = (text: string) => hash128(new TextEncoder().encode(text))
    assert.strictEqual(of(""), "00000000000000000000000000000000")
    assert.strictEqual(of("I will not buy this record, it is scratched."), "a0a9683b25ac5e40d9af2895890dddf5")
    assert.strictEqual(of("The quick brown fox jumps over the lazy dog"), "2f1583c3ecee2c675d7bf66ce5e91d2c")
  })
})

describe("capture", () => {
  it("holds every kind of state: globals by their bits, slots, dropped segments, pages that became zero", () => {
    const { image } = booted()
    assert.deepStrictEqual(
      image.globals.map(({ bits, type }) => [type, bits]),
      [
        ["i32", 42n],
        ["f32", 0x7fa00001n],
        ["f64", 0x7ff4000000001234n],
        ["v128", 0x00000004_00000003_00000002_00000001n],
        ["i64", 0xfffffffffffffffbn]
      ]
    )
    assert.deepStrictEqual(image.tables.map(({ slots }) => slots), [[3, -1, -1, -1, 2, -1]])
    assert.deepStrictEqual(image.dropped, { data: [2], elements: [1] })
    assert.deepStrictEqual(image.memories.map(({ pages }) => pages), [4, 1])
    const zero = image.memories[0].delta.filter(({ bytes }) => bytes === undefined)
    assert.deepStrictEqual(zero.map(({ page }) => page), [1])
    assert.deepStrictEqual(image.memories[0].delta.map(({ page }) => page), [0, 1, 3])
  })

  it("changes nothing in the instance", () => {
    const { exports } = booted()
    const reference = instantiate(everything, host())
    reference.boot()
    assert.deepStrictEqual(observe(exports), observe(reference))
    assert.isTrue(bytesOf(exports).equals(bytesOf(reference)))
  })

  it("refuses what an instance hides, and says which part", () => {
    const exports = instantiate(everything, host())
    const error = mismatchOf(() => capture(decoded, exports, options))
    assert.deepStrictEqual([error.code, error.place], ["hidden", "global 0"])
    assert.match(error.message, /instrument/)
  })

  it("refuses references of another instance and of the host, with their slot", async () => {
    const m = decodeModule(
      await assemble(`(module (memory 1) (table (export "t") 3 funcref) (elem (i32.const 0) func $f) (func $f))`)
    )
    const [mine, other] = [instantiate(instrument(m)), instantiate(instrument(m))]
    const [table, theirs] = [mine["t"], other["t"]] as unknown as ReadonlyArray<WebAssembly.Table>
    table.set(2, theirs.get(0))
    const error = mismatchOf(() => capture(m, mine, options))
    assert.deepStrictEqual([error.code, error.place], ["table", "table 0, slot 2"])
  })

  it("refuses a module without memory, a shared one, other pages, and references in globals", async () => {
    const refused = async (text: string, fill?: (exports: WebAssembly.Exports) => void) => {
      const m = decodeModule(await assemble(text))
      const exports = instantiate(instrument(m))
      fill?.(exports)
      return mismatchOf(() => capture(m, exports, options)).code
    }
    assert.strictEqual(await refused("(module)"), "no-memory")
    assert.strictEqual(await refused("(module (memory 1 1 shared))"), "shared")
    const global = `(module (memory 1) (global (export "g") (mut externref) (ref.null extern)))`
    assert.strictEqual(
      await refused(global, (exports) => (exports["g"] as WebAssembly.Global).value = {}),
      "reference"
    )
    const m = decodeModule(await assemble(global))
    assert.deepStrictEqual(capture(m, instantiate(instrument(m)), options).globals, [])
  })

  it("gives the same bytes for the same state", () => {
    assert.deepStrictEqual(encodeImage(booted().image), encodeImage(booted().image))
  })
})

describe("an image file", () => {
  it("gives back what was written", () => {
    const { image } = booted()
    const read = decodeImage(encodeImage(image))
    assert.deepStrictEqual(read.globals, image.globals)
    assert.deepStrictEqual(encodeImage(read), encodeImage(image))
    const withHooks = { ...image, renew: ["seed"], rebind: ["/dev/urandom"] }
    assert.deepStrictEqual(decodeImage(encodeImage(withHooks)).rebind, ["/dev/urandom"])
  })

  it("is refused when it is cut anywhere", () => {
    const bytes = encodeImage(booted().image)
    for (const length of [0, 7, 39, 40, 100, 4095, 4096, 70_000, bytes.length - 1]) {
      const error = mismatchOf(() => decodeImage(bytes.subarray(0, length)))
      assert.strictEqual(error.code, "truncated", String(length))
      assert.match(error.place, /^byte \d+$/)
    }
    const longer = new Uint8Array(bytes.length + 1)
    longer.set(bytes)
    assert.strictEqual(mismatchOf(() => decodeImage(longer)).code, "malformed")
  })

  it("is refused when any one bit of it flips", () => {
    const bytes = encodeImage(booted().image)
    const positions = [...Array.from({ length: 240 }, (_, at) => at), 4095, 4096, 9000, 69_632, bytes.length - 1]
    for (const at of positions) {
      const flipped = bytes.slice()
      flipped[at] ^= 1 << at % 8
      assert.match(
        mismatchOf(() => decodeImage(flipped)).code,
        /^(?:corrupt|malformed|version|truncated)$/,
        `byte ${at}`
      )
    }
    const page = bytes.slice()
    page[page.length - 1] ^= 1
    assert.strictEqual(mismatchOf(() => decodeImage(page)).place, "page 0 of memory 1")
  })
})

describe("applyImage", () => {
  it("gives a fresh instance the captured state, bit for bit", () => {
    const { exports, image } = booted()
    const fresh = instantiate(instrument(decoded), refusing)
    applyImage(decoded, fresh, decodeImage(encodeImage(image)))
    assert.isTrue(bytesOf(fresh).equals(bytesOf(exports)))
    assert.deepStrictEqual(observe(fresh), observe(exports))
  })

  it("repairs what else was written: by a start function, and by earlier calls", () => {
    const { exports, image } = booted()
    const used = instantiate(instrument(decoded), host())
    new Uint8Array((used["memory"] as unknown as WebAssembly.Memory).buffer).fill(9, 70_000, 131_072)
    applyImage(decoded, used, image)
    assert.isTrue(bytesOf(used).equals(bytesOf(exports)))
    // Page 1 of this image is in it; of the image of an unbooted instance it is not.
    const born = instantiate(instrument(decoded), host())
    const bornImage = capture(decoded, born, options)
    assert.deepStrictEqual(bornImage.memories[0].delta.map(({ page }) => page), [0])
    const again = instantiate(instrument(decoded), host())
    new Uint8Array((again["memory"] as unknown as WebAssembly.Memory).buffer).fill(9, 70_000, 131_072)
    applyImage(decoded, again, bornImage, { fresh: true })
    assert.isTrue(bytesOf(again).equals(bytesOf(born)))
  })

  it("refuses changed globals and tables that it cannot reach, unless told to take the memory only", async () => {
    const text = (mutable: string, table: string) =>
      `(module (memory (export "m") 1) ${mutable} ${table}
      (func $f) (func $g)
      (func (export "boot") (i32.store (i32.const 0) (i32.const 5)) %))`
    const global = `(global $g (mut i32) (i32.const 1))`
    const slots = `(table $t 2 funcref) (elem (i32.const 0) func $f $g)`
    const cases = [
      ["global", text(global, "").replace("%", "(global.set $g (i32.const 2))")],
      ["table", text("", slots).replace("%", "(table.set $t (i32.const 0) (ref.func $g))")]
    ] as const
    for (const [code, wat] of cases) {
      const bytes = await assemble(wat)
      const m = decodeModule(bytes)
      const source = instantiate(instrument(m))
      source.boot()
      const image = capture(m, source, options)
      const plain = instantiate(bytes)
      const memory = new Uint32Array((plain["m"] as unknown as WebAssembly.Memory).buffer)
      assert.strictEqual(mismatchOf(() => applyImage(m, plain, image)).code, code)
      assert.strictEqual(memory[0], 0, "nothing was written")
      applyImage(m, plain, image, { memoryOnly: true })
      assert.strictEqual(memory[0], 5)
      // What equals the module's birth state needs no access in an instance that has it still, and only there.
      const unchanged = capture(m, instantiate(instrument(m)), options)
      applyImage(m, instantiate(bytes), unchanged, { fresh: true })
      plain.boot()
      assert.strictEqual(mismatchOf(() => applyImage(m, plain, unchanged)).code, code)
    }
  })

  it("leaves a table alone whose functions nobody can name, where it is as it was born", async () => {
    const m = decodeModule(
      await assemble(`(module (memory (export "memory") 1) (table (export "table") 2 funcref)
        (elem (i32.const 0) func $hidden) (func $hidden (result i32) (i32.const 5))
        (func (export "boot") (i32.store (i32.const 0) (i32.const 9)))
        (func (export "call") (result i32) (call_indirect (result i32) (i32.const 0))))`)
    )
    const source = instantiate(instrument(m))
    source.boot()
    const plain = instantiate(new Uint8Array(m.bytes))
    const image = capture(m, source, options)
    // Whether something has run in it cannot be seen, so somebody has to say that nothing has.
    assert.strictEqual(mismatchOf(() => applyImage(m, plain, image)).code, "table")
    applyImage(m, plain, image, { fresh: true })
    assert.strictEqual(plain.call(), 5)
    assert.strictEqual(bytesOf(plain).readUInt32LE(0), 9)
  })

  it("refuses a memory that may not become so large, and one that is larger already", async () => {
    const wat = (max: string) => `(module (memory (export "m") 1 ${max}))`
    const [wide, narrow] = await Promise.all([wat("9"), wat("3")].map(assemble))
    const source = instantiate(wide)
    const memory = source["m"] as unknown as WebAssembly.Memory
    const one = capture(decodeModule(wide), source, options)
    memory.grow(4)
    const five = capture(decodeModule(wide), source, options)
    assert.strictEqual(mismatchOf(() => applyImage(decodeModule(narrow), instantiate(narrow), five)).code, "maximum")
    assert.strictEqual(mismatchOf(() => applyImage(decodeModule(wide), source, one)).code, "larger")
    const stubborn = mismatchOf(() => applyImage(decodeModule(wide), instantiate(wide), five, { grow: () => {} }))
    assert.strictEqual(stubborn.code, "maximum")
    const none = await assemble("(module)")
    assert.strictEqual(mismatchOf(() => applyImage(decodeModule(none), instantiate(none), one)).code, "no-memory")
  })

  it("refuses an image that names what the module does not have", async () => {
    const { image } = booted()
    const other = await assemble(`(module (memory (export "a") 2) (memory (export "b") 1))`)
    assert.strictEqual(mismatchOf(() => applyImage(decodeModule(other), instantiate(other), image)).code, "module")
  })

  it("takes memories that are addressed by 64 bits, grown and baked", async () => {
    const bytes = await assemble(`(module (memory (export "memory") i64 1 9) (data (i64.const 8) "abc")
      (func (export "boot") (drop (memory.grow (i64.const 2))) (i32.store (i64.const 150000) (i32.const 3))))`)
    const m = decodeModule(bytes)
    const source = instantiate(instrument(m))
    source.boot()
    const image = capture(m, source, options)
    const fresh = instantiate(instrument(m))
    applyImage(m, fresh, image)
    assert.isTrue(bytesOf(fresh).equals(bytesOf(source)))
    assert.isTrue(bytesOf(instantiate(bakeModule(m, image))).equals(bytesOf(source)))
  })

  it("compares immutable imports, since addresses depend on them", async () => {
    const bytes = await assemble(`(module (import "env" "base" (global $base i32)) (memory (export "m") 1)
      (data (global.get $base) "placed"))`)
    const m = decodeModule(bytes)
    const at = (base: number) =>
      instantiate(instrument(m), { env: { base: new WebAssembly.Global({ value: "i32" }, base) } })
    const image = capture(m, at(64), options)
    assert.deepStrictEqual(image.memories[0].delta, [])
    applyImage(m, at(64), image)
    const error = mismatchOf(() => applyImage(m, at(128), image))
    assert.deepStrictEqual([error.code, error.place], ["import", `global 0 ("env" "base")`])
  })
})

describe("bakeModule", () => {
  it("gives a module that is born with the state", () => {
    const { exports, image } = booted()
    const baked = bakeModule(decoded, image)
    const born = instantiate(baked, refusing)
    assert.isTrue(bytesOf(born).equals(bytesOf(exports)))
    assert.deepStrictEqual(observe(born), observe(exports))
    assert.deepStrictEqual(checkBaked(decoded, decodeModule(baked), image), [])
    assert.deepStrictEqual(bakedFrom(decodeModule(baked)), {
      module: options.module,
      fingerprint: "test 1",
      renew: [],
      rebind: []
    })
    assert.deepStrictEqual(bakeModule(decoded, image), baked)
  })

  it("gives the same bytes for the same state", () => {
    const [first, second] = [booted(), booted()]
    assert.deepStrictEqual(bakeModule(decoded, first.image), bakeModule(decoded, second.image))
    // Another state, by one byte that is told from outside, is another module.
    new Uint8Array((second.exports["memory"] as unknown as WebAssembly.Memory).buffer)[4096] = 1
    const other = capture(decoded, second.exports, options)
    assert.notDeepEqual(bakeModule(decoded, other), bakeModule(decoded, first.image))
  })

  it("strips the start section only because the image holds its effects: run again they would be there twice", async () => {
    const bytes = await assemble(`(module (memory (export "memory") 1)
      (func $count (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1))))
      (func (export "word") (result i32) (i32.load (i32.const 0)))
      (start $count))`)
    const m = decodeModule(bytes)
    const source = instantiate(instrument(m))
    const image = capture(m, source, options)
    const baked = bakeModule(m, image)
    assert.strictEqual(source.word(), 1)
    assert.strictEqual(instantiate(baked).word(), 1)
    // The control: the same module with its start section put back counts once more.
    const { replaceSections } = await import("../../../src/image/rewrite.ts")
    const { ByteWriter } = await import("../../../src/binary/writer.ts")
    const withStart = replaceSections(decodeModule(baked), new Map([[8, [new ByteWriter().u32(m.start!).finish()]]]))
    assert.strictEqual(instantiate(withStart).word(), 2)
    assert.match(checkBaked(m, decodeModule(withStart), image)[0].place, /start/)
  })

  it("keeps an imported memory, and sets and compares imported globals", async () => {
    const bytes = await assemble(`(module
      (import "env" "memory" (memory 1 8))
      (import "env" "sp" (global $sp (mut i32)))
      (import "env" "base" (global $base i32))
      (func (export "boot") (global.set $sp (i32.const 99)) (i32.store (global.get $base) (i32.const 7))
        (drop (memory.grow (i32.const 1))))
      (func (export "sp") (result i32) (global.get $sp)))`)
    const m = decodeModule(bytes)
    const environment = (base: number, initial: number) => ({
      env: {
        memory: new WebAssembly.Memory({ initial, maximum: 8 }),
        sp: new WebAssembly.Global({ value: "i32", mutable: true }, 1),
        base: new WebAssembly.Global({ value: "i32" }, base)
      }
    })
    const source = instantiate(instrument(m), environment(256, 1))
    source.boot()
    const baked = bakeModule(m, capture(m, source, options))
    const imports = environment(256, 2)
    assert.strictEqual(instantiate(baked, imports).sp(), 99)
    assert.strictEqual(new Uint32Array(imports.env.memory.buffer)[64], 7)
    assert.throws(() => instantiate(baked, environment(512, 2)), WebAssembly.RuntimeError)
  })

  it("refuses a table that has grown, with its place", async () => {
    const m = decodeModule(
      await assemble(`(module (memory 1) (table $t 1 4 funcref)
        (func (export "boot") (drop (table.grow $t (ref.null func) (i32.const 2)))))`)
    )
    const source = instantiate(instrument(m))
    source.boot()
    const image = capture(m, source, options)
    const error = mismatchOf(() => bakeModule(m, image))
    assert.deepStrictEqual([error.code, error.place], ["table", "table 0"])
    const copy = instantiate(instrument(m))
    applyImage(m, copy, image)
    assert.deepStrictEqual(encodeImage(capture(m, copy, options)), encodeImage(image))
  })

  it("is checked: a byte, a global or a slot that differs is named", () => {
    const { image } = booted()
    const other = {
      ...image,
      globals: image.globals.map((global, at) => at === 1 ? { ...global, bits: 1n } : global),
      memories: image.memories.map((memory) => ({
        ...memory,
        delta: memory.delta.map((page) => {
          const bytes = page.bytes?.slice()
          if (page.page === 3) bytes![9] ^= 1
          return { ...page, bytes }
        })
      })),
      tables: image.tables.map((table) => ({ ...table, slots: [3, -1, -1, -1, 1, -1] }))
    }
    assert.deepStrictEqual(
      checkBaked(decoded, decodeModule(bakeModule(decoded, other)), image).map(({ place }) => place),
      ["page 3 of memory 0", "global 1", "table 0"]
    )
  })
})
