/**
 * Expressions of generated C functions. Everything is defined for the WebAssembly that a compiler makes of it; what C
 * leaves undefined (overflow, shifts beyond the width) may come out one way or another, but it comes out before the loop
 * is split.
 */
import type { Choices } from "./choices.ts"

/**
 * Element types of arrays, by their names in the generated source.
 *
 * @category constants
 * @since 0.1.0
 */
export const ELEMENTS = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"] as const

/** @category models @since 0.1.0 */
export type Element = (typeof ELEMENTS)[number]

/** Bytes of an element. @category queries @since 0.1.0 */
export const bytesOf = (element: Element): number => Number(element.slice(1)) / 8

/** @category queries @since 0.1.0 */
export const isFloat = (element: Element): boolean => element.startsWith("f")

/**
 * Names that an expression may use: arrays and how they may be indexed here, integers, floats.
 *
 * @category models
 * @since 0.1.0
 */
export interface Scope {
  readonly arrays: ReadonlyArray<{ readonly name: string; readonly element: Element }>
  readonly indices: ReadonlyArray<string>
  readonly integers: ReadonlyArray<string>
  readonly floats: ReadonlyArray<string>
}

/** The same scope with further integers. @category constructors @since 0.1.0 */
export const withIntegers = (scope: Scope, ...names: ReadonlyArray<string>): Scope => ({
  ...scope,
  integers: [...scope.integers, ...names]
})

const SMALL = ["1", "2", "3", "5", "7", "13", "31", "255", "1000", "0x9e3779b1u", "-1", "-7"]

/** An element that is loaded. */
const load = (choices: Choices, scope: Scope, float: boolean): string | undefined => {
  const fitting = scope.arrays.filter(({ element }) => isFloat(element) === float)
  if (fitting.length === 0 || scope.indices.length === 0) return undefined
  return `${choices.pick(fitting).name}[${choices.pick(scope.indices)}]`
}

/**
 * An integer expression.
 *
 * @category generation
 * @since 0.1.0
 */
export const integer = (choices: Choices, scope: Scope, depth: number): string => {
  const part = (): string => integer(choices, scope, depth - 1)
  if (depth <= 0) {
    return choices.weighted<() => string>([
      [5, () => load(choices, scope, false) ?? choices.pick(SMALL)],
      [4, () => choices.pick(scope.integers)],
      [2, () => choices.pick(SMALL)]
    ])()
  }
  return choices.weighted<() => string>([
    [8, () => `(${part()} ${choices.pick(["+", "-", "*", "^", "&", "|"])} ${part()})`],
    [2, () => `((u32)${part()} ${choices.pick(["<<", ">>"])} ${choices.pick(["1", "3", "7", "16"])})`],
    [1, () => `((i32)${part()} >> ${choices.pick(["2", "5", "31"])})`],
    [2, () => `(${part()} ${choices.pick(["<", ">", "==", "<=", "!="])} ${part()} ? ${part()} : ${part()})`],
    [1, () => `clamp(${part()}, ${choices.pick(["0", "-128", "3"])}, ${choices.pick(["255", "127", "20"])})`],
    [1, () => `((u32)${part()} ${choices.pick(["/", "%"])} ${choices.pick(["3", "7", "10", "(v | 1u)"])})`],
    [1, () => `(${part()} ${choices.pick(["/", "%"])} ((i32)${part()} | 1))`],
    [1, () => `(u32)rotate(${part()}, ${choices.pick(["5", "11", "v & 31"])})`],
    [1, () => `spread(${part()}, ${part()})`],
    [1, () => `(i32)table[${part()} & 63]`],
    [1, () => (scope.floats.length > 0 ? `(i32)(${float(choices, scope, 0)} * 0.25f)` : part())],
    [1, () => `(${choices.pick(["u8", "i8", "u16", "i16"])})${part()}`],
    [1, () => `(i32)((u64)${part()} * ${part()} >> 32)`]
  ])()
}

/**
 * A floating-point expression.
 *
 * @category generation
 * @since 0.1.0
 */
export const float = (choices: Choices, scope: Scope, depth: number): string => {
  const part = (): string => float(choices, scope, depth - 1)
  if (depth <= 0) {
    return choices.weighted<() => string>([
      [5, () => load(choices, scope, true) ?? `(f32)${integer(choices, scope, 0)}`],
      [3, () => (scope.floats.length > 0 ? choices.pick(scope.floats) : "0.5f")],
      [2, () => choices.pick(["1.5f", "0.25", "-3.0f", "1e-3", "100.0f"])]
    ])()
  }
  return choices.weighted<() => string>([
    [8, () => `(${part()} ${choices.pick(["+", "-", "*"])} ${part()})`],
    [1, () => `(${part()} / ${part()})`],
    [1, () => `__builtin_sqrtf((f32)(${part()}))`],
    [1, () => `__builtin_fabs(${part()})`],
    [2, () => `(${part()} < ${part()} ? ${part()} : ${part()})`],
    [1, () => `(f64)${integer(choices, scope, 1)}`]
  ])()
}

/** An expression for an element. @category generation @since 0.1.0 */
export const value = (choices: Choices, scope: Scope, element: Element, depth: number): string =>
  isFloat(element) ? float(choices, scope, depth) : integer(choices, scope, depth)

/** A condition. @category generation @since 0.1.0 */
export const condition = (choices: Choices, scope: Scope): string =>
  choices.weighted<() => string>([
    [4, () => `${integer(choices, scope, 0)} ${choices.pick(["<", ">", "!=", "=="])} ${integer(choices, scope, 0)}`],
    [2, () => `(${integer(choices, scope, 1)}) & ${choices.pick(["1", "3", "16"])}`],
    [1, () => `${integer(choices, scope, 0)} > 3 && ${integer(choices, scope, 0)} < 100`],
    [1, () => `v ${choices.pick(["<", "&"])} 7`]
  ])()
