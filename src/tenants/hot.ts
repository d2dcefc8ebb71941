/**
 * Pages that most requests of a program write. They are worth copying before a request instead of faulting in while it
 * runs. Learned once from the first requests; what is learned decides how a page gets its bytes, never which.
 *
 * @since 0.1.0
 */
import { RESET_PAGE } from "../reset/layout.ts"

/**
 * Bytes of a memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface ByteRange {
  readonly at: number
  readonly bytes: number
}

/** Requests that are looked at. */
const LEARNED_REQUESTS = 48

/** Gaps of so many bytes between hot ranges are copied along: a range costs a system call. */
const JOINED_GAP = 4 * RESET_PAGE

/** Most bytes of all hot ranges. */
const MAXIMUM_BYTES = 2 * 1024 * 1024

/**
 * What was learned of one memory of a program.
 *
 * @category models
 * @since 0.1.0
 */
export class HotPages {
  readonly #votes = new Map<number, number>()
  #requests = 0
  #ranges: ReadonlyArray<ByteRange> = []

  /** Whether requests are still looked at. */
  get learning(): boolean {
    return this.#requests < LEARNED_REQUESTS
  }

  /** The hot ranges, rising. None before all is learned, and never others afterwards. */
  get ranges(): ReadonlyArray<ByteRange> {
    return this.#ranges
  }

  /** Counts the ranges that one request has written, whole pages. */
  learn(written: ReadonlyArray<ByteRange>): void {
    if (!this.learning) return
    for (const { at, bytes } of written) {
      for (let page = at; page < at + bytes; page += RESET_PAGE) this.#votes.set(page, (this.#votes.get(page) ?? 0) + 1)
    }
    this.#requests++
    if (!this.learning) this.#ranges = this.#choose()
  }

  #choose(): ReadonlyArray<ByteRange> {
    const ranges: Array<{ at: number; bytes: number }> = []
    let total = 0
    for (const [page, votes] of [...this.#votes].toSorted(([a], [b]) => a - b)) {
      if (votes * 2 < LEARNED_REQUESTS || total >= MAXIMUM_BYTES) continue
      const last = ranges.at(-1)
      if (last !== undefined && page - last.at - last.bytes <= JOINED_GAP) last.bytes = page + RESET_PAGE - last.at
      else ranges.push({ at: page, bytes: RESET_PAGE })
      total += RESET_PAGE
    }
    this.#votes.clear()
    return ranges
  }
}
