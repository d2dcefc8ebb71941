import { assert, describe, it } from "@effect/vitest"
import { importObject, readImports } from "../../../layers/core/imports.ts"
import { assemble } from "../../support/wat.ts"

const bytes = await assemble(`(module
  (import "b" "g" (global i32)) (import "a" "f" (func)) (import "b" "f" (func)) (import "a" "f" (func)) (import "b" "m" (memory 1))
  (export "g" (global 0)))`)
const module = new WebAssembly.Module(bytes)

/** Imports that note who reads what, with which receiver. */
const watched = () => {
  const log: Array<string> = []
  const memory = new WebAssembly.Memory({ initial: 1 })
  let turn = 0
  const functions = [() => {}, () => {}, () => {}]
  const namespace = (name: string, values: Record<string, () => unknown>) => {
    const object: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(values)) {
      Object.defineProperty(object, key, {
        get(this: unknown) {
          log.push(`${name}.${key}${this === object ? "" : " of another"}`)
          return value()
        }
      })
    }
    return object
  }
  const a = namespace("a", { f: () => functions[turn++] })
  const b = namespace("b", { g: () => 7, f: () => functions[2], m: () => memory })
  const imports = Object.defineProperties({}, {
    a: { get: () => (log.push("a"), a) },
    b: { get: () => (log.push("b"), b) }
  }) as WebAssembly.Imports
  return { imports, log, functions }
}

describe("imports", () => {
  it("are read once each, in order, as by the engine", () => {
    const [mine, engine] = [watched(), watched()]
    const read = readImports(module, mine.imports)
    const instance = new WebAssembly.Instance(module, engine.imports)
    assert.strictEqual((instance.exports["g"] as WebAssembly.Global).value, 7)
    assert.deepStrictEqual(mine.log, engine.log)
    assert.deepStrictEqual(read.filter((one) => one.kind === "function").map((one) => one.value), [
      mine.functions[0],
      mine.functions[2],
      mine.functions[1]
    ])
  })

  it("are handed on as they were read", () => {
    const { functions, imports } = watched()
    const object = importObject(readImports(module, imports))
    assert.strictEqual((new WebAssembly.Instance(module, object).exports["g"] as WebAssembly.Global).value, 7)
    const twice = importObject(readImports(module, watched().imports))
    assert.notStrictEqual(twice["a"]["f"], twice["a"]["f"])
    assert.isFunction(functions[0])
  })

  it("may be missing altogether", () => {
    assert.deepStrictEqual(readImports(module, {}).map((one) => one.value), Array.from({ length: 5 }, () => undefined))
    assert.deepStrictEqual(readImports(module, { a: 1, b: null } as never).map((one) => one.value).length, 5)
  })
})
