/**
 * The comparison of end states under a host without chance: every memory and global that JavaScript can reach, to the
 * last byte.
 */
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Arm, type ArmOptions } from "./arm.ts"
import { type ArmName, armNames, eachArm } from "./arms.ts"
import { differences, differingRanges, type Range } from "./compare.ts"
import type { StateEntry } from "./protocol.ts"

/**
 * What came of it. `differs` names what is unlike native in the Folio arm, with the first ranges of bytes;
 * `unsettled` what native itself ends in differently each time, so that it says nothing about Folio.
 *
 * @category models
 * @since 0.1.0
 */
export interface StateComparison {
  readonly memories: number
  readonly globals: number
  readonly differs: ReadonlyArray<{ readonly name: string; readonly ranges: ReadonlyArray<Range> }>
  readonly unsettled: ReadonlyArray<string>
  readonly digests: ReadonlyArray<string>
  /** Calls of each arm. */
  readonly calls: number
  readonly dispatches: number
}

/** Runs until two native arms end alike; some programs look at how their own threads or collectors fared. */
const attempts = 3
const shownRanges = 16

/** Where the memory `name` of two arms differs; empty when it is not a memory in both. */
const rangesOf = async (
  name: string,
  left: { readonly arm: Arm; readonly state: ReadonlyArray<StateEntry>; readonly directory: string },
  right: { readonly arm: Arm; readonly state: ReadonlyArray<StateEntry>; readonly directory: string }
): Promise<ReadonlyArray<Range>> => {
  const images: Array<Uint8Array> = []
  for (const { arm, directory, state } of [left, right]) {
    const index = state.findIndex((entry) => entry.name === name)
    if (state[index]?.kind !== "memory") return []
    mkdirSync(directory, { recursive: true })
    await arm.dump(directory)
    images.push(readFileSync(join(directory, `${index}.bin`)))
  }
  return differingRanges(images[0]!, images[1]!).slice(0, shownRanges)
}

const compareOnce = async (
  of: (name: ArmName) => ArmOptions,
  calls: number,
  scratch: string
): Promise<Omit<StateComparison, "dispatches">> => {
  const started: Array<Arm> = []
  try {
    const digests = new Set<string>()
    const arms = await eachArm(armNames, async (name) => {
      const arm = await Arm.start(of(name))
      started.push(arm)
      for (const digest of (await arm.calls(calls)).digests) digests.add(digest)
      return arm
    })
    const states = await eachArm(armNames, (name) => arms[name].state())
    const unsettled = differences(states.nativeA, states.nativeB)
    const differs = []
    for (const name of differences(states.nativeA, states.folio)) {
      if (unsettled.includes(name)) continue
      const side = (arm: ArmName) => ({ arm: arms[arm], state: states[arm], directory: join(scratch, arm) })
      differs.push({ name, ranges: await rangesOf(name, side("nativeA"), side("folio")) })
    }
    return {
      memories: states.nativeA.filter((entry) => entry.kind === "memory").length,
      globals: states.nativeA.filter((entry) => entry.kind === "global").length,
      differs,
      unsettled,
      digests: [...digests],
      calls
    }
  } finally {
    for (const arm of started) await arm.close()
  }
}

/**
 * Runs all arms the same number of calls under a host without chance and compares what they end in. A difference from
 * native where the two native arms agree is final; where they do not, it is tried again.
 *
 * @category comparing
 * @since 0.1.0
 */
export const compareStates = async (
  of: (name: ArmName) => ArmOptions,
  calls: number,
  scratch: string
): Promise<Omit<StateComparison, "dispatches">> => {
  let result = await compareOnce(of, calls, scratch)
  for (let attempt = 1; attempt < attempts; attempt++) {
    if (result.differs.length > 0 || result.unsettled.length === 0) break
    result = await compareOnce(of, calls, scratch)
  }
  return result
}
