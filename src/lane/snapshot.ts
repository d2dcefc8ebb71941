/**
 * Undoing a dispatch: pieces copy what they may store over to control memory before they run; here the copies get their
 * place, and are put back.
 *
 * @since 0.1.0
 */
import { Saved, SLOT } from "../plan/frame.ts"
import type { PlannedLoop } from "../plan/types.ts"
import { CONTROL_BYTES, CONTROL_MAXIMUM_PAGES } from "./control.ts"

/** Most bytes that the copies of one dispatch may take. @category constants @since 0.1.0 */
export const MAXIMUM_SNAPSHOT = (CONTROL_MAXIMUM_PAGES - 1) * CONTROL_BYTES

/** Whether what a piece stores lies apart from what others store: then the piece itself can copy it. */
const isPiecewise = (frame: DataView, facts: number): boolean => {
  const width = frame.getBigInt64(facts + Saved.FIRST_HIGH, true) - frame.getBigInt64(facts + Saved.FIRST_LOW, true)
  const step = frame.getBigInt64(facts + Saved.STRIDE, true)
  return width <= (step < 0n ? -step : step)
}

const factsOf = (loop: PlannedLoop, group: number): number => loop.firstSaved + SLOT * Saved.SLOTS * group

/**
 * Makes room for the copies of a dispatch and tells the pieces where it is; false when they are too large or the host
 * has no memory left.
 *
 * @category snapshots
 * @since 0.1.0
 */
export const placeCopies = (control: WebAssembly.Memory, frame: DataView, loop: PlannedLoop): boolean => {
  let at = CONTROL_BYTES
  for (let k = 0; k < loop.saved; k++) {
    const facts = factsOf(loop, k)
    const low = Number(frame.getBigInt64(facts + Saved.LOW, true))
    const high = Number(frame.getBigInt64(facts + Saved.HIGH, true))
    if (!isPiecewise(frame, facts)) {
      frame.setBigInt64(facts + Saved.COPY, 0n, true)
      continue
    }
    frame.setBigInt64(facts + Saved.COPY, BigInt(at), true)
    at += Math.ceil((high - low) / 64) * 64
    if (at > CONTROL_BYTES + MAXIMUM_SNAPSHOT) return false
  }
  const missing = Math.ceil((at - control.buffer.byteLength) / CONTROL_BYTES)
  if (missing <= 0) return true
  try {
    control.grow(missing)
    return true
  } catch {
    return false
  }
}

/**
 * Puts back what a piece, iterations `first` … `first + count − 1`, has copied before it ran.
 *
 * @category snapshots
 * @since 0.1.0
 */
export const putBack = (
  control: WebAssembly.Memory,
  frame: DataView,
  loop: PlannedLoop,
  memory: Uint8Array,
  first: number,
  count: number
): void => {
  const copies = new Uint8Array(control.buffer)
  for (let k = 0; k < loop.saved; k++) {
    const facts = factsOf(loop, k)
    if (frame.getBigInt64(facts + Saved.COPY, true) === 0n) continue
    const number = (field: number): number => Number(frame.getBigInt64(facts + field, true))
    const from = number(Saved.STRIDE) * first
    const to = number(Saved.STRIDE) * (first + count - 1)
    const low = number(Saved.FIRST_LOW) + Math.min(from, to)
    const high = number(Saved.FIRST_HIGH) + Math.max(from, to)
    const copy = number(Saved.COPY) + low - number(Saved.LOW)
    memory.set(copies.subarray(copy, copy + high - low), low)
  }
}

/** Where all iterations store through groups that pieces do not copy. @category snapshots @since 0.1.0 */
export const wholeRanges = (frame: DataView, loop: PlannedLoop): Array<readonly [low: number, high: number]> => {
  const ranges: Array<readonly [number, number]> = []
  for (let k = 0; k < loop.saved; k++) {
    const facts = factsOf(loop, k)
    if (frame.getBigInt64(facts + Saved.COPY, true) !== 0n) continue
    ranges.push([
      Number(frame.getBigInt64(facts + Saved.LOW, true)),
      Number(frame.getBigInt64(facts + Saved.HIGH, true))
    ])
  }
  return ranges
}

/**
 * Copies of bytes that pieces do not copy: those at fixed places, and rows that pieces share. One copy at a time, in a
 * buffer that is used again.
 *
 * @category snapshots
 * @since 0.1.0
 */
export class WholeCopy {
  #store = new Uint8Array(0)
  #ranges: ReadonlyArray<readonly [low: number, high: number]> = []

  /** Copies the ranges, where they overlap once; false when there are too many bytes. */
  take(memory: Uint8Array, ranges: ReadonlyArray<readonly [low: number, high: number]>): boolean {
    const joined: Array<[low: number, high: number]> = []
    for (const [low, high] of ranges.toSorted((x, y) => x[0] - y[0])) {
      const last = joined[joined.length - 1]
      if (last !== undefined && low <= last[1]) last[1] = Math.max(last[1], high)
      else if (high > low) joined.push([low, high])
    }
    this.#ranges = joined
    const bytes = joined.reduce((sum, [low, high]) => sum + high - low, 0)
    if (bytes > MAXIMUM_SNAPSHOT) return false
    if (this.#store.length < bytes) this.#store = new Uint8Array(bytes)
    this.#each((low, high, at) => this.#store.set(memory.subarray(low, high), at))
    return true
  }

  /** Puts the bytes back. */
  putBack(memory: Uint8Array): void {
    this.#each((low, high, at) => memory.set(this.#store.subarray(at, at + high - low), low))
  }

  #each(visit: (low: number, high: number, at: number) => void): void {
    let at = 0
    for (const [low, high] of this.#ranges) {
      visit(low, high, at)
      at += high - low
    }
  }
}
