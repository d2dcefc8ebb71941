/**
 * What the kernel knows of the pages of an address range: the `PAGEMAP_SCAN` request (Linux 6.7). It needs no privilege
 * for the process's own memory.
 *
 * @since 0.1.0
 */
import { RESET_PAGE } from "../../src/reset/layout.ts"
import type { NativeCalls } from "./ffi.ts"

/**
 * Categories of pages, from `linux/fs.h`.
 *
 * @category constants
 * @since 0.1.0
 */
export const PageIs = {
  written: 1n << 1n,
  file: 1n << 2n,
  present: 1n << 3n,
  swapped: 1n << 4n,
  zero: 1n << 5n
} as const

const PAGEMAP_SCAN = 0xc0606610n
const SCAN_BYTES = 96n

/** Ranges that one scan takes at most; it goes on where it stopped. */
const SCAN_RANGES = 1024

/** 32-bit words of a range: its first address, its end, what holds of it. */
const RANGE_WORDS = 6

/**
 * Which pages to hand over: all categories in `required` hold, and one of `any` where that is not 0, after those in
 * `inverted` are turned around. Ranges are split where `told` differs.
 *
 * @category models
 * @since 0.1.0
 */
export interface PageFilter {
  readonly inverted: bigint
  readonly required: bigint
  readonly any: bigint
  readonly told: bigint
}

/**
 * A scan of one address range, which can be repeated.
 *
 * @category models
 * @since 0.1.0
 */
export class PageScan {
  readonly #calls: NativeCalls
  readonly #pagemap: number
  readonly #address: bigint
  readonly #end: bigint
  readonly #base: number
  readonly #scan = new BigUint64Array(12)
  readonly #scanAddress: bigint
  /** Ranges as words: an address fits a number, and numbers are read several times faster than bigints. */
  readonly #ranges = new Uint32Array(RANGE_WORDS * SCAN_RANGES)

  /** `pagemap` is a descriptor of `/proc/self/pagemap`. */
  constructor(calls: NativeCalls, pagemap: number, address: bigint, bytes: number) {
    this.#calls = calls
    this.#pagemap = pagemap
    this.#address = address
    this.#end = address + BigInt(bytes)
    this.#base = Number(address)
    this.#scan[0] = SCAN_BYTES
    this.#scan[3] = this.#end
    this.#scan[5] = calls.address(this.#ranges.buffer)
    this.#scan[6] = BigInt(SCAN_RANGES)
    this.#scanAddress = calls.address(this.#scan.buffer)
  }

  /** Hands over the ranges of pages as byte offset and length, rising. Returns how many pages, -1 where it is refused. */
  each({ any, inverted, required, told }: PageFilter, take: (at: number, bytes: number) => void): number {
    const scan = this.#scan
    scan[8] = inverted
    scan[9] = required
    scan[10] = any
    scan[11] = told
    let pages = 0
    for (let start = this.#address; start < this.#end; start = scan[4]) {
      scan[2] = start
      const count = this.#calls.ioctl(this.#pagemap, PAGEMAP_SCAN, this.#scanAddress)
      if (count < 0) return -1
      for (let word = 0; word < count * RANGE_WORDS; word += RANGE_WORDS) {
        const at = this.#ranges[word] + this.#ranges[word + 1] * 2 ** 32 - this.#base
        const bytes = this.#ranges[word + 2] + this.#ranges[word + 3] * 2 ** 32 - this.#base - at
        take(at, bytes)
        pages += bytes / RESET_PAGE
      }
    }
    return pages
  }
}
