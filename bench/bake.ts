/**
 * What it takes to open an image: fresh processes that have the same 50 MB of state ready, born with it in active data
 * segments, by copy from the image, and mapped from its file. And what it takes to make one, against Wizer, on a module
 * that both take, with a table of what each of them refuses.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { decodeModule } from "../src/binary/module.ts"
import { bakeModule } from "../src/image/bake.ts"
import { capture } from "../src/image/capture.ts"
import { checkBaked } from "../src/image/check.ts"
import { encodeImage } from "../src/image/format.ts"
import { instrument as withState } from "../src/image/instrument.ts"
import { constructs, large, sieve } from "./lib/bake-modules.ts"
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
  /** Undefined where Wizer is not installed. */
  readonly wizer?: {
    readonly wizerMs: ReadonlyArray<number>
    readonly folioMs: ReadonlyArray<number>
    readonly wizerBytes: number
    readonly folioBytes: number
    readonly refusals: Readonly<Record<string, { readonly wizer: string; readonly folio: string }>>
  } | undefined
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

/** The binary itself: the package's own command starts a Node.js in front of it. */
const wizerBinary = (): string | undefined => {
  const require = createRequire(join(import.meta.dirname, "../test/consumers/package.json"))
  try {
    const manifest = require.resolve(`@bytecodealliance/wizer-${process.platform}-${process.arch}/package.json`)
    const file = join(manifest, "..", process.platform === "win32" ? "wizer.exe" : "wizer")
    return existsSync(file) ? file : undefined
  } catch {
    return undefined
  }
}

const folioBake = (bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> => {
  const m = decodeModule(bytes)
  const needed = WebAssembly.Module.imports(new WebAssembly.Module(bytes))
  const env = Object.fromEntries(
    needed.map(({ kind, name }) => [name, kind === "memory" ? new WebAssembly.Memory({ initial: 1 }) : () => 1])
  )
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(withState(m)), { env })
  ;(exports["init"] as () => void)()
  const image = capture(m, exports, { module: "bench" })
  const baked = bakeModule(m, image)
  const [difference] = checkBaked(m, decodeModule(baked), image)
  if (difference !== undefined) throw new Error(`${difference.place} ${difference.detail}`)
  return baked
}

const countOf = (bytes: Uint8Array<ArrayBuffer>): number =>
  (new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports["count"] as () => number)()

const measureWizer = async (folder: string, rounds: number): Promise<BakeSamples["wizer"]> => {
  const binary = wizerBinary()
  if (binary === undefined) return undefined
  const [input, output] = [join(folder, "input.wasm"), join(folder, "wizer.wasm")]
  const wizer = () => spawnSync(binary, ["-f", "init", input, "-o", output], { encoding: "utf8" })
  const bytes = await sieve()
  writeFileSync(input, bytes)
  const [wizerMs, folioMs]: [Array<number>, Array<number>] = [[], []]
  let baked = bytes
  for (let round = -1; round < rounds; round++) {
    let begin = performance.now()
    const ended = wizer()
    const theirs = performance.now() - begin
    if (ended.status !== 0) throw new Error(ended.stderr)
    begin = performance.now()
    baked = folioBake(new Uint8Array(readFileSync(input)))
    writeFileSync(join(folder, "folio.wasm"), baked)
    const ours = performance.now() - begin
    if (round < 0) continue
    wizerMs.push(theirs)
    folioMs.push(ours)
  }
  const counts = [countOf(baked), countOf(new Uint8Array(readFileSync(output)))]
  if (counts[0] !== 216_816 || counts[1] !== counts[0]) throw new Error(`primes below 3,000,000: ${counts.join(", ")}`)
  const wizerBytes = statSync(output).size
  const refusals: Record<string, { wizer: string; folio: string }> = {}
  for (const [name, module] of await constructs()) {
    writeFileSync(input, module)
    const ended = wizer()
    let folio = "takes it"
    try {
      folioBake(module)
    } catch (error) {
      folio = String(error)
    }
    const reason = ended.stderr.split("\n").map((line) => line.trim()).filter((line) => line !== "").slice(0, 3).join(
      " "
    )
    refusals[name] = { wizer: ended.status === 0 ? "takes it" : reason.slice(0, 160), folio }
  }
  return { wizerMs, folioMs, wizerBytes, folioBytes: baked.length, refusals }
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
      const opened = await measureWays(folder, quick ? 7 : 25)
      return { ...opened, wizer: await measureWizer(folder, quick ? 5 : 15) }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
  summarise: ({ bytes, ways, wizer }) => {
    const faster = (way: typeof WAYS[number]): number => median(ratios(ways.active.wallMs, ways[way].wallMs))
    const less = median(ratios(ways.active.cpuMs, ways.mapped.cpuMs))
    const against = wizer === undefined
      ? []
      : [
        check("size of a baked module against Wizer's", wizer.folioBytes / wizer.wizerBytes, { atMost: 1.01 }),
        check("time to make it against Wizer's", median(ratios(wizer.folioMs, wizer.wizerMs)), { atMost: 1.5 })
      ]
    return {
      figure: faster("mapped"),
      unit: "x faster than active segments",
      checks: [
        check("wall time of active segments over that of mapping", faster("mapped"), { atLeast: 10 }),
        check("processor time of active segments over that of mapping", less, { atLeast: 5 }),
        ...against
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
        bytes,
        ...wizer === undefined ? { wizer: "not installed" } : {
          "Wizer, ms": distribution(wizer.wizerMs),
          "Folio, ms": distribution(wizer.folioMs),
          "bytes of Wizer and Folio": [wizer.wizerBytes, wizer.folioBytes],
          refusals: wizer.refusals
        }
      }
    }
  }
}
