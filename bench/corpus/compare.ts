/**
 * Compares the states that two arms ended in, and says where memories differ.
 */
import type { StateEntry } from "./protocol.ts"

const describe = (entry: StateEntry | undefined): string =>
  entry === undefined
    ? "missing"
    : entry.kind === "memory"
    ? `${entry.bytes} bytes ${entry.sha256}`
    : entry.value

/**
 * Names of the memories and globals that are not the same in both states.
 *
 * @category comparing
 * @since 0.1.0
 */
export const differences = (left: ReadonlyArray<StateEntry>, right: ReadonlyArray<StateEntry>): Array<string> =>
  Array.from({ length: Math.max(left.length, right.length) }, (_, index) => index)
    .filter((index) => left[index]?.name !== right[index]?.name || describe(left[index]) !== describe(right[index]))
    .map((index) => left[index]?.name ?? right[index]!.name)

/**
 * A run of bytes in a memory: from `start` up to and without `end`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Range {
  readonly start: number
  readonly end: number
}

/** Differing bytes closer than this are told as one range. */
const joinWithin = 64

/**
 * Where two images differ. A length that differs counts as bytes that differ.
 *
 * @category comparing
 * @since 0.1.0
 */
export const differingRanges = (left: Uint8Array, right: Uint8Array): Array<Range> => {
  const ranges: Array<{ start: number; end: number }> = []
  const length = Math.max(left.length, right.length)
  for (let at = 0; at < length; at++) {
    if (left[at] === right[at]) continue
    const last = ranges.at(-1)
    if (last !== undefined && at - last.end < joinWithin) last.end = at + 1
    else ranges.push({ start: at, end: at + 1 })
  }
  return ranges
}
