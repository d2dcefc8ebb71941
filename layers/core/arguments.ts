/**
 * Whether arguments fit a signature, without coercion.
 *
 * @since 0.1.0
 */
import type { FunctionType, ValueType } from "../../src/binary/module.ts"

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

/**
 * Tests arguments against a signature; against the number of parameters where the signature is not known.
 *
 * @category validation
 * @since 0.1.0
 */
export const misfit = (signature: FunctionType | number, args: ReadonlyArray<unknown>): Misfit | undefined => {
  const count = typeof signature === "number" ? signature : signature.params.length
  if (args.length !== count) {
    return {
      reason: "arity",
      position: -1,
      detail: `${args.length} ${args.length === 1 ? "argument" : "arguments"} for ${count} ` +
        `${count === 1 ? "parameter" : "parameters"}`
    }
  }
  if (typeof signature === "number") return undefined
  for (const [position, type] of signature.params.entries()) {
    const want = wanted(type, args[position])
    if (want !== undefined) {
      return { reason: "type", position, detail: `${describe(args[position])} is not ${want}` }
    }
  }
  return undefined
}
