/**
 * What it adds to the memory in use when four isolates attach one touched memory, against four copies.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { distribution, median } from "../programs/measure/statistics.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { root } from "./lib/sources.ts"

const kinds = ["alias", "shared", "copy"] as const
const mebibytes = [64, 256] as const

/** What one process printed. */
interface Residence {
  readonly proportionalMiB: number
  readonly pageTablesMiB: number
  readonly residentMiB: number
}

/**
 * Raw samples, one process each.
 *
 * @category models
 * @since 0.1.0
 */
export type SharingSamples = ReadonlyArray<
  Residence & { readonly kind: typeof kinds[number]; readonly mebibytes: number }
>

const run = (kind: string, size: number): Residence => {
  const program = join(root, "bench/fixtures/lanes/residence.ts")
  const { status, stderr, stdout } = spawnSync(process.execPath, ["--no-warnings", program, kind, String(size)], {
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(`residence.ts ${kind} ${size}: ${stderr}`)
  return JSON.parse(stdout)
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<SharingSamples> = {
  claim: "four isolates on one touched memory of 64 MiB add at most 6 MiB",
  measure: ({ quick }) => {
    const samples: Array<SharingSamples[number]> = []
    for (let round = 0; round < (quick ? 3 : 9); round++) {
      for (const size of mebibytes) {
        for (const kind of kinds) samples.push({ kind, mebibytes: size, ...run(kind, size) })
      }
    }
    return Promise.resolve(samples)
  },
  summarise: (samples) => {
    const of = (kind: string, size: number): ReadonlyArray<Residence> =>
      samples.filter((sample) => sample.kind === kind && sample.mebibytes === size)
    const added = (kind: string, size: number): ReadonlyArray<number> =>
      of(kind, size).map(({ pageTablesMiB, proportionalMiB }) => proportionalMiB + pageTablesMiB)
    return {
      figure: median(added("alias", 64)),
      unit: "MiB more for four isolates on 64 MiB (alias)",
      checks: [
        check("alias, MiB", median(added("alias", 64)), { atMost: 6 }),
        check("shared, MiB", median(added("shared", 64)), { atMost: 6 })
      ],
      rows: Object.fromEntries(
        mebibytes.flatMap((size) =>
          kinds.map((kind) => [`${kind}, ${size} MiB`, {
            "memory and page tables": distribution(added(kind, size)),
            "page tables": median(of(kind, size).map(({ pageTablesMiB }) => pageTablesMiB)),
            "resident, a page counted for each mapping": median(of(kind, size).map(({ residentMiB }) => residentMiB))
          }])
        )
      )
    }
  }
}
