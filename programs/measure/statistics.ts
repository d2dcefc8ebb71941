/**
 * The few statistics that the benches state: medians, percentiles and ranges of paired samples.
 */

const ascending = (values: ReadonlyArray<number>): Array<number> => [...values].sort((a, b) => a - b)

/**
 * The value below which `percent` per cent of the samples lie, interpolated linearly between neighbours. NaN for no
 * samples.
 *
 * @category statistics
 * @since 0.1.0
 */
export const percentile = (values: ReadonlyArray<number>, percent: number): number => {
  const sorted = ascending(values)
  const rank = (sorted.length - 1) * percent / 100
  const below = sorted[Math.floor(rank)] ?? Number.NaN
  const above = sorted[Math.ceil(rank)] ?? Number.NaN
  return below + (above - below) * (rank - Math.floor(rank))
}

/**
 * The middle sample; the mean of the two in the middle for an even count.
 *
 * @category statistics
 * @since 0.1.0
 */
export const median = (values: ReadonlyArray<number>): number => percentile(values, 50)

/**
 * A sample set in five numbers.
 *
 * @category models
 * @since 0.1.0
 */
export interface Distribution {
  readonly count: number
  readonly median: number
  readonly low: number
  readonly high: number
  /** Half the distance between the quartiles over the median: the noise of the set as a fraction. */
  readonly spread: number
}

/**
 * Describes a sample set: count, median, extremes, relative spread.
 *
 * @category statistics
 * @since 0.1.0
 */
export const distribution = (values: ReadonlyArray<number>): Distribution => ({
  count: values.length,
  median: median(values),
  low: percentile(values, 0),
  high: percentile(values, 100),
  spread: (percentile(values, 75) - percentile(values, 25)) / 2 / median(values)
})

/**
 * Element by element `above / below`: what pairing is for, since both samples of a pair saw the same machine.
 *
 * @category statistics
 * @since 0.1.0
 */
export const ratios = (above: ReadonlyArray<number>, below: ReadonlyArray<number>): Array<number> =>
  above.map((value, index) => value / below[index]!)

/**
 * `digits` significant digits, for what people read.
 *
 * @category formatting
 * @since 0.1.0
 */
export const significant = (value: number, digits = 4): number => Number(value.toPrecision(digits))
