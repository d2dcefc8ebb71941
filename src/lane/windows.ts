/**
 * Private windows as pages of the operating system.
 *
 * @since 0.1.0
 */
import { MAXIMUM_WINDOWS, PAGE_BYTES } from "../plan/frame.ts"
import type { PlannedLoop } from "../plan/types.ts"

/** Most pages that a lane copies for itself: they are copied again for every dispatch. */
const MAXIMUM_PRIVATE_PAGES = 256

/**
 * The pages around ranges of bytes, as runs of first page and count; `undefined` when they are too many.
 *
 * @category lanes
 * @since 0.1.0
 */
export const pagesAround = (
  ranges: ReadonlyArray<readonly [low: number, high: number]>
): Array<[page: number, pages: number]> | undefined => {
  const joined: Array<[number, number]> = []
  for (const [low, high] of ranges.toSorted((x, y) => x[0] - y[0])) {
    if (low === high) continue
    const page = Math.floor(low / PAGE_BYTES)
    const end = Math.ceil(high / PAGE_BYTES)
    const last = joined[joined.length - 1]
    if (last !== undefined && page <= last[0] + last[1]) last[1] = Math.max(last[1], end - last[0])
    else joined.push([page, end - page])
  }
  const pages = joined.reduce((sum, [, count]) => sum + count, 0)
  return joined.length > MAXIMUM_WINDOWS || pages > MAXIMUM_PRIVATE_PAGES ? undefined : joined
}

/**
 * The bytes of a plan's private windows, as its guard left them in the frame: low and high end each.
 *
 * @category reading
 * @since 0.1.0
 */
export const windowRanges = (
  frame: DataView,
  { firstWindow, windows }: Pick<PlannedLoop, "firstWindow" | "windows">
): Array<readonly [low: number, high: number]> =>
  Array.from({ length: windows }, (_, k) => {
    const at = firstWindow + 16 * k
    return [Number(frame.getBigInt64(at, true)), Number(frame.getBigInt64(at + 8, true))] as const
  })
