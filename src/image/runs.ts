/**
 * The bytes of a memory that are not zero, as few and small runs as data segments want.
 *
 * @since 0.1.0
 */
import { PAGE_BYTES } from "./model.ts"

/**
 * A run of bytes in a memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface Run {
  /** Where it begins. */
  readonly at: number
  readonly bytes: Uint8Array
}

/** Engines take 100,000 data segments; some of them may be the module's own. */
const MAXIMUM_RUNS = 90_000

/** Bytes that a segment costs besides its content. A shorter gap of zeros is cheaper written out. */
const SEGMENT_BYTES = 10

/** Runs of one page, cut where at least `gap` zeros follow each other. Word by word: gaps begin at multiples of 4. */
const runsOfPage = (page: number, bytes: Uint8Array, gap: number, runs: Array<[from: number, to: number]>): void => {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, PAGE_BYTES / 4)
  const base = page * PAGE_BYTES
  for (let word = 0; word < words.length; word++) {
    if (words[word] === 0) continue
    const from = base + word * 4
    const last = runs.at(-1)
    if (last !== undefined && from - last[1] < gap) last[1] = from + 4
    else runs.push([from, from + 4])
  }
}

/**
 * The runs of a memory, given by its pages. Zeros at the ends of a run are left out.
 *
 * @category reading
 * @since 0.1.0
 */
export const runsOf = (pages: ReadonlyMap<number, Uint8Array>): ReadonlyArray<Run> => {
  const order = [...pages.keys()].sort((a, b) => a - b)
  let ranges: Array<[number, number]> = []
  for (let gap = SEGMENT_BYTES;; gap *= 2) {
    ranges = []
    for (const page of order) runsOfPage(page, pages.get(page)!, gap, ranges)
    if (ranges.length <= MAXIMUM_RUNS) break
  }
  return ranges.map(([start, end]) => {
    const bytes = new Uint8Array(end - start)
    for (let at = start; at < end;) {
      const page = Math.floor(at / PAGE_BYTES)
      const to = Math.min(end, (page + 1) * PAGE_BYTES)
      const source = pages.get(page)
      if (source !== undefined) bytes.set(source.subarray(at - page * PAGE_BYTES, to - page * PAGE_BYTES), at - start)
      at = to
    }
    let first = 0
    while (bytes[first] === 0) first++
    let length = bytes.length
    while (bytes[length - 1] === 0) length--
    return { at: start + first, bytes: bytes.subarray(first, length) }
  })
}
