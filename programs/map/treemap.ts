/**
 * Rectangles whose areas are proportional to weights, as square as they can be had: squarified treemaps (M. Bruls,
 * K. Huizing, J. J. van Wijk, 2000).
 *
 * @since 0.1.0
 */

/**
 * A rectangle. Units are those of the picture.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rect {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** The worst ratio of sides in a row of areas along a side. */
const worst = (least: number, most: number, sum: number, side: number): number =>
  Math.max(side * side * most / (sum * sum), sum * sum / (side * side * least))

/** How many areas, from `from` on, go into the next row: as long as its worst rectangle gets no longer. */
const rowLength = (areas: ReadonlyArray<number>, from: number, side: number): number => {
  let sum = areas[from]
  let ratio = worst(areas[from], areas[from], sum, side)
  let length = 1
  for (; from + length < areas.length; length++) {
    const next = areas[from + length]
    const longer = worst(next, areas[from], sum + next, side)
    if (longer > ratio) break
    ratio = longer
    sum += next
  }
  return length
}

/**
 * Lays out weights inside a rectangle, a rectangle each.
 *
 * @param weights falling, none below zero; those of zero get an empty rectangle
 * @category layout
 * @since 0.1.0
 */
export const squarify = (weights: ReadonlyArray<number>, within: Rect): ReadonlyArray<Rect> => {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const scale = total > 0 ? within.width * within.height / total : 0
  const areas = weights.map((weight) => weight * scale).filter((area) => area > 0)
  const rects: Array<Rect> = []
  let { height, width, x, y } = within
  for (let from = 0; from < areas.length;) {
    const isWide = width >= height
    const side = isWide ? height : width
    const length = rowLength(areas, from, side)
    const row = areas.slice(from, from + length)
    const depth = row.reduce((sum, area) => sum + area, 0) / side
    let along = 0
    for (const area of row) {
      const extent = area / depth
      rects.push(
        isWide
          ? { x, y: y + along, width: depth, height: extent }
          : { x: x + along, y, width: extent, height: depth }
      )
      along += extent
    }
    if (isWide) {
      x += depth
      width = Math.max(0, width - depth)
    } else {
      y += depth
      height = Math.max(0, height - depth)
    }
    from += length
  }
  const { x: right, y: bottom } = rects.at(-1) ?? within
  return [...rects, ...weights.slice(rects.length).map(() => ({ x: right, y: bottom, width: 0, height: 0 }))]
}
