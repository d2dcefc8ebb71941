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
    const facts = loop.firstSaved + SLOT * Saved.SLOTS * k
    const low = Number(frame.getBigInt64(facts + Saved.LOW, true))
    const high = Number(frame.getBigInt64(facts + Saved.HIGH, true))
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
    const facts = loop.firstSaved + SLOT * Saved.SLOTS * k
    const number = (field: number): number => Number(frame.getBigInt64(facts + field, true))
    const from = number(Saved.STRIDE) * first
    const to = number(Saved.STRIDE) * (first + count - 1)
    const low = number(Saved.FIRST_LOW) + Math.min(from, to)
    const high = number(Saved.FIRST_HIGH) + Math.max(from, to)
    const copy = number(Saved.COPY) + low - number(Saved.LOW)
    memory.set(copies.subarray(copy, copy + high - low), low)
  }
}

/**
 * Bytes at fixed places, which every piece of the owner stores to anew: copied at once.
 *
 * @category snapshots
 * @since 0.1.0
 */
export const copyRanges = (
  memory: Uint8Array,
  ranges: ReadonlyArray<readonly [low: number, high: number]>
): (memory: Uint8Array) => void => {
  const copies = ranges.map(([low, high]) => [low, memory.slice(low, high)] as const)
  return (into) => copies.forEach(([low, bytes]) => into.set(bytes, low))
}
