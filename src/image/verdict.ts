/**
 * What differs between two images of one boot, and of what kind it looks.
 *
 * A boot that gives another state each time holds seeds, times or addresses. Seeds must be renewed before an image is
 * used, or every user of it draws the same numbers. The kind is a judgement from the two values at a place, and is
 * offered as that: who renews what stays the caller's to decide.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../binary/module.ts"
import { memoryContents } from "./content.ts"
import { type Image, PAGE_BYTES, sameBytes, zeroPage } from "./model.ts"

/**
 * - `time`: both are a time of the clock within the given span, in seconds, milliseconds, microseconds or nanoseconds
 * - `address`: both point into the memory, at a multiple of four
 * - `counter`: both are small, or close to each other
 * - `seed`: about half of all bits differ
 * - `other`: none of these
 *
 * @category models
 * @since 0.1.0
 */
export type DifferenceKind = "time" | "address" | "counter" | "seed" | "other"

/**
 * A stretch of bytes that differ.
 *
 * @category models
 * @since 0.1.0
 */
export interface Differing {
  readonly memory: number
  readonly offset: number
  readonly length: number
  readonly kind: DifferenceKind
}

/**
 * The judgement on two images.
 *
 * @category models
 * @since 0.1.0
 */
export interface Verdict {
  /** Whether nothing differs. */
  readonly same: boolean
  readonly differing: ReadonlyArray<Differing>
  /** Bytes that differ by kind. */
  readonly bytes: Readonly<Record<DifferenceKind, number>>
  /** Pages that differ, by memory. */
  readonly pages: ReadonlyArray<ReadonlyArray<number>>
  /** Globals, tables, sizes and whatever else differs outside of the memories' bytes. */
  readonly outside: ReadonlyArray<string>
}

/**
 * The span of the clock, in milliseconds since 1970, in which both images were made.
 *
 * @category models
 * @since 0.1.0
 */
export interface ClockSpan {
  readonly from: number
  readonly to: number
}

/** Units of a clock in parts of a millisecond. */
const UNITS = [1 / 1000, 1, 1000, 1_000_000]

const isTime = (value: number, clock: ClockSpan): boolean =>
  UNITS.some((unit) => {
    const milliseconds = value / unit
    // A clock in whole seconds is up to one behind.
    return milliseconds >= clock.from - 1000 && milliseconds <= clock.to + 1000
  })

/** What the eight bytes at a multiple of eight, and the four at a multiple of four, may be as a number. */
const readings = (view: DataView, word: number): ReadonlyArray<number> => {
  const eight = word & ~7
  return [view.getUint32(word, true), Number(view.getBigUint64(eight, true)), view.getFloat64(eight, true)]
}

const bitsSet = (value: number): number => {
  let count = 0
  for (let rest = value; rest !== 0; rest &= rest - 1) count++
  return count
}

/** The least address that a pointer has: below lie null and, in most layouts, nothing. */
const LEAST_ADDRESS = 1024
const SMALL = 65536

const kindOf = (a: DataView, b: DataView, word: number, size: number, clock: ClockSpan): DifferenceKind => {
  const [mine, theirs] = [readings(a, word), readings(b, word)]
  if (mine.some((value, reading) => isTime(value, clock) && isTime(theirs[reading], clock))) return "time"
  const [x, y] = [mine[0], theirs[0]]
  if (x < SMALL && y < SMALL || Math.abs(x - y) < 256) return "counter"
  const pointer = (value: number): boolean => value >= LEAST_ADDRESS && value < size && value % 4 === 0
  if (pointer(x) && pointer(y)) return "address"
  const flipped = bitsSet(x ^ y)
  return flipped >= 8 && flipped <= 24 ? "seed" : "other"
}

const comparePage = (
  page: number,
  a: Uint8Array,
  b: Uint8Array,
  judge: (a: DataView, b: DataView, word: number) => DifferenceKind
): ReadonlyArray<{ offset: number; length: number; kind: DifferenceKind }> => {
  const [mine, theirs] = [a, b].map((bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length))
  const found: Array<{ offset: number; length: number; kind: DifferenceKind }> = []
  for (let word = 0; word < PAGE_BYTES; word += 4) {
    if (mine.getUint32(word, true) === theirs.getUint32(word, true)) continue
    const kind = judge(mine, theirs, word)
    const offset = page * PAGE_BYTES + word
    const last = found.at(-1)
    if (last !== undefined && last.kind === kind && last.offset + last.length === offset) last.length += 4
    else found.push({ offset, length: 4, kind })
  }
  return found
}

const outsideOf = (a: Image, b: Image): ReadonlyArray<string> => [
  ...a.memories.flatMap(({ pages }, index) =>
    b.memories[index].pages === pages
      ? []
      : [`memory ${index}: ${pages} pages and ${b.memories[index].pages}`]
  ),
  ...a.globals.flatMap(({ bits, index }, at) =>
    b.globals[at]?.bits === bits
      ? []
      : [`global ${index}: 0x${bits.toString(16)} and 0x${b.globals[at]?.bits.toString(16)}`]
  ),
  ...a.tables.flatMap(({ index, slots }, at) =>
    slots.length === b.tables[at]?.slots.length && slots.every((slot, place) => slot === b.tables[at].slots[place])
      ? []
      : [`table ${index}`]
  ),
  ...a.fingerprint === b.fingerprint ? [] : ["the fingerprint"],
  ...a.dropped.data.join() === b.dropped.data.join() && a.dropped.elements.join() === b.dropped.elements.join()
    ? []
    : ["the dropped segments"]
]

/**
 * Compares two images of module `m`.
 *
 * @category comparing
 * @since 0.1.0
 */
export const compareImages = (m: WasmModule, a: Image, b: Image, clock: ClockSpan): Verdict => {
  const [mine, theirs] = [memoryContents(m, a), memoryContents(m, b)]
  const bytes: Record<DifferenceKind, number> = { time: 0, address: 0, counter: 0, seed: 0, other: 0 }
  const differing: Array<Differing> = []
  const pages = mine.map((contents, memory) => {
    const size = Math.max(a.memories[memory].pages, b.memories[memory].pages) * PAGE_BYTES
    const numbers = new Set([...contents.keys(), ...theirs[memory].keys()])
    return [...numbers].sort((a, b) => a - b).filter((page) => {
      const [x, y] = [contents.get(page) ?? zeroPage, theirs[memory].get(page) ?? zeroPage]
      if (sameBytes(x, y)) return false
      for (const found of comparePage(page, x, y, (a, b, word) => kindOf(a, b, word, size, clock))) {
        differing.push({ memory, ...found })
        bytes[found.kind] += found.length
      }
      return true
    })
  })
  const outside = outsideOf(a, b)
  return { same: differing.length === 0 && outside.length === 0, differing, bytes, pages, outside }
}
