/**
 * What a run executed, by function and loop, and what that says about where work is.
 *
 * @since 0.1.0
 */
import type { FunctionCounters } from "./instrument.ts"

/** Version of the profile's shape; another version is not used. @category constants @since 0.1.0 */
export const PROFILE_VERSION = 1 as const

/**
 * Counts of a loop.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoopProfile {
  /** Offset of the `loop` instruction in the module. */
  readonly offset: number
  /** Offset of the enclosing loop of the same function, if there is one. */
  readonly parent?: number | undefined
  /** How often it was entered. */
  readonly executions: number
  readonly iterations: number
  /** Instructions of its own, those of loops inside it not counted. */
  readonly instructions: number
  /** Instructions of functions that it called, all that these called included. */
  readonly called: number
}

/**
 * Counts of a function.
 *
 * @category models
 * @since 0.1.0
 */
export interface FunctionProfile {
  readonly index: number
  readonly calls: number
  /** Instructions of its own, those of its loops included. */
  readonly instructions: number
  /** In code order. */
  readonly loops: ReadonlyArray<LoopProfile>
}

/**
 * Counts of a run. Functions that were not called are left out.
 *
 * @category models
 * @since 0.1.0
 */
export interface Profile {
  readonly version: number
  /** Instructions of all functions. */
  readonly instructions: number
  readonly functions: ReadonlyArray<FunctionProfile>
}

const functionProfile = (
  { index, loops, word }: FunctionCounters,
  counter: (word: number) => number
): FunctionProfile => {
  const profiles = loops.map(({ offset, parent, word }): LoopProfile => ({
    offset,
    ...parent < 0 ? {} : { parent: loops[parent].offset },
    executions: counter(word),
    iterations: counter(word + 1),
    instructions: counter(word + 2),
    called: counter(word + 3)
  }))
  const outside = counter(word + 1)
  const instructions = profiles.reduce((sum, loop) => sum + loop.instructions, outside)
  return { index, calls: counter(word), instructions, loops: profiles }
}

/**
 * Reads the counters of an instance. Counts beyond 2⁵³ are rounded.
 *
 * @param counters the memory that the counting copy exports
 * @category decoding
 * @since 0.1.0
 */
export const readProfile = (
  functions: ReadonlyArray<FunctionCounters>,
  counters: ArrayBufferLike
): Profile => {
  const words = new BigUint64Array(counters)
  const profiles = functions
    .map((one) => functionProfile(one, (word) => Number(words[word])))
    .filter(({ calls }) => calls > 0)
  return {
    version: PROFILE_VERSION,
    instructions: profiles.reduce((sum, { instructions }) => sum + instructions, 0),
    functions: profiles
  }
}

/**
 * The module that a profile is of.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProfiledModule {
  /** A file's name, or the script that compiled it. */
  readonly name: string
  readonly bytes: number
  /** Of its bytes, in hexadecimal digits. */
  readonly sha256: string
}

/**
 * A profile as it is written to a file: plain data, to be decoded by `ProfileFile` of the command line.
 *
 * @param names of functions, by index
 * @category encoding
 * @since 0.1.0
 */
export const profileDocument = (module: ProfiledModule, names: ReadonlyMap<number, string>, profile: Profile) => ({
  format: "folio-profile" as const,
  version: PROFILE_VERSION,
  module,
  instructions: profile.instructions,
  functions: profile.functions.map(({ index, ...counts }) => {
    const name = names.get(index)
    return { index, ...name === undefined ? {} : { name }, ...counts }
  })
})

/**
 * Of each loop that was entered the share of all instructions that was executed inside it, by the offset of its `loop`
 * instruction: loops inside it and functions that they call included, 1 at most. No loop can save more of a run than
 * its share. In a recursive function an instruction counts for each level.
 *
 * @category queries
 * @since 0.1.0
 */
export const loopShares = ({ functions, instructions }: Profile): ReadonlyMap<number, number> => {
  const inside = new Map<number, number>()
  for (const { loops } of functions) {
    // Inner loops stand behind outer ones.
    for (const loop of loops.toReversed()) {
      if (loop.executions === 0) continue
      const all = (inside.get(loop.offset) ?? 0) + loop.instructions + loop.called
      inside.set(loop.offset, all)
      if (loop.parent !== undefined) inside.set(loop.parent, (inside.get(loop.parent) ?? 0) + all)
    }
  }
  return new Map([...inside].map(([offset, all]) => [offset, Math.min(1, all / Math.max(1, instructions))]))
}
