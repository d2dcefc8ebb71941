/**
 * Exact conversion of a rational number to the nearest binary float, ties to even, as bits.
 *
 * `Number(text)` rounds decimals correctly for 64 bits only: going on from there to 32 bits rounds twice, and it does
 * not read hexadecimal floats at all.
 *
 * @since 0.1.0
 */

/**
 * A binary interchange format of IEEE 754.
 *
 * @category models
 * @since 0.1.0
 */
export interface FloatFormat {
  /** All bits of a value. */
  readonly bits: number
  /** Stored bits of the significand. */
  readonly fraction: number
  /** Exponent bias. */
  readonly bias: number
}

/**
 * The two formats of WebAssembly.
 *
 * @category constants
 * @since 0.1.0
 */
export const FLOAT_FORMATS: { readonly f32: FloatFormat; readonly f64: FloatFormat } = {
  f32: { bits: 32, fraction: 23, bias: 127 },
  f64: { bits: 64, fraction: 52, bias: 1023 }
}

/** How many bits a natural number has; 0 for 0. */
const bitLength = (value: bigint): number => value === 0n ? 0 : value.toString(2).length

/**
 * Bits of `numerator / denominator` in a format, both at least 0 and the denominator above 0. What is too large
 * becomes infinity, what is too small zero.
 *
 * @category conversions
 * @since 0.1.0
 */
export const roundRational = (numerator: bigint, denominator: bigint, format: FloatFormat): bigint => {
  if (numerator === 0n) return 0n
  const infinity = ((1n << BigInt(format.bits - 1 - format.fraction)) - 1n) << BigInt(format.fraction)
  // 2^exponent <= value < 2^(exponent + 1)
  let exponent = bitLength(numerator) - bitLength(denominator)
  const below = exponent >= 0
    ? numerator < denominator << BigInt(exponent)
    : numerator << BigInt(-exponent) < denominator
  if (below) exponent -= 1
  if (exponent > format.bias) return infinity
  // One unit in the last place is 2^unit, bounded below by that of the subnormal numbers.
  const unit = Math.max(exponent, 1 - format.bias) - format.fraction
  const top = unit < 0 ? numerator << BigInt(-unit) : numerator
  const bottom = unit < 0 ? denominator : denominator << BigInt(unit)
  let significand = top / bottom
  const twice = (top % bottom) * 2n
  if (twice > bottom || (twice === bottom && (significand & 1n) === 1n)) significand += 1n
  const hidden = 1n << BigInt(format.fraction)
  if (significand < hidden) return significand
  // A carry out of the significand lands in the exponent field, which is what rounding up means.
  return significand - hidden + (BigInt(unit + format.fraction + format.bias) << BigInt(format.fraction))
}
