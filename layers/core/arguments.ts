/**
 * Whether arguments fit a signature, without coercion.
 *
 * @since 0.1.0
 */
import type { FunctionType, ValueType } from "../../src/binary/module.ts"
import { bitWidth, hasBits } from "../../src/wire/values.ts"

/**
 * What does not fit.
 *
 * @category models
 * @since 0.1.0
 */
export interface Misfit {
  readonly reason: "arity" | "type"
  /** Position from 0; -1 for a wrong number of arguments. */
  readonly position: number
  readonly detail: string
}

const describe = (value: unknown): string =>
  typeof value === "bigint" ? `${value}n` : typeof value === "string" ? JSON.stringify(value) : String(value)

/** What a type wants, or undefined when the value fits. */
const wanted = (type: ValueType, value: unknown): string | undefined => {
  switch (type) {
    case "i32":
      return Number.isInteger(value) && (value as number) >= -(2 ** 31) && (value as number) < 2 ** 32
        ? undefined
        : "an integer of 32 bits"
    case "i64":
      return typeof value === "bigint" && value >= -(2n ** 63n) && value < 2n ** 64n
        ? undefined
        : "a bigint of 64 bits"
    case "f32":
    case "f64":
      return typeof value === "number" ? undefined : "a number"
    case "v128":
      return "a vector, which JavaScript has no value for"
    case "ref":
      return undefined
  }
}

const wrongArity = (given: number, count: number): Misfit => ({
  reason: "arity",
  position: -1,
  detail: `${given} ${given === 1 ? "argument" : "arguments"} for ${count} ${count === 1 ? "parameter" : "parameters"}`
})

const firstMisfit = (
  { params }: FunctionType,
  args: ReadonlyArray<unknown>,
  want: (type: ValueType, value: unknown) => string | undefined
): Misfit | undefined => {
  if (args.length !== params.length) return wrongArity(args.length, params.length)
  for (const [position, type] of params.entries()) {
    const wanted = want(type, args[position])
    if (wanted !== undefined) {
      return { reason: "type", position, detail: `${describe(args[position])} is not ${wanted}` }
    }
  }
  return undefined
}

/**
 * Tests arguments against a signature; against the number of parameters where the signature is not known.
 *
 * @category validation
 * @since 0.1.0
 */
export const misfit = (signature: FunctionType | number, args: ReadonlyArray<unknown>): Misfit | undefined =>
  typeof signature !== "number"
    ? firstMisfit(signature, args, wanted)
    : args.length === signature
    ? undefined
    : wrongArity(args.length, signature)

/**
 * Tests arguments that are given as their bits. The signature must have no references.
 *
 * @category validation
 * @since 0.1.0
 */
export const misfitBits = (signature: FunctionType, args: ReadonlyArray<unknown>): Misfit | undefined =>
  firstMisfit(signature, args, (type, value) => {
    const width = hasBits(type) ? bitWidth(type) : 0
    return typeof value === "bigint" && value >= 0n && value < 1n << BigInt(width)
      ? undefined
      : `the ${width} bits of an ${type} as a bigint`
  })
