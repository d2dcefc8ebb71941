/**
 * Every feature of WebAssembly through decoder and emitter: the fixtures of `test/fixtures/wat`.
 */
import { assert, describe, it } from "@effect/vitest"
import { emitModule, type ModuleEdits } from "../../../src/binary/emit.ts"
import { decodeModule, type WasmModule } from "../../../src/binary/module.ts"
import { otherRows } from "../../../src/binary/opcode-table.ts"
import { knownOpcodes, mnemonic, numericShape } from "../../../src/binary/opcodes.ts"
import { checkRoundTrip, walkFunction } from "../../../src/binary/round-trip.ts"
import { ByteWriter } from "../../../src/binary/writer.ts"
import { assembleFixture, type FixtureRecord } from "../../fixtures/wat/assemble.ts"
import { fixtureNames } from "../../fixtures/wat/files.ts"
import manifest from "../../fixtures/wat/manifest.json" with { type: "json" }
import { decodeOnly, expectations, fixtures, imports, observe, runnable } from "./fixtures.ts"

/** One of everything, used by one function: it puts its argument through the memory and adds the global. */
const additions = (m: WasmModule): ModuleEdits => {
  const memory = m.memories.length
  const code = new ByteWriter().u32(0)
  code.opcode(0x41).s32(8).opcode(0x20).u32(0).opcode(0x36).memarg(2, 0, memory)
  code.opcode(0x41).s32(8).opcode(0x28).memarg(2, 0, memory)
  code.opcode(0x23).u32(m.globals.length).opcode(0x6a).opcode(0x0b)
  return {
    types: [{ params: ["i32"], results: ["i32"] }],
    tables: [{ min: 2, max: 2, type: "funcref" }],
    memories: [{ min: 1, max: 1, shared: true, is64: false }],
    globals: [{ valueType: "i32", mutable: true, init: 5 }],
    functions: [{ typeIndex: m.types.length, body: code.finish() }],
    exports: [
      { name: "added.probe", kind: "function", index: m.functions.length },
      { name: "added.table", kind: "table", index: m.tables.length },
      { name: "added.memory", kind: "memory", index: memory },
      { name: "added.global", kind: "global", index: m.globals.length }
    ]
  }
}

const sectionBytes = (m: WasmModule, id: number): Uint8Array | undefined => {
  const section = m.sections.find((candidate) => candidate.id === id)
  return section === undefined ? undefined : m.bytes.subarray(section.headerStart, section.end)
}

describe("fixtures", () => {
  it("are what the manifest says, and what the tools make of their text", async () => {
    const made: Record<string, FixtureRecord> = {}
    for (const name of fixtureNames()) {
      const { bytes, record } = await assembleFixture(name)
      made[name] = record
      assert.deepStrictEqual(fixtures.find((fixture) => fixture.name === name)?.bytes, bytes, name)
    }
    assert.deepStrictEqual(made, manifest)
  })

  it("hold every instruction that is not purely numeric", () => {
    const seen = new Set<number>()
    for (const { bytes } of fixtures) {
      const m = decodeModule(bytes)
      for (let i = m.importedFunctions; i < m.functions.length; i++) {
        walkFunction(m, i, (reader) => seen.add(reader.opcode))
      }
    }
    const names = new Set(otherRows.flatMap(([, list]) => list.split(" ")))
    // No tool at hand writes these; `instruction.test.ts` decodes them by their bytes.
    for (const absent of ["memory.discard", "i64.add128", "i64.sub128", "i64.mul_wide_s", "i64.mul_wide_u"]) {
      names.delete(absent)
    }
    const wanted = knownOpcodes().filter((opcode) => {
      const name = mnemonic(opcode)
      return names.has(name) || name.includes(".atomic.rmw")
    })
    assert.isAbove(wanted.length, 150)
    assert.deepStrictEqual(wanted.filter((opcode) => !seen.has(opcode)).map(mnemonic), [])
    assert.isAbove([...seen].filter((opcode) => numericShape(opcode) !== undefined).length, 50)
  })

  for (const { bytes, name } of fixtures) {
    it(`${name}: decodes and round-trips byte for byte`, () => {
      const { functions, identical, instructions } = checkRoundTrip(bytes)
      assert.isTrue(identical)
      assert.isAtLeast(instructions, functions)
    })

    it(`${name}: takes additions and keeps everything else`, () => {
      const m = decodeModule(bytes)
      const edited = decodeModule(emitModule(m, additions(m)))
      assert.isTrue(checkRoundTrip(edited.bytes).identical)
      for (const space of ["types", "functions", "tables", "memories", "globals"] as const) {
        assert.strictEqual(edited[space].length, m[space].length + 1, space)
      }
      assert.deepStrictEqual(edited.imports, m.imports)
      assert.deepStrictEqual(edited.exports.slice(0, m.exports.length), m.exports)
      assert.deepStrictEqual(edited.functionNames, m.functionNames)
      for (const [index, entry] of m.functions.entries()) {
        if (entry.body === undefined) continue
        const now = edited.functions[index]?.body
        assert.isDefined(now)
        assert.deepStrictEqual(
          edited.bytes.subarray(now?.sizeStart, now?.end),
          bytes.subarray(entry.body.sizeStart, entry.body.end)
        )
      }
      const touched = new Set(["type", "function", "table", "memory", "global", "export", "code"])
      for (const { id, name: section } of m.sections.filter((candidate) => !touched.has(candidate.name))) {
        if (id !== 0) assert.deepStrictEqual(sectionBytes(edited, id), sectionBytes(m, id), section)
      }
      const customs = (of: WasmModule) =>
        of.sections.filter(({ id }) => id === 0).map(({ end, headerStart }) => of.bytes.slice(headerStart, end))
      assert.deepStrictEqual(customs(edited), customs(m))
    })
  }

  for (const { bytes, name } of runnable) {
    it(`${name}: does the same with additions, which work`, () => {
      const m = decodeModule(bytes)
      assert.isAbove(expectations(name).length + (name === "empty" ? 1 : 0), 0)
      const before = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports())
      assert.deepStrictEqual(observe(name, before.exports), expectations(name))

      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(emitModule(m, additions(m))), imports())
      assert.deepStrictEqual(observe(name, exports), expectations(name))
      assert.deepStrictEqual(
        Object.keys(exports).filter((key) => !key.startsWith("added.")),
        Object.keys(before.exports)
      )
      const probe = exports["added.probe"] as (x: number) => number
      const memory = exports["added.memory"] as WebAssembly.Memory
      assert.strictEqual(probe(37), 42)
      assert.instanceOf(memory.buffer, SharedArrayBuffer)
      assert.strictEqual(new Int32Array(memory.buffer)[2], 37)
      assert.strictEqual((exports["added.table"] as WebAssembly.Table).length, 2)
      ;(exports["added.global"] as WebAssembly.Global).value = 6
      assert.strictEqual(probe(1), 7)
    })
  }

  it("are refused by the engine where they are said to be", () => {
    for (const { bytes, name } of fixtures) assert.strictEqual(WebAssembly.validate(bytes), !decodeOnly.has(name), name)
  })
})
