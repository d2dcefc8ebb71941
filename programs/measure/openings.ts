/**
 * What it takes to have an instance ready, in fresh processes: booted, born with its state in a baked module, or opened
 * from an image.
 *
 * @since 0.1.0
 */
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { moduleUrl } from "../../layers/node/require.ts"
import type { WasmModule } from "../../src/binary/module.ts"
import { bakeModule } from "../../src/image/bake.ts"
import { encodeImage } from "../../src/image/format.ts"
import { instrument } from "../../src/image/instrument.ts"
import type { Image } from "../../src/image/model.ts"

/**
 * A way to the state. `bare` is an instance without it, which every way needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Way = "bare" | "boot" | "active" | "copy" | "verified" | "mapped"

/** The files that openings need. @category constants @since 0.1.0 */
export const FILES = {
  plain: "plain.wasm",
  instrumented: "instrumented.wasm",
  image: "state.folio",
  active: "active.wasm"
} as const

/**
 * One opening: milliseconds of the wall and of the processor, of the first reads behind it, and the sum of these.
 *
 * @category models
 * @since 0.1.0
 */
export interface Opening {
  readonly wallMs: number
  readonly cpuMs: number
  readonly touchMs: number
  readonly sum: number
}

/**
 * Openings of one way.
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
 * Writes the files for a module and its image into a folder. Throws a `Mismatch` where the module cannot be baked.
 *
 * @category measuring
 * @since 0.1.0
 */
export const writeOpenings = (
  folder: string,
  m: WasmModule,
  image: Image
): { readonly image: number; readonly active: number } => {
  const [file, active] = [encodeImage(image), bakeModule(m, image)]
  const files: Readonly<Record<keyof typeof FILES, Uint8Array>> = {
    plain: m.bytes,
    instrumented: instrument(m),
    image: file,
    active
  }
  for (const [name, bytes] of Object.entries(files)) {
    writeFileSync(join(folder, FILES[name as keyof typeof FILES]), bytes)
  }
  return { image: file.length, active: active.length }
}

/**
 * Opens once, in a process of its own. Throws with what the process said where it failed.
 *
 * @param boot the script and the export that boot the module, where it has them
 * @category measuring
 * @since 0.1.0
 */
export const openIn = (
  folder: string,
  way: Way,
  boot: { readonly script?: string | undefined; readonly init?: string | undefined } = {}
): Opening => {
  const child = fileURLToPath(moduleUrl("../../programs/measure/opening-child"))
  const args = [child, folder, way, boot.script ?? "", ...boot.init === undefined ? [] : [boot.init]]
  const { status, stderr, stdout } = spawnSync(process.execPath, ["--disable-warning=ExperimentalWarning", ...args], {
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(`${way}: ${/^\w*Error: .*$/m.exec(stderr)?.[0] ?? stderr}`)
  // What the guest itself printed stands in front.
  return JSON.parse(stdout.trimEnd().split("\n").at(-1)!) as Opening
}

/**
 * Opens by several ways in turn, so that all of them see the same machine; the first round, in which files come into
 * the system's memory, does not count. `told` hears of every round.
 *
 * @category measuring
 * @since 0.1.0
 */
export const measureOpenings = <W extends Way>(
  ways: ReadonlyArray<W>,
  rounds: number,
  open: (way: W) => Opening,
  told: (round: number) => void = () => {}
): Record<W, WaySamples> => {
  const samples = Object.fromEntries(
    ways.map((way): [string, WaySamples] => [way, { wallMs: [], cpuMs: [], touchMs: [] }])
  ) as Record<W, WaySamples>
  for (let round = -1; round < rounds; round++) {
    told(round + 1)
    for (let turn = 0; turn < ways.length; turn++) {
      const way = ways[(round + 1 + turn) % ways.length]
      const { cpuMs, touchMs, wallMs } = open(way)
      if (round < 0) continue
      samples[way].wallMs.push(wallMs)
      samples[way].cpuMs.push(cpuMs)
      samples[way].touchMs.push(touchMs)
    }
  }
  return samples
}
