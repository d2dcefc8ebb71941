/**
 * Which seeds a campaign has compared: what the next run goes on from.
 */
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { root, sourceHashes } from "../lib/sources.ts"
import { addCounts, type Counts } from "./campaign.ts"

/**
 * Seeds that were compared in one way with one version of the compiler.
 *
 * @category models
 * @since 0.1.0
 */
export interface SeedRange {
  /** How chunks ran, and what of, where there is a choice. */
  readonly mode: string
  readonly from: number
  /** The last one, included. */
  readonly to: number
  /** sha256 over the sources of generator, analysis, plan, transforms and lanes: another one makes other modules. */
  readonly sources: string
  readonly counts: Counts
  readonly failures: ReadonlyArray<string>
}

/** Ranges of a stored run or of one that was interrupted, without those in which something differed. */
export const knownRanges = (file: string): ReadonlyArray<SeedRange> => {
  if (!existsSync(file)) return []
  type Stored = { readonly ranges?: ReadonlyArray<SeedRange> }
  const content = JSON.parse(readFileSync(file, "utf8")) as { readonly samples?: Stored } & Stored
  // What differed has been mended since, or is compared again.
  return ((content.samples ?? content).ranges ?? []).filter(({ failures }) => failures.length === 0)
}

/** The first seed that was not compared in a way. */
export const firstSeed = (ranges: ReadonlyArray<SeedRange>, mode: string): number => {
  let seed = 1
  for (let moved = true; moved;) {
    moved = false
    for (const { from, mode: own, to } of ranges) {
      if (own !== mode || from > seed || to < seed) continue
      seed = to + 1
      moved = true
    }
  }
  return seed
}

/** Ranges one behind the other with the same compiler as one. */
export const joinedRanges = (ranges: ReadonlyArray<SeedRange>): ReadonlyArray<SeedRange> => {
  const result: Array<SeedRange> = []
  for (const range of ranges) {
    const at = result.findIndex((one) =>
      one.mode === range.mode && one.sources === range.sources && one.to + 1 === range.from
    )
    if (at < 0) result.push(range)
    else {
      const one = result[at]
      result[at] = {
        ...one,
        to: range.to,
        counts: addCounts(one.counts, range.counts),
        failures: [...one.failures, ...range.failures]
      }
    }
  }
  return result
}

/** One hash over a generator and everything that preparing and dispatching reach. */
export const campaignVersion = (generator: string): string => {
  const entries = ["src/plan/prepare.ts", "src/lane/attachment.ts", "src/lane/runner.ts", generator]
  const hashes = Object.assign({}, ...entries.map((file) => sourceHashes(join(root, file)))) as Record<string, string>
  return createHash("sha256").update(JSON.stringify(Object.entries(hashes).sort())).digest("hex")
}

/** Collects garbage: a process can map a limited number of memories, and those of compared instances go with them. */
export const collectGarbage = async (): Promise<void> => {
  setFlagsFromString("--expose-gc")
  const gc = runInNewContext("gc") as () => void
  gc()
  await new Promise((resolve) => setImmediate(resolve))
  gc()
  await new Promise((resolve) => setImmediate(resolve))
}
