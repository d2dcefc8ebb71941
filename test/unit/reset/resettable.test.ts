/**
 * The transformed module: valid wherever the original is, the same to its caller, and refused in words.
 */
import { assert, describe, it } from "vitest"
import { decodeModule } from "../../../src/binary/module.ts"
import { hasPageFunctions } from "../../../src/reset/pages.ts"
import { resettable } from "../../../src/reset/resettable.ts"
import { writeOperands } from "../../../src/reset/writes.ts"
import { assemble } from "../../support/wat.ts"
import { imports, observe, runnable } from "../binary/fixtures.ts"

const transformed = (bytes: Uint8Array, storeMap: boolean): Uint8Array<ArrayBuffer> => {
  const prepared = resettable(bytes, { storeMap })
  if (prepared._tag === "refused") throw new Error(`${prepared.code}: ${prepared.detail}`)
  return prepared.bytes
}

describe("a resettable module", () => {
  for (const storeMap of [false, true]) {
    for (const { bytes, name } of runnable) {
      it(`${name}, ${storeMap ? "with" : "without"} a store map, is valid and does the same, or is refused`, () => {
        const prepared = resettable(bytes, { storeMap })
        if (prepared._tag === "refused") {
          assert.include(["collected-heap", "shared-memory", "address-space"], prepared.code)
          return
        }
        decodeModule(prepared.bytes)
        const original = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports())
        const changed = new WebAssembly.Instance(new WebAssembly.Module(prepared.bytes), imports())
        assert.deepStrictEqual(observe(name, changed.exports), observe(name, original.exports))
        assert.deepStrictEqual(
          Object.keys(changed.exports).filter((key) => !key.startsWith("\u0000")),
          Object.keys(original.exports)
        )
      })
    }
  }

  it("is refused with a reason where a reset could not reach everything", async () => {
    const refused = async (text: string): Promise<string> => {
      const prepared = resettable(await assemble(text), { storeMap: false })
      return prepared._tag === "refused" ? `${prepared.code}: ${prepared.detail}` : "not refused"
    }
    assert.strictEqual(await refused(`(module (memory 1 1 shared))`), "shared-memory: memory 0 is shared")
    assert.strictEqual(
      await refused(`(module (memory i64 1))`),
      "address-space: memory 0 is addressed by 64 bits"
    )
    const once = transformed(await assemble(`(module (memory 1))`), false)
    const twice = resettable(once, { storeMap: false })
    assert.strictEqual(twice._tag === "refused" && twice.code, "hidden-names")
  })

  it("leaves functions without stores byte for byte", async () => {
    const bytes = await assemble(`(module (memory 1)
      (func (export "read") (param i32) (result i32) (i32.load (local.get 0)))
      (func (export "write") (param i32) (i32.store (local.get 0) (i32.const 1))))`)
    const [before, after] = [decodeModule(bytes), decodeModule(transformed(bytes, true))]
    const body = (m: typeof before, index: number): string => {
      const { end, start } = m.functions[index].body!
      return Buffer.from(m.bytes.subarray(start, end)).toString("hex")
    }
    assert.strictEqual(body(after, 0), body(before, 0))
    assert.notStrictEqual(body(after, 1), body(before, 1))
  })

  it("knows what each kind of store takes from the stack", () => {
    assert.deepStrictEqual(writeOperands(0x37), ["i64"])
    assert.deepStrictEqual(writeOperands(0xfd00b), ["v128"])
    assert.deepStrictEqual(writeOperands(0xfd058), ["v128"])
    assert.deepStrictEqual(writeOperands(0xfe017), ["i32"])
    assert.deepStrictEqual(writeOperands(0xfe01f), ["i64"])
    assert.deepStrictEqual(writeOperands(0xfe048), ["i32", "i32"])
    assert.isUndefined(writeOperands(0x28))
    assert.isUndefined(writeOperands(0xfd054))
    assert.isUndefined(writeOperands(0xfe010))
    assert.isUndefined(writeOperands(0xfe000))
  })

  it("finds an engine here that takes several memories", () => {
    assert.isTrue(hasPageFunctions())
  })
})
