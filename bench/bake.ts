/**
 * What it takes to open an image: fresh processes that have the same 50 MB of state ready, born with it in active data
 * segments, by copy from the image, and mapped from its file.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { decodeModule } from "../src/binary/module.ts"
import { bakeModule } from "../src/image/bake.ts"
import { capture } from "../src/image/capture.ts"
import { encodeImage } from "../src/image/format.ts"
import { instrument as withState } from "../src/image/instrument.ts"
import { large } from "./lib/bake-modules.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { distribution, median, ratios } from "./lib/statistics.ts"

/** `bare` is the control: an instance without the state, which every way needs. */
const WAYS = ["bare", "active", "copy", "verified", "mapped"] as const

/**
 * One way to the state; one number a round.
 *
 * @category models
 * @since 0.1.0
 */
export interface WaySamples {
  readonly wallMs: Array<number>
  readonly cpuMs: Array<number>
  readonly touchMs: Array<number>
}

/**
 * Raw samples.
 *
 * @category models
 * @since 0.1.0
 */
export interface BakeSamples {
  readonly ways: Readonly<Record<typeof WAYS[number], WaySamples>>
  readonly bytes: { readonly image: number; readonly active: number }
}

const CHILD = join(import.meta.dirname, "lib", "bake-child.ts")

interface Opening {
  readonly wallMs: number
  readonly cpuMs: number
  readonly touchMs: number
  readonly sum: number
}

const openIn = (folder: string, way: string): Opening => {
  const child = spawnSync(process.execPath, ["--disable-warning=ExperimentalWarning", CHILD, folder, way], {
    encoding: "utf8"
  })
  if (child.status !== 0) throw new Error(`${way}: ${child.stderr}`)
  return JSON.parse(child.stdout) as Opening
}

const measureWays = async (folder: string, rounds: number) => {
  const bytes = await large()
  const m = decodeModule(bytes)
  const instrumented = withState(m)
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(instrumented))
  ;(exports["boot"] as () => void)()
  const image = capture(m, exports, { module: "bench" })
  const [file, active] = [encodeImage(image), bakeModule(m, image)]
  for (
    const [name, data] of [
      ["plain.wasm", bytes],
      ["instrumented.wasm", instrumented],
      ["state.folio", file],
      ["active.wasm", active]
    ] as const
  ) {
    writeFileSync(join(folder, name), data)
  }
  const ways = Object.fromEntries(
    WAYS.map((way): [string, WaySamples] => [way, { wallMs: [], cpuMs: [], touchMs: [] }])
  ) as Record<typeof WAYS[number], WaySamples>
  const sums = new Set<number>()
  for (let round = -1; round < rounds; round++) {
    for (let turn = 0; turn < WAYS.length; turn++) {
      const way = WAYS[(round + 1 + turn) % WAYS.length]!
      const { cpuMs, sum, touchMs, wallMs } = openIn(folder, way)
      if (way !== "bare") sums.add(sum)
      if (round < 0) continue
      ways[way].wallMs.push(wallMs)
      ways[way].cpuMs.push(cpuMs)
      ways[way].touchMs.push(touchMs)
    }
  }
  if (sums.size !== 1) throw new Error("the ways do not lead to the same state")
  return { ways, bytes: { image: file.length, active: active.length } }
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<BakeSamples> = {
  claim: "an image of 50 MB is open 10x faster, with 5x less processor time, than a module with it in data segments",
  measure: async ({ quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "folio-bench-bake-"))
    try {
      return await measureWays(folder, quick ? 7 : 25)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
  summarise: ({ bytes, ways }) => {
    const faster = (way: typeof WAYS[number]): number => median(ratios(ways.active.wallMs, ways[way].wallMs))
    const less = median(ratios(ways.active.cpuMs, ways.mapped.cpuMs))
    return {
      figure: faster("mapped"),
      unit: "x faster than active segments",
      checks: [
        check("wall time of active segments over that of mapping", faster("mapped"), { atLeast: 10 }),
        check("processor time of active segments over that of mapping", less, { atLeast: 5 })
      ],
      rows: {
        ...Object.fromEntries(
          WAYS.flatMap((way) => [
            [`${way}, ms`, distribution(ways[way].wallMs)],
            [`${way}, processor ms`, distribution(ways[way].cpuMs)],
            [`${way}, ms of the first reads`, distribution(ways[way].touchMs)]
          ])
        ),
        "mapped with hashes compared, x faster": faster("verified"),
        "copied, x faster": faster("copy"),
        bytes
      }
    }
  }
}
