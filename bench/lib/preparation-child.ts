/**
 * Prepares modules in a process of its own, which has prepared nothing before, as the background thread does it:
 *
 *     node bench/lib/preparation-child.ts FILE…
 *
 * Prints one JSON record ({@link PreparationRecord}) for all of them together.
 */
import { readFileSync } from "node:fs"
import { prepareModule } from "../../layers/node/preparation.ts"
import { DEFAULT_BUDGET } from "../../layers/node/settings.ts"
import { decodeModule } from "../../src/binary/module.ts"
import { SectionId } from "../../src/binary/sections.ts"
import { prepare } from "../../src/plan/prepare.ts"

/**
 * What it took to prepare the modules of a program.
 *
 * @category models
 * @since 0.1.0
 */
export interface PreparationRecord {
  readonly modules: number
  /** Bytes of the modules, and of their code sections. */
  readonly bytes: number
  readonly codeBytes: number
  /** Milliseconds until the entries for the cache were there, and processor time of the thread. */
  readonly wallMs: number
  readonly cpuMs: number
  /** Of these, milliseconds in the compiler. */
  readonly compilerMs: number
  /** Most memory that the process ever held, in MiB. */
  readonly peakMib: number
  readonly loops: number
  readonly planned: number
  /** Loops that were not looked at. */
  readonly unseen: number
  /** False where time or memory ended it. */
  readonly complete: boolean
}

const codeBytes = (bytes: Uint8Array): number =>
  decodeModule(bytes).sections
    .filter(({ id }) => id === SectionId.code)
    .reduce((sum, { end, start }) => sum + end - start, 0)

const files = process.argv.slice(2)
const modules = files.map((file) => new Uint8Array(readFileSync(file)))
let compilerMs = 0
let loops = 0
let planned = 0
let unseen = 0
let complete = true
const thread = process.threadCpuUsage()
const start = performance.now()
for (const bytes of modules) {
  prepareModule(bytes, {
    ...DEFAULT_BUDGET,
    build: "bench",
    prepare: (...given) => {
      const begun = performance.now()
      const prepared = prepare(...given)
      compilerMs += performance.now() - begun
      const { plan } = prepared
      loops += plan.loops.length
      planned += plan.loops.filter((loop) => loop._tag === "planned").length
      unseen += plan.loops.filter((loop) => loop._tag === "refused" && loop.reasons[0]?.code === "budget").length
      complete &&= plan.complete
      return prepared
    }
  })
}
const wallMs = performance.now() - start
const { system, user } = process.threadCpuUsage(thread)
const record: PreparationRecord = {
  modules: modules.length,
  bytes: modules.reduce((sum, { length }) => sum + length, 0),
  codeBytes: modules.reduce((sum, bytes) => sum + codeBytes(bytes), 0),
  wallMs,
  cpuMs: (user + system) / 1000,
  compilerMs,
  peakMib: process.resourceUsage().maxRSS / 1024,
  loops,
  planned,
  unseen,
  complete
}
console.log(JSON.stringify(record))
