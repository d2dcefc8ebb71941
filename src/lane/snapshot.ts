/**
 * A copy of the bytes that a dispatch may write, to be put back when it has to be undone.
 *
 * @since 0.1.0
 */

/** Most bytes that a snapshot may take. @category constants @since 0.1.0 */
export const MAXIMUM_SNAPSHOT = 256 * 1024 * 1024

/**
 * Snapshots of one owner: one at a time, in a buffer that is used again.
 *
 * @category models
 * @since 0.1.0
 */
export class Snapshot {
  #store = new Uint8Array(0)
  #ranges: Array<readonly [low: number, high: number]> = []

  /** Copies the given ranges; false when they are too large. Overlapping ranges are joined. */
  take(memory: Uint8Array, ranges: ReadonlyArray<readonly [low: number, high: number]>): boolean {
    const joined: Array<[number, number]> = []
    for (const [low, high] of [...ranges].sort((x, y) => x[0] - y[0])) {
      const last = joined[joined.length - 1]
      if (last !== undefined && low <= last[1]) last[1] = Math.max(last[1], high)
      else joined.push([low, high])
    }
    const bytes = joined.reduce((sum, [low, high]) => sum + high - low, 0)
    if (bytes > MAXIMUM_SNAPSHOT) return false
    if (this.#store.length < bytes) this.#store = new Uint8Array(Math.max(bytes, 65536))
    let at = 0
    for (const [low, high] of joined) {
      this.#store.set(memory.subarray(low, high), at)
      at += high - low
    }
    this.#ranges = joined
    return true
  }

  /** Puts the bytes back. */
  restore(memory: Uint8Array): void {
    let at = 0
    for (const [low, high] of this.#ranges) {
      memory.set(this.#store.subarray(at, at + high - low), low)
      at += high - low
    }
  }
}
