/**
 * Numbers of WebAssembly as text and as bits.
 *
 * A value is its bits in a `bigint`, because a JavaScript number keeps neither 64-bit integers nor the payload of a
 * NaN. Text follows the WebAssembly text format: `-5`, `0xff`, `1.5`, `0x1.8p3`, `inf`, `-nan`, `nan:0x7fc001`.
 *
 * @since 0.1.0
 */
import type { FunctionType, ValueType } from "../binary/module.ts"
import { FLOAT_FORMATS, roundRational } from "./rounding.ts"

/**
 * Types that have bits. References have none.
 *
 * @category models
 * @since 0.1.0
 */
export type BitsType = Exclude<ValueType, "ref">

/**
 * Whether values of a type are numbers or vectors.
 *
 * @category guards
 * @since 0.1.0
 */
export const hasBits = (type: ValueType): type is BitsType => type !== "ref"

/**
 * Width of a type in bits.
 *
 * @category models
 * @since 0.1.0
 */
export const bitWidth = (type: BitsType): number => type === "v128" ? 128 : type === "i64" || type === "f64" ? 64 : 32

/**
 * A signature in words: `(i32, f64) -> i64`.
 *
 * @category formatting
 * @since 0.1.0
 */
export const formatSignature = (type: FunctionType): string => {
  const results = type.results.length === 1 ? type.results[0] : `(${type.results.join(", ")})`
  return `(${type.params.join(", ")}) -> ${results}`
}

const INTEGER = /^([+-]?)(0x[0-9a-f]+|[0-9]+)$/
const DECIMAL = /^([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]+))?$/
const HEXADECIMAL = /^0x([0-9a-f]*)(?:\.([0-9a-f]*))?(?:p([+-]?[0-9]+))?$/
const PAYLOAD = /^nan:0x([0-9a-f]+)$/

/**
 * Reads a value of a type. Integers may be written signed or unsigned; underscores between digits are allowed.
 *
 * @returns the bits, or in words why the text is not such a value
 * @category parsing
 * @since 0.1.0
 */
export const parseValue = (type: BitsType, text: string): bigint | string => {
  const plain = text.trim().toLowerCase().replace(/(?<=[0-9a-f])_(?=[0-9a-f])/g, "")
  return type === "f32" || type === "f64" ? parseFloatBits(type, plain, text) : parseInteger(type, plain, text)
}

const parseInteger = (type: "i32" | "i64" | "v128", plain: string, text: string): bigint | string => {
  const match = INTEGER.exec(plain)
  if (match === null) return `"${text}" is not an ${type}: write an integer such as -5 or 0xff`
  const width = bitWidth(type)
  const magnitude = BigInt(match[2])
  const value = match[1] === "-" ? -magnitude : magnitude
  if (value < -(1n << BigInt(width - 1)) || value >= 1n << BigInt(width)) {
    return `${text} does not fit an ${type} (${width} bits)`
  }
  return BigInt.asUintN(width, value)
}

const parseFloatBits = (type: "f32" | "f64", plain: string, text: string): bigint | string => {
  const format = FLOAT_FORMATS[type]
  const negative = plain.startsWith("-")
  const sign = negative ? 1n << BigInt(format.bits - 1) : 0n
  const magnitude = negative || plain.startsWith("+") ? plain.slice(1) : plain
  const infinity = ((1n << BigInt(format.bits - 1 - format.fraction)) - 1n) << BigInt(format.fraction)
  if (magnitude === "inf" || magnitude === "infinity") return sign | infinity
  if (magnitude === "nan") return sign | infinity | (1n << BigInt(format.fraction - 1))
  const payload = PAYLOAD.exec(magnitude)
  if (payload !== null) {
    const bits = BigInt(`0x${payload[1]}`)
    return bits === 0n || bits >= 1n << BigInt(format.fraction)
      ? `${text}: the payload of an ${type} NaN lies between 0x1 and 0x${
        ((1n << BigInt(format.fraction)) - 1n).toString(16)
      }`
      : sign | infinity | bits
  }
  const rational = readRational(magnitude)
  return rational === undefined
    ? `"${text}" is not an ${type}: write a number such as 1.5, 0x1.8p3, inf, nan or nan:0x7fc001`
    : sign | (rational === "infinity" ? infinity : rational === "zero" ? 0n : roundRational(...rational, format))
}

/** Exponents beyond this are infinite or zero in every format, whatever the digits; they bound the work. */
const FARTHEST = 5000

const readRational = (text: string): readonly [bigint, bigint] | "infinity" | "zero" | undefined => {
  const hexadecimal = HEXADECIMAL.exec(text)
  const match = hexadecimal ?? DECIMAL.exec(text)
  if (match === null) return undefined
  const whole = match[1] ?? ""
  const fraction = match[2] ?? ""
  if (whole.length + fraction.length === 0) return undefined
  const digits = BigInt((hexadecimal === null ? "" : "0x") + whole + fraction)
  if (digits === 0n) return "zero"
  const perDigit = hexadecimal === null ? 1 : 4
  const exponent = Number(match[3] ?? "0") - fraction.length * perDigit
  const base = hexadecimal === null ? 10n : 2n
  if (exponent + (whole.length + fraction.length) * perDigit < -FARTHEST) return "zero"
  if (exponent > FARTHEST) return "infinity"
  return exponent >= 0 ? [digits * base ** BigInt(exponent), 1n] : [digits, base ** BigInt(-exponent)]
}

/**
 * Writes a value so that {@link parseValue} reads the same bits: integers signed, floats with the fewest digits that
 * name them, NaNs with their payload unless it is the canonical one, vectors in hexadecimal.
 *
 * @category formatting
 * @since 0.1.0
 */
export const formatValue = (type: BitsType, bits: bigint): string => {
  if (type === "i32" || type === "i64") return BigInt.asIntN(bitWidth(type), bits).toString()
  if (type === "v128") return formatBits(type, bits)
  const format = FLOAT_FORMATS[type]
  const sign = (bits >> BigInt(format.bits - 1)) === 1n ? "-" : ""
  const fraction = bits & ((1n << BigInt(format.fraction)) - 1n)
  const value = bitsToNumber(type, bits)
  if (Number.isNaN(value)) {
    return fraction === 1n << BigInt(format.fraction - 1) ? `${sign}nan` : `${sign}nan:0x${fraction.toString(16)}`
  }
  const magnitude = Math.abs(value)
  return magnitude === Infinity ? `${sign}inf` : sign + (type === "f64" ? String(magnitude) : shortest32(magnitude))
}

const shortest32 = (value: number): string => {
  for (let digits = 1; digits < 9; digits++) {
    const text = String(Number(value.toPrecision(digits)))
    const bits = parseFloatBits("f32", text, text)
    if (typeof bits === "bigint" && bitsToNumber("f32", bits) === value) return text
  }
  return String(Number(value.toPrecision(9)))
}

/**
 * The bits of a value in hexadecimal, in the full width of its type.
 *
 * @category formatting
 * @since 0.1.0
 */
export const formatBits = (type: BitsType, bits: bigint): string =>
  `0x${bits.toString(16).padStart(bitWidth(type) / 4, "0")}`

const scratch = new DataView(new ArrayBuffer(8))

/**
 * The JavaScript number of a float's bits. The payload of a NaN may not survive.
 *
 * @category conversions
 * @since 0.1.0
 */
export const bitsToNumber = (type: "f32" | "f64", bits: bigint): number => {
  if (type === "f64") {
    scratch.setBigUint64(0, bits)
    return scratch.getFloat64(0)
  }
  scratch.setUint32(0, Number(bits))
  return scratch.getFloat32(0)
}
