/**
 * One opening in a process of its own, which has opened nothing before:
 *
 *     node programs/measure/opening-child.ts FOLDER WAY [SCRIPT [INIT]]
 *
 * Prints milliseconds from the files to an instance that is ready, processor time of it, and what the first reads of
 * every tenth page then take; and the sum of these reads, which is the same whatever the way.
 *
 * @since 0.1.0
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { openImage } from "../../layers/node/open-image.ts"
import { decodeModule } from "../../src/binary/module.ts"
import { applyImage } from "../../src/image/apply.ts"
import { decodeImage } from "../../src/image/format.ts"
import { bootEntries, loadHostScript } from "../commands/host-script.ts"
import { FILES, type Opening, type Way } from "./openings.ts"

const [folder, way, script, init] = process.argv.slice(2) as [string, Way, string | undefined, string | undefined]
const file = (name: string): Buffer => readFileSync(join(folder, name))
const PAGE = 65_536

const host = await loadHostScript(script === "" ? undefined : script)
const compiled = (name: string): WebAssembly.Instance =>
  new WebAssembly.Instance(new WebAssembly.Module(file(name) as BufferSource), host.imports)

const open = async (): Promise<WebAssembly.Exports> => {
  if (way === "active") return compiled(FILES.active).exports
  if (way === "boot") {
    const instance = compiled(FILES.plain)
    await host.boot?.(instance)
    for (const entry of bootEntries(instance, host, init)) (instance.exports[entry] as () => unknown)()
    return instance.exports
  }
  const m = decodeModule(file(FILES.plain))
  const { exports } = compiled(FILES.instrumented)
  if (way === "copy") applyImage(m, exports, decodeImage(file(FILES.image)), { fresh: true })
  else if (way !== "bare") {
    const { how, reason } = openImage(m, exports, join(folder, FILES.image), {
      fresh: true,
      trusted: way === "mapped"
    })
    if (how !== "mapped") throw new Error(`it cannot be mapped: ${reason}`)
  }
  return exports
}

// The loader's own work in the background (collection, compilation of what it loaded) ends before the clock starts.
await new Promise((resolve) => setTimeout(resolve, 100))

const cpu = process.cpuUsage()
const begin = performance.now()
const exports = await open()
const wallMs = performance.now() - begin
const used = process.cpuUsage(cpu)

const memory = Object.values(exports).find((one) => one instanceof WebAssembly.Memory)
const words = new Uint32Array(memory?.buffer ?? new ArrayBuffer(0))
const touch = performance.now()
let sum = 0
for (let at = 0; at < words.length; at += 10 * PAGE / 4) sum = (sum + words[at]) >>> 0
const touchMs = performance.now() - touch

const opening: Opening = { wallMs, cpuMs: (used.user + used.system) / 1000, touchMs, sum }
console.log(JSON.stringify(opening))
