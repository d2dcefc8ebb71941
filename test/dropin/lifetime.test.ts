/**
 * The drop-in keeps nothing alive that the program has let go.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { assemble } from "../support/wat.ts"
import { loops } from "./modules.ts"
import { makeScratch, register, runNode, uncached } from "./run.ts"

const scratch = makeScratch()
afterAll(() => scratch.remove())

/** Makes instances and modules, works a little with them, drops them, and counts what is left after collections. */
const program = (rounds: number): string =>
  scratch.file(
    "dropped.mjs",
    `import { readFileSync } from "node:fs"
     const bytes = readFileSync(new URL("loops.wasm", import.meta.url))
     const dropped = []
     const use = async () => {
       const module = await WebAssembly.compile(bytes)
       const { exports } = new WebAssembly.Instance(module)
       exports.grow(14)
       exports.fill(0, 1000, 3)
       for (let round = 0; round < ${rounds}; round++) exports.scale(0, 1000)
       dropped.push(new WeakRef(module), new WeakRef(exports), new WeakRef(exports.memory))
     }
     for (let count = 0; count < 20; count++) await use()
     for (let turn = 0; turn < 10; turn++) {
       await new Promise((resolve) => setTimeout(resolve, 10))
       gc()
     }
     console.log(dropped.filter((one) => one.deref() !== undefined).length)`
  )

beforeAll(async () => {
  scratch.file("loops.wasm", await assemble(loops))
})

describe("modules, instances and memories", () => {
  it("are collected where their loops did little", () => {
    const native = runNode(["--expose-gc", program(1)])
    assert.strictEqual(native.stdout, "0\n")
    assert.deepStrictEqual(runNode(["--expose-gc", "--import", register, program(1)], uncached), native)
  })
})
