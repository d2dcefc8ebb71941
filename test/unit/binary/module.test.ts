/**
 * What the decoder says of a module.
 */
import { assert, describe, it } from "@effect/vitest"
import { decodeModule, localTypes, maximumLocals, ModuleFormatError } from "../../../src/binary/module.ts"
import { mnemonic } from "../../../src/binary/opcodes.ts"
import { walkFunction } from "../../../src/binary/round-trip.ts"
import { ByteWriter } from "../../../src/binary/writer.ts"
import { fixtureBytes } from "../../fixtures/wat/files.ts"
import { runnable } from "./fixtures.ts"

const header = (): ByteWriter => new ByteWriter().fixed32(0x6d736100).fixed32(1)

/** A module of one function of no parameters. */
const moduleOf = (body: ByteWriter): Uint8Array =>
  header()
    .section(1, new ByteWriter().u32(1).u8(0x60).u32(0).u32(0))
    .section(3, new ByteWriter().u32(1).u32(0))
    .section(10, new ByteWriter().u32(1).u32(body.length).append(body))
    .finish()

describe("decodeModule", () => {
  it("lists what a module declares", () => {
    const m = decodeModule(fixtureBytes("mvp"))
    assert.deepStrictEqual(m.types.at(0), { params: ["i32", "i32"], results: ["i32"] })
    assert.deepStrictEqual(m.imports.map(({ kind, module, name }) => [module, name, kind]), [
      ["host", "add", "function"],
      ["host", "memory", "memory"],
      ["host", "table", "table"],
      ["host", "base", "global"]
    ])
    assert.strictEqual(m.importedFunctions, 1)
    assert.strictEqual(m.functions[0].import?.name, "add")
    assert.isUndefined(m.functions[0].body)
    assert.deepInclude(m.memories[0], { min: 1, max: 4, shared: false, is64: false })
    assert.deepInclude(m.tables[0], { min: 8, max: undefined, elementType: -16 })
    const { globals } = m
    assert.deepStrictEqual(
      globals.map(({ init, mutable, valueType }) => [valueType, mutable, init?.i32 ?? init?.i64 ?? init?.globalIndex]),
      [
        ["i32", false, undefined],
        ["i32", true, 0],
        ["i32", false, 0],
        ["f32", true, 0x3fc0_0000],
        ["f64", false, -0x7fe8_0000_0000_0000n],
        ["i64", true, -81985529216486896n]
      ]
    )
    assert.strictEqual(globals[2].init?.opcode, 0x23)
    assert.strictEqual(m.functionNames.get(m.start ?? -1), "start")
    assert.strictEqual(m.elementCount, 1)
    assert.deepInclude(m.elementSegments[0], { mode: "active", tableIndex: 0, count: 2, expressions: false })
    assert.strictEqual(m.elementSegments[0].offset?.i32, 1)
    assert.deepInclude(m.dataSegments[0], { mode: "active", memoryIndex: 0 })
    assert.deepStrictEqual([...m.bytes.subarray(m.dataSegments[0].start, m.dataSegments[0].end)], [13, 61, 43, 26])
    assert.isUndefined(m.dataCount)
  })

  it("agrees with the engine about imports and exports", () => {
    for (const { bytes, name } of runnable) {
      const m = decodeModule(bytes)
      const module = new WebAssembly.Module(bytes)
      const pick = ({ kind, name }: { kind: string; name: string }) => ({ kind, name })
      assert.deepStrictEqual(m.exports.map(pick), WebAssembly.Module.exports(module).map(pick), name)
      assert.deepStrictEqual(m.imports.map(pick), WebAssembly.Module.imports(module).map(pick), name)
    }
  })

  it("reads every kind of segment", () => {
    const m = decodeModule(fixtureBytes("segments"))
    assert.deepStrictEqual(
      m.elementSegments.map(({ count, expressions, mode, tableIndex }) => [
        mode,
        tableIndex,
        expressions,
        count
      ]),
      [
        ["active", 0, false, 1],
        ["passive", undefined, false, 1],
        ["active", 1, false, 1],
        ["declarative", undefined, false, 1],
        ["active", 0, true, 2],
        ["passive", undefined, true, 2],
        ["active", 1, true, 2],
        ["declarative", undefined, true, 2]
      ]
    )
    assert.deepStrictEqual(m.dataSegments.map(({ end, mode, start }) => [mode, end - start]), [
      ["active", 2],
      ["passive", 2],
      ["active", 0]
    ])
    assert.strictEqual(m.dataCount, 3)
    const memories = decodeModule(fixtureBytes("memories"))
    assert.strictEqual(memories.dataSegments[0].memoryIndex, 1)
  })

  it("numbers types through recursion groups, functions among them", () => {
    const m = decodeModule(fixtureBytes("gc"))
    for (const { import: imported, typeIndex } of m.functions) {
      assert.isUndefined(imported)
      assert.isDefined(m.types[typeIndex])
    }
    assert.isAtLeast(m.types.filter((type) => type === undefined).length, 6)
    assert.isTrue(m.globals.every(({ valueType }) => valueType === "ref"))
  })

  it("reads 64-bit and shared limits, tags and references", () => {
    const memory64 = decodeModule(fixtureBytes("memory64"))
    assert.deepInclude(memory64.memories[0], { min: 1, max: 0x1000, is64: true, shared: false })
    assert.deepInclude(memory64.tables[0], { min: 4, is64: true })
    assert.deepInclude(decodeModule(fixtureBytes("threads")).memories[0], { min: 1, max: 4, shared: true })
    const { tags } = decodeModule(fixtureBytes("exceptions"))
    assert.deepStrictEqual(tags.map((tag) => tag.import?.name), ["tag", undefined])
    const references = decodeModule(fixtureBytes("reference-types"))
    assert.deepStrictEqual(references.tables.map(({ elementType }) => elementType), [-16, -17])
    assert.deepStrictEqual(references.globals.map(({ valueType }) => valueType), ["ref", "ref", "ref"])
  })

  it("describes a constant of one instruction only", () => {
    const { dataSegments, globals } = decodeModule(fixtureBytes("extended-const"))
    assert.deepStrictEqual(globals.map(({ init }) => init?.opcode), [undefined, undefined, undefined])
    assert.isUndefined(globals[1].init?.globalIndex)
    assert.isUndefined(dataSegments[0].offset?.opcode)
  })

  it("reads names, and as many as it can of a broken name section", () => {
    const m = decodeModule(fixtureBytes("names"))
    assert.deepStrictEqual([...m.functionNames.values()], ["first", "second", "a.name:with+other/characters"])
    const names = new ByteWriter().name("name").u8(0).u32(2).name("m")
    const functions = new ByteWriter().u32(3).u32(0).name("zero").u32(1).u32(99)
    const broken = header().section(0, names.u8(1).u32(functions.length).append(functions)).finish()
    assert.deepStrictEqual([...decodeModule(broken).functionNames], [[0, "zero"]])
    assert.strictEqual(decodeModule(header().finish()).functionNames.size, 0)
  })

  it("refuses what is not a core module, with the place", () => {
    const refused = (bytes: Uint8Array, offset: number, reason: RegExp): void => {
      try {
        decodeModule(bytes)
        assert.fail(`not refused: ${reason}`)
      } catch (error) {
        assert.instanceOf(error, ModuleFormatError)
        assert.match(error.reason, reason)
        assert.strictEqual(error.offset, offset)
        assert.include(error.message, `at offset ${offset}`)
      }
    }
    refused(new Uint8Array(0), 0, /expected/)
    refused(new TextEncoder().encode("not wasm"), 0, /not a WebAssembly module/)
    // A component: version 13 of layer 1.
    refused(new Uint8Array([0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]), 4, /version 1/)
    refused(header().section(14, new Uint8Array(0)).finish(), 8, /unknown section 14/)
    const memory = new ByteWriter().u32(0)
    refused(header().section(5, memory).section(5, memory).finish(), 11, /out of order/)
    refused(header().section(6, memory).section(13, memory).finish(), 11, /out of order/)
    refused(header().section(5, new ByteWriter().u32(0).u8(0)).finish(), 11, /left over in the memory section/)
    refused(header().section(3, new ByteWriter().u32(1).u32(0)).finish(), 12, /1 functions with 0 bodies/)
    refused(header().section(1, new ByteWriter().u32(1).u8(0x5d).u8(0)).finish(), 11, /unknown type constructor/)
  })
})

describe("localTypes", () => {
  it("gives parameters, then locals, and where the code starts", () => {
    const m = decodeModule(fixtureBytes("gc"))
    const index = m.exports.find(({ name }) => name === "list")?.index ?? -1
    assert.deepStrictEqual(localTypes(m, index).types.toSorted(), ["i32", "ref"])
    const mvp = decodeModule(fixtureBytes("mvp"))
    const classify = Array.from(mvp.functionNames).find(([, name]) => name === "case")?.[0] ?? -1
    const { codeStart, types } = localTypes(mvp, classify)
    assert.deepStrictEqual(types, ["i32"])
    assert.strictEqual(mnemonic(mvp.bytes[codeStart]), "block")
  })

  it("refuses an imported function and more locals than any engine takes", () => {
    assert.throws(() => localTypes(decodeModule(fixtureBytes("mvp")), 0), ModuleFormatError)
    const locals = (count: number): ByteWriter => new ByteWriter().u32(2).u32(1).u8(0x7e).u32(count).u8(0x7f).u8(0x0b)
    const most = moduleOf(locals(maximumLocals - 1))
    assert.isTrue(WebAssembly.validate(most as BufferSource))
    assert.strictEqual(localTypes(decodeModule(most), 0).types.length, maximumLocals)
    for (const count of [maximumLocals, 0xffff_ffff]) {
      const module = moduleOf(locals(count))
      assert.isFalse(WebAssembly.validate(module as BufferSource))
      assert.throws(() => localTypes(decodeModule(module), 0), ModuleFormatError)
    }
  })
})

describe("walkFunction", () => {
  it("wants constructs to nest and the code to end with its body", () => {
    const walk = (...code: number[]): number => {
      const body = new ByteWriter().u32(0).bytes(new Uint8Array(code))
      return walkFunction(decodeModule(moduleOf(body)), 0)
    }
    assert.strictEqual(walk(0x0b), 1)
    assert.strictEqual(walk(0x02, 0x40, 0x03, 0x40, 0x0b, 0x0b, 0x0b), 5)
    // try … delegate closes with delegate.
    assert.strictEqual(walk(0x06, 0x40, 0x18, 0x00, 0x0b), 3)
    assert.throws(() => walk(0x01), ModuleFormatError)
    assert.throws(() => walk(0x02, 0x40, 0x0b), ModuleFormatError)
    assert.throws(() => walk(0x0b, 0x0b), ModuleFormatError)
  })
})
