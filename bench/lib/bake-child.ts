/**
 * One opening in a process of its own, which has opened nothing before:
 *
 *     node bench/lib/bake-child.ts FOLDER bare|active|copy|verified|mapped
 *
 * Prints milliseconds from the files to an instance that is ready, processor time of it, and what the first reads of
 * every tenth page then take; and the sum of these reads, which must be the same whatever the way.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { openImageFile } from "../../layers/node/image-file.ts"
import { decodeModule } from "../../src/binary/module.ts"
import { applyImage } from "../../src/image/apply.ts"
import { decodeImage } from "../../src/image/format.ts"

const [folder, way] = process.argv.slice(2) as [string, string]
const file = (name: string): string => join(folder, name)
const PAGE = 65_536

const compiled = (name: string): WebAssembly.Exports =>
  new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file(name)))).exports

const open = (): WebAssembly.Exports => {
  if (way === "active") return compiled("active.wasm")
  const m = decodeModule(readFileSync(file("plain.wasm")))
  const exports = compiled("instrumented.wasm")
  if (way === "bare") return exports
  if (way === "copy") applyImage(m, exports, decodeImage(readFileSync(file("state.folio"))), { fresh: true })
  else {
    const options = { fresh: true, trusted: way === "mapped" }
    const { how, reason } = openImageFile(m, exports, file("state.folio"), options, () => {})
    if (how !== "mapped") throw new Error(`not mapped: ${reason}`)
  }
  return exports
}

// The loader's own work in the background (collection, compilation of what it loaded) ends before the clock starts.
await new Promise((resolve) => setTimeout(resolve, 100))

const cpu = process.cpuUsage()
const begin = performance.now()
const exports = open()
const wallMs = performance.now() - begin
const used = process.cpuUsage(cpu)

const words = new Uint32Array((exports["memory"] as WebAssembly.Memory).buffer)
const touch = performance.now()
let sum = 0
for (let at = 0; at < words.length; at += 10 * PAGE / 4) sum = (sum + words[at]) >>> 0
const touchMs = performance.now() - touch

console.log(JSON.stringify({ wallMs, cpuMs: (used.user + used.system) / 1000, touchMs, sum }))
