/**
 * The bytes of a memory that are not zero, as few and small runs as data segments want.
 *
 * @since 0.1.0
 */
import { PAGE_BYTES, zeroPage } from "./model.ts"

/**
 * A run of bytes in a memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface Run {
  /** Where it begins. */
  readonly at: number
  /** Where it ends: the byte behind its last. */
  readonly end: number
}

/** Pages of a memory by their number; one that is not there holds zeros. @category models @since 0.1.0 */
export type Pages = ReadonlyMap<number, Uint8Array>

/** Engines take 100,000 data segments; some of them may be the module's own. */
const MAXIMUM_RUNS = 90_000

/** Bytes that a segment at this place costs besides its content: kind, `i32.const`, `end`, and the length in one byte. */
const segmentBytes = (at: number): number => 4 + (at < 64 ? 1 : at < 8192 ? 2 : at < 1 << 20 ? 3 : at < 1 << 27 ? 4 : 5)

type Range = [from: number, to: number]

/** Zero bytes at the low and at the high end of a word, which in memory are its first and its last. */
const leading = (word: number): number => (word & 0xff) !== 0 ? 0 : (word & 0xffff) !== 0 ? 1 : word << 8 !== 0 ? 2 : 3
const trailing = (word: number): number => word >>> 24 !== 0 ? 0 : word >>> 16 !== 0 ? 1 : word >>> 8 !== 0 ? 2 : 3

/** The engine's own search is faster, but not for the few words that most runs have. */
const SHORT_RUN = 32

const endOfRun = (words: Int32Array, start: number): number => {
  const near = Math.min(words.length, start + SHORT_RUN)
  let word = start
  while (word < near && words[word] !== 0) word++
  if (word < near) return word
  const zero = words.indexOf(0, word)
  return zero < 0 ? words.length : zero
}

/** Runs of one page. Zeros are written out unless they are more than `wide` times what a segment costs. */
const runsOfPage = (page: number, bytes: Uint8Array, wide: number, runs: Array<Range>): void => {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, PAGE_BYTES / 4)
  const base = page * PAGE_BYTES
  let last = runs.at(-1)
  for (let word = 0; word < words.length;) {
    if (words[word] === 0) {
      word++
      continue
    }
    const from = base + word * 4 + leading(words[word])
    word = endOfRun(words, word)
    const to = base + word * 4 - trailing(words[word - 1])
    if (last !== undefined && from - last[1] <= wide * segmentBytes(from)) last[1] = to
    else runs.push(last = [from, to])
  }
}

/**
 * The runs of a memory, given by its pages. Zeros at the ends of a run are left out.
 *
 * @category reading
 * @since 0.1.0
 */
export const runsOf = (pages: Pages): ReadonlyArray<Run> => {
  const order = [...pages.keys()].sort((a, b) => a - b)
  for (let wide = 1;; wide *= 2) {
    const ranges: Array<Range> = []
    for (const page of order) runsOfPage(page, pages.get(page)!, wide, ranges)
    if (ranges.length <= MAXIMUM_RUNS) return ranges.map(([at, end]) => ({ at, end }))
  }
}

/**
 * The bytes of a run as parts of the pages that it lies in.
 *
 * @category reading
 * @since 0.1.0
 */
export const piecesOf = (pages: Pages, { at, end }: Run): ReadonlyArray<Uint8Array> => {
  const pieces: Array<Uint8Array> = []
  for (let from = at; from < end;) {
    const page = Math.floor(from / PAGE_BYTES)
    const base = page * PAGE_BYTES
    const to = Math.min(end, base + PAGE_BYTES)
    // A short gap may reach over a page that is not there.
    pieces.push((pages.get(page) ?? zeroPage).subarray(from - base, to - base))
    from = to
  }
  return pieces
}
