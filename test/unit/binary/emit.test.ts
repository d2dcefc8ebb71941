/**
 * Where the emitter puts things: order of sections, custom sections, counts and replacements. Modules are assembled by
 * hand, so that their bytes can be as unusual as the format allows.
 */
import { assert, describe, it } from "@effect/vitest"
import { emitModule, type ModuleEdits } from "../../../src/binary/emit.ts"
import { decodeModule } from "../../../src/binary/module.ts"
import { sectionOrder } from "../../../src/binary/sections.ts"
import { ByteWriter } from "../../../src/binary/writer.ts"
import { fixtureBytes } from "../../fixtures/wat/files.ts"

const header = (): ByteWriter => new ByteWriter().fixed32(0x6d736100).fixed32(1)

const custom = (name: string, ...data: number[]): ByteWriter => new ByteWriter().name(name).bytes(new Uint8Array(data))

/** A body without locals: code and `end`. */
const body = (...code: number[]): Uint8Array => new Uint8Array([0, ...code, 0x0b])

const layout = (bytes: Uint8Array): ReadonlyArray<string> => decodeModule(bytes).sections.map(({ name }) => name)

const emptyType = { params: [], results: [] }

const everything: ModuleEdits = {
  types: [emptyType],
  functions: [{ typeIndex: 0, body: body() }],
  tables: [{ min: 1, max: undefined, type: "externref" }],
  memories: [{ min: 1, max: undefined, shared: false, is64: false }],
  globals: [{ valueType: "i64", mutable: false, init: -7n }],
  exports: [{ name: "g", kind: "global", index: 0 }]
}

/** Export number `i` of an instance, as a function. */
const run = (bytes: Uint8Array<ArrayBuffer>, name: string): unknown => {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes))
  return (exports[name] as () => unknown)()
}

describe("new sections", () => {
  it("appear in an empty module in their order", () => {
    const bytes = emitModule(decodeModule(header().finish()), everything)
    assert.deepStrictEqual(layout(bytes), ["type", "function", "table", "memory", "global", "export", "code"])
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes))
    assert.strictEqual((exports["g"] as WebAssembly.Global).value, -7n)
  })

  it("come between the sections that must surround them", () => {
    // Every section but those added, the tag and data count sections among them.
    const bytes = header()
      .section(0, custom("dylink.0", 1, 2))
      .section(1, new ByteWriter().u32(1).u8(0x60).u32(0).u32(0))
      .section(2, new ByteWriter().u32(1).name("m").name("f").u8(0).u32(0))
      .section(0, custom("after imports"))
      .section(13, new ByteWriter().u32(1).u8(0).u32(0))
      .section(8, new ByteWriter().u32(0))
      .section(9, new ByteWriter().u32(1).u8(3).u8(0).u32(1).u32(0))
      .section(12, new ByteWriter().u32(1))
      .section(0, custom("before data", 9))
      .section(11, new ByteWriter().u32(1).u8(1).u32(1).u8(65))
      .section(0, custom("name"))
      .finish()
    const emitted = emitModule(decodeModule(bytes), everything)
    assert.isTrue(WebAssembly.validate(emitted))
    assert.deepStrictEqual(layout(emitted), [
      "dylink.0",
      "type",
      "import",
      "function",
      "table",
      "memory",
      "after imports",
      "tag",
      "global",
      "export",
      "start",
      "element",
      "dataCount",
      "code",
      "before data",
      "data",
      "name"
    ])
  })

  it("stay in front of what only custom sections surround", () => {
    const bytes = header().section(0, custom("dylink.0")).section(5, new ByteWriter().u32(1).u8(0).u32(1))
      .section(0, custom("name")).finish()
    const emitted = emitModule(decodeModule(bytes), { ...everything, memories: [] })
    assert.isTrue(WebAssembly.validate(emitted))
    assert.deepStrictEqual(
      layout(emitted),
      ["dylink.0", "type", "function", "table", "memory", "global", "export", "code", "name"]
    )
  })

  it("are valid before, behind and between any one section", () => {
    const sections = new Map<number, ByteWriter>([
      [1, new ByteWriter().u32(1).u8(0x60).u32(0).u32(0)],
      [4, new ByteWriter().u32(1).u8(0x70).u8(0).u32(1)],
      [5, new ByteWriter().u32(1).u8(0).u32(1)],
      [6, new ByteWriter().u32(1).u8(0x7f).u8(0).u8(0x41).u32(0).u8(0x0b)],
      [7, new ByteWriter().u32(0)],
      [9, new ByteWriter().u32(0)],
      [11, new ByteWriter().u32(0)],
      [12, new ByteWriter().u32(0)],
      [13, new ByteWriter().u32(0)]
    ])
    assert.isTrue([...sections.keys()].every((id) => sectionOrder.includes(id)))
    for (const [id, content] of sections) {
      const bytes = header().section(id, content).finish()
      assert.isTrue(WebAssembly.validate(bytes), `section ${id}`)
      assert.isTrue(WebAssembly.validate(emitModule(decodeModule(bytes), everything)), `section ${id}`)
    }
  })
})

describe("existing sections", () => {
  /** One function, with sizes, counts and indices in five bytes, as linkers write them for relocation. */
  const wide = (value: number): number[] => [value | 0x80, 0x80, 0x80, 0x80, 0x00]
  const padded = header()
    .u8(1).bytes(new Uint8Array(wide(9))).bytes(new Uint8Array([...wide(1), 0x60, 0, 1, 0x7f]))
    .u8(3).bytes(new Uint8Array(wide(10))).bytes(new Uint8Array([...wide(1), ...wide(0)]))
    .u8(7).u32(9).bytes(new Uint8Array([1, 1, 0x66, 0, ...wide(0)]))
    .u8(0).bytes(new Uint8Array(wide(3))).name("x").u8(7)
    .u8(10).u32(18).bytes(new Uint8Array([...wide(1), ...wide(8), 0, 0x41, ...wide(42).slice(0, 4), 0x00, 0x0b]))
    .finish()

  it("keep unusual encodings where nothing is added", () => {
    assert.isTrue(WebAssembly.validate(padded))
    const m = decodeModule(padded)
    assert.deepStrictEqual(emitModule(m, {}), padded)
    const emitted = emitModule(m, { globals: [{ valueType: "f64", mutable: true, init: 2.5 }] })
    const { end } = m.sections[1]
    assert.deepStrictEqual(emitted.subarray(0, end), padded.subarray(0, end))
    assert.deepStrictEqual(emitted.subarray(emitted.length - (padded.length - end)), padded.subarray(end))
    assert.strictEqual(run(emitted, "f"), 42)
  })

  it("keep unusual encodings of entries beside added ones", () => {
    const m = decodeModule(padded)
    const emitted = decodeModule(emitModule(m, {
      types: [emptyType],
      functions: [{ typeIndex: 1, body: body() }],
      exports: [{ name: "added", kind: "function", index: 1 }]
    }))
    assert.deepStrictEqual(emitted.types.length, 2)
    const [old, added] = emitted.functions
    assert.deepStrictEqual(
      emitted.bytes.subarray(old.body?.sizeStart, old.body?.end),
      padded.subarray(m.functions[0].body?.sizeStart, m.functions[0].body?.end)
    )
    assert.deepStrictEqual(emitted.bytes.subarray(added.body?.start, added.body?.end), body())
    assert.strictEqual(run(emitModule(emitted, {}), "f"), 42)
    assert.isUndefined(run(emitModule(emitted, {}), "added"))
  })

  it("keep an unusual count where an entry is replaced", () => {
    const m = decodeModule(padded)
    const emitted = emitModule(m, { bodies: new Map([[0, body(0x41, 7)]]) })
    const code = decodeModule(emitted).sections.at(-1)
    assert.deepStrictEqual([...emitted.subarray(code?.start, code?.end)], [...wide(1), 4, ...body(0x41, 7)])
    assert.strictEqual(run(emitted, "f"), 7)
  })

  it("count recursion groups, not types", () => {
    const m = decodeModule(fixtureBytes("gc"))
    const emitted = decodeModule(emitModule(m, { types: [{ params: ["i32", "v128"], results: ["f64", "i64"] }] }))
    assert.strictEqual(emitted.types.length, m.types.length + 1)
    assert.deepStrictEqual(emitted.types.at(-1), { params: ["i32", "v128"], results: ["f64", "i64"] })
    assert.isTrue(WebAssembly.validate(emitModule(emitted, {})))
  })

  it("take new bodies, the others byte for byte", () => {
    const m = decodeModule(fixtureBytes("mvp"))
    const index = m.exports.find(({ name }) => name === "started")?.index ?? -1
    const longer = body(...new Array<number>(200).fill(0x01), 0x41, 0x01)
    for (const replacement of [body(0x41, 0x09), longer]) {
      const emitted = decodeModule(emitModule(m, {
        bodies: new Map([[index, replacement]]),
        functions: [{ typeIndex: 0, body: body(0x41, 3) }]
      }))
      assert.isTrue(WebAssembly.validate(emitModule(emitted, {})))
      for (const [i, entry] of m.functions.entries()) {
        if (entry.body === undefined) continue
        const now = emitted.functions[i].body
        const bytes = emitted.bytes.subarray(now?.start, now?.end)
        assert.deepStrictEqual(bytes, i === index ? replacement : m.bytes.subarray(entry.body.start, entry.body.end))
      }
    }
  })

  it("take several bodies in any order", () => {
    const m = decodeModule(fixtureBytes("tail-calls"))
    const names = m.exports.map(({ index, name }) => [name, index] as const)
    assert.strictEqual(names.length, 2)
    const bodies = new Map(
      names.map(([, index], i) => [index, body(0x41, i + 1)]).toReversed() as [number, Uint8Array][]
    )
    const emitted = emitModule(m, { bodies })
    assert.deepStrictEqual(names.map(([name]) => run(emitted, name)), [1, 2])
  })
})

describe("memory limits", () => {
  it("of a defined memory: owned becomes shared", () => {
    const m = decodeModule(fixtureBytes("simd"))
    const emitted = emitModule(m, {
      memoryLimits: new Map([[0, { min: 1, max: 70_000, shared: true, is64: false }]]),
      exports: [{ name: "memory!", kind: "memory", index: 0 }]
    })
    assert.deepInclude(decodeModule(emitted).memories[0], { min: 1, max: 70_000, shared: true })
    // The engine's bound is 65,536 pages: it reads what was written.
    assert.isFalse(WebAssembly.validate(emitted))
    const shared = emitModule(m, {
      memoryLimits: new Map([[0, { min: 1, max: 1, shared: true, is64: false }]]),
      exports: [{ name: "memory!", kind: "memory", index: 0 }]
    })
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(shared))
    assert.instanceOf((exports["memory!"] as WebAssembly.Memory).buffer, SharedArrayBuffer)
  })

  it("of an imported memory, with another one defined beside it", () => {
    const m = decodeModule(fixtureBytes("mvp"))
    const emitted = emitModule(m, {
      memoryLimits: new Map([[0, { min: 2, max: 300, shared: true, is64: false }]]),
      memories: [{ min: 1, max: 1, shared: true, is64: false }]
    })
    assert.isTrue(WebAssembly.validate(emitted))
    const [imported, defined] = decodeModule(emitted).memories
    assert.deepInclude(imported, { min: 2, max: 300, shared: true })
    assert.strictEqual(imported.import?.name, "memory")
    assert.deepInclude(defined, { min: 1, max: 1, shared: true, import: undefined })
  })

  it("of one among several defined memories, 64 bits and page sizes included", () => {
    const m = decodeModule(fixtureBytes("memories"))
    const limits = { min: 4, max: 2 ** 40, shared: false, is64: true }
    const emitted = decodeModule(emitModule(m, { memoryLimits: new Map([[1, limits]]) }))
    assert.deepInclude(emitted.memories[1], limits)
    assert.deepInclude(emitted.memories[0], { min: 1, max: undefined })
    assert.deepInclude(emitted.memories[2], { min: 3, max: 3, shared: true })
    const bytes = decodeModule(fixtureBytes("custom-page-sizes"))
    const pages = { min: 5, max: 9, shared: false, is64: false, pageSizeLog2: 0 }
    assert.deepInclude(bytes.memories[0], { min: 100, max: 200, pageSizeLog2: 0 })
    assert.deepInclude(decodeModule(emitModule(bytes, { memoryLimits: new Map([[0, pages]]) })).memories[0], pages)
  })
})

describe("other edits", () => {
  it("custom sections come last and are readable", () => {
    const bytes = emitModule(decodeModule(fixtureBytes("names")), {
      customs: [{ name: "é", data: new Uint8Array([1, 2]) }, { name: "empty", data: new Uint8Array(0) }]
    })
    assert.deepStrictEqual(layout(bytes).slice(-2), ["é", "empty"])
    const [section] = WebAssembly.Module.customSections(new WebAssembly.Module(bytes), "é")
    assert.deepStrictEqual(new Uint8Array(section), new Uint8Array([1, 2]))
  })

  it("globals of every number type have their value", () => {
    const values = [["i32", -5], ["i64", -(2n ** 63n)], ["f32", 0.5], ["f64", -1e-320]] as const
    const bytes = emitModule(decodeModule(header().finish()), {
      globals: values.map(([valueType, init]) => ({ valueType, mutable: true, init })),
      exports: values.map(([valueType], index) => ({ name: valueType, kind: "global", index }))
    })
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes))
    for (const [type, value] of values) assert.strictEqual((exports[type] as WebAssembly.Global).value, value)
  })

  it("of what does not exist are refused", () => {
    const m = decodeModule(fixtureBytes("mvp"))
    const limits = { min: 1, max: 1, shared: false, is64: false }
    assert.throws(() => emitModule(m, { bodies: new Map([[0, body()]]) }), RangeError)
    assert.throws(() => emitModule(m, { bodies: new Map([[99, body()]]) }), RangeError)
    assert.throws(() => emitModule(m, { memoryLimits: new Map([[1, limits]]) }), RangeError)
    assert.throws(() => emitModule(m, { types: [{ params: ["ref"], results: [] }] }), RangeError)
  })
})
