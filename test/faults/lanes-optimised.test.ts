/**
 * Compiling a chunk by the optimising compiler at once, while the program's own modules are being compiled.
 */
import { spawnSync } from "node:child_process"
import { assert, describe, it } from "vitest"
import { doubling } from "../../bench/fixtures/lanes/chunks.ts"

const optimised = new URL("../../layers/node/optimised.ts", import.meta.url).href
const chunk = Buffer.from(doubling(0)).toString("base64")

/** Runs a program that has `compileOptimised` and the bytes of a chunk. */
const program = (text: string, ...options: ReadonlyArray<string>): { status: number | null; output: string } => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [
    ...options,
    "--input-type=module",
    "--eval",
    `import { compileOptimised } from ${JSON.stringify(optimised)}
     const chunk = Uint8Array.from(Buffer.from("${chunk}", "base64"))
     const imports = { folio: {
       memory: new WebAssembly.Memory({ initial: 1 }),
       control: new WebAssembly.Memory({ initial: 1, maximum: 4097, shared: true })
     } }
     const runOf = (module) => new WebAssembly.Instance(module, imports).exports.run
     ${text}`
  ], { encoding: "utf8", cwd: import.meta.dirname })
  return { status, output: stdout + stderr }
}

describe("a chunk compiled at once", () => {
  it("is optimised before its first call, and modules compiled before and after are as always", () => {
    assert.deepStrictEqual(
      program(
        `const states = [
           new WebAssembly.Module(chunk), compileOptimised(chunk.slice()), new WebAssembly.Module(chunk.slice())
         ].map((module, index) => {
           const run = runOf(module)
           if (index !== 1) run(0, 1, 0)
           return %IsTurboFanFunction(run)
         })
         console.log(states.join())`,
        "--allow-natives-syntax",
        // Modules of equal bytes would be one module to V8.
        "--no-wasm-native-module-cache"
      ),
      { status: 0, output: "false,true,false\n" }
    )
  })

  it("does not disturb the program's modules while they tier up in the background", () => {
    // A large module at work (the wat parser itself), and as many compilations beside it as fit.
    const ended = () =>
      program(
        `import wabt from "wabt"
       const { parseWat } = await wabt()
       const functions = Array.from({ length: 200 }, (_, index) => \`(func (export "\${index}") (param i32) (result i32)
         (if (result i32) (local.get 0) (then (i32.add (local.get 0) (i32.const \${index}))) (else (local.get 0))))\`)
       const text = "(module " + functions.join("\\n") + ")"
       for (let round = 0; round < 200; round++) {
         const module = parseWat("some.wat", text)
         module.toBinary({})
         module.destroy()
         for (let time = 0; time < 20; time++) compileOptimised(chunk)
       }
       console.log("done")`
      )
    // A large module tiers up only once in a process, so several processes do it.
    for (let process = 0; process < 6; process++) assert.deepStrictEqual(ended(), { output: "done\n", status: 0 })
  })
})
