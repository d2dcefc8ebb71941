import { assert, describe, it } from "@effect/vitest"
import {
  type Difference,
  differences,
  type Ending,
  nativeInstance,
  withStateExported
} from "../../../programs/commands/verify.ts"
import { decodeModule } from "../../../src/binary/module.ts"
import { assemble } from "../../support/wat.ts"

// Nothing of its state is exported, and a memory is imported.
const source = await assemble(`(module
  (import "env" "memory" (memory 1 3))
  (global $count (mut i64) (i64.const 0))
  (global $vector (mut v128) (v128.const i64x2 0 0))
  (global $kept externref (ref.null extern))
  (func (export "put") (param $at i32) (param $bits f64) (result f64)
    (global.set $count (i64.add (global.get $count) (i64.const 1)))
    (f64.store (local.get $at) (local.get $bits))
    (local.get $bits))
  (func (export "vector") (global.set $vector (i64x2.splat (i64.const -1))))
  (func (export "grow") (result i32) (memory.grow (i32.const 1)))
  (func (export "divide") (param i32) (result i32) (i32.div_u (i32.const 1) (local.get 0))))`)
const decoded = decodeModule(source)
const bytes = withStateExported(decoded)

const typeOf = (entry: string) => {
  const { index } = decoded.exports.find(({ name }) => name === entry)!
  return decoded.types[decoded.functions[index].typeIndex]!
}

/** What is different after one side was called as given and the other one likewise. */
const compare = async (
  entry: string,
  native: ReadonlyArray<bigint>,
  folio: ReadonlyArray<bigint>,
  also?: string
): Promise<ReadonlyArray<Difference>> => {
  const type = typeOf(entry)
  const sides: Array<{ exports: WebAssembly.Exports; ending: Ending }> = []
  for (const [side, args] of [native, folio].entries()) {
    const { call, exports } = await nativeInstance(decoded, bytes)
    if (also !== undefined && side === 1) call(also, typeOf(also), [])
    sides.push({ exports, ending: call(entry, type, args) })
  }
  return differences(decoded, type, sides[0], sides[1])
}

describe("a comparison with the original", () => {
  it("finds two equal runs equal", async () => {
    assert.deepStrictEqual(await compare("put", [8n, 0x7ff8_0000_0000_0001n], [8n, 0x7ff8_0000_0000_0001n]), [])
  })

  it("changes nothing of the module but its exports", () => {
    const names = WebAssembly.Module.exports(new WebAssembly.Module(bytes)).map(({ name }) => name)
    assert.deepStrictEqual(names.slice(0, 4), ["put", "vector", "grow", "divide"])
    assert.lengthOf(names, 8)
  })

  it("finds one bit of a NaN, in the result and in memory", async () => {
    assert.deepStrictEqual(await compare("put", [8n, 0x7ff8_0000_0000_0001n], [8n, 0x7ff8_0000_0000_0003n]), [
      { where: "result 0 (f64)", native: "0x7ff8000000000001", folio: "0x7ff8000000000003" },
      { where: "memory 0 at 0x8", native: "010000000000f87f", folio: "030000000000f87f" }
    ])
  })

  it("finds a global, of vectors too, and the size of a memory", async () => {
    const args = [0n, 0n]
    const where = (found: ReadonlyArray<Difference>) => found.map((one) => one.where)
    assert.deepStrictEqual(where(await compare("put", args, args, "vector")), ["global 1 (v128)"])
    assert.deepStrictEqual(await compare("put", args, args, "grow"), [
      { where: "size of memory 0", native: "65536", folio: "131072" }
    ])
  })

  it("finds a trap that only one side has, and of another kind", async () => {
    assert.deepStrictEqual(await compare("divide", [1n], [0n]), [
      { where: "end of the call", native: "returned", folio: "trapped (divide-by-zero)" }
    ])
    assert.deepStrictEqual(await compare("divide", [0n], [0n]), [])
    assert.deepStrictEqual(await compare("put", [0n, 0n], [65536n, 0n]), [
      { where: "end of the call", native: "returned", folio: "trapped (out-of-bounds)" }
    ])
  })
})
