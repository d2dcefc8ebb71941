/**
 * One baking in a process of its own, whose code has run nothing before:
 *
 *     node bench/lib/wizer-child.ts INPUT INIT OUTPUT
 *
 * Prints milliseconds from the file of the module to that of the baked one, which has been checked.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { bakeFile } from "./wizer-bake.ts"

const [input, init, output] = process.argv.slice(2) as [string, string, string]

// The loader's own work in the background ends before the clock starts.
await new Promise((resolve) => setTimeout(resolve, 100))

const begin = performance.now()
writeFileSync(output, bakeFile(new Uint8Array(readFileSync(input)), init))
console.log(performance.now() - begin)
