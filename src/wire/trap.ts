/**
 * What stopped a call: the guest's trap, or an exception that passed through it.
 *
 * @since 0.1.0
 */

/**
 * Reasons of a trap, as the specification distinguishes them.
 *
 * @category models
 * @since 0.1.0
 */
export type TrapKind =
  | "unreachable"
  | "out-of-bounds"
  | "divide-by-zero"
  | "integer-overflow"
  | "invalid-conversion"
  | "indirect-call"
  | "null-reference"
  | "stack-exhausted"
  | "other"

/** The engines' messages are not standardised; these words are common to V8, SpiderMonkey and JavaScriptCore. */
const KINDS: ReadonlyArray<readonly [RegExp, TrapKind]> = [
  [/unreachable/, "unreachable"],
  [/indirect call|signature mismatch|table index|uninitialized element/, "indirect-call"],
  [/out of bounds|out-of-bounds/, "out-of-bounds"],
  [/by zero/, "divide-by-zero"],
  [/divide result|integer overflow/, "integer-overflow"],
  [/unrepresentable|invalid conversion/, "invalid-conversion"],
  [/null/, "null-reference"],
  [/call stack|stack size|recursion/, "stack-exhausted"]
]

/**
 * Which trap an error is; undefined when it is not one of the guest. A host import that throws a
 * `WebAssembly.RuntimeError` of its own cannot be told apart from a trap.
 *
 * @category classification
 * @since 0.1.0
 */
export const trapKind = (error: unknown): TrapKind | undefined => {
  const exhausted = error instanceof RangeError && /call stack/.test(error.message)
  if (!exhausted && !(error instanceof WebAssembly.RuntimeError)) return undefined
  const text = error.message.toLowerCase()
  return KINDS.find(([pattern]) => pattern.test(text))?.[1] ?? "other"
}
