/**
 * Polynomials over the integers modulo 2³², in symbols for values that do not change inside the loop and for
 * iteration numbers.
 *
 * Symbols: `n<id>` an invariant value, `P<id>` a header phi not understood yet, `J<id>` the iteration of loop `id`
 * (0 for the loop that is to be split), `T<id>` the iteration in which inner loop `id` is left, `R<id>` a value of
 * known range.
 *
 * @since 0.1.0
 */

import { isIteration, isVarying } from "./symbols.ts"

/**
 * A product of symbols (sorted, repeats allowed), shared by the terms that it stands in.
 *
 * @category models
 * @since 0.1.0
 */
export interface Monomial {
  readonly symbols: ReadonlyArray<string>
  /** Equal for equal products. */
  readonly key: string
  /** True when a symbol among them differs between iterations of the loop to be split. */
  readonly varying: boolean
  /** Inner loops whose iterations stand among them. */
  readonly inner: ReadonlyArray<number>
}

/**
 * `coefficient` times the product of `symbols`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Term {
  readonly coefficient: number
  readonly symbols: ReadonlyArray<string>
  readonly monomial: Monomial
}

/**
 * A constant plus terms of different products. Coefficients are signed 32-bit representatives.
 *
 * @category models
 * @since 0.1.0
 */
export interface Polynomial {
  readonly constant: number
  readonly terms: ReadonlyArray<Term>
}

/** Most terms of a polynomial; beyond it a value counts as unknown. @category constants @since 0.1.0 */
export const MAXIMUM_TERMS = 24

/** Highest degree of a term. @category constants @since 0.1.0 */
export const MAXIMUM_DEGREE = 4

const NO_TERMS: ReadonlyArray<Term> = []

const NONE: ReadonlyArray<number> = []

const isInner = (s: string): boolean => isIteration(s) && s !== "J0"

const monomialOf = (symbols: ReadonlyArray<string>): Monomial => ({
  symbols,
  key: symbols.length === 1 ? symbols[0] : symbols.join("*"),
  varying: symbols.some(isVarying),
  inner: symbols.some(isInner) ? symbols.filter(isInner).map((s) => Number(s.slice(1))) : NONE
})

const termOf = (coefficient: number, monomial: Monomial): Term => ({
  coefficient,
  symbols: monomial.symbols,
  monomial
})

/** Adds a term to those gathered so far, of which none has its product twice. */
const gather = (terms: Array<Term>, coefficient: number, monomial: Monomial): void => {
  for (let at = 0; at < terms.length; at++) {
    const own = terms[at].monomial
    if (own !== monomial && own.key !== monomial.key) continue
    const sum = (terms[at].coefficient + coefficient) | 0
    if (sum === 0) terms.splice(at, 1)
    else terms[at] = termOf(sum, own)
    return
  }
  if (coefficient !== 0) terms.push(termOf(coefficient, monomial))
}

/** The polynomial of a constant. @category constructors @since 0.1.0 */
export const constant = (value: number): Polynomial => ({ constant: value | 0, terms: NO_TERMS })

/** The polynomial of one symbol. @category constructors @since 0.1.0 */
export const symbol = (name: string): Polynomial => product(1, [name])

/** `coefficient` times the product of symbols. @category constructors @since 0.1.0 */
export const product = (coefficient: number, symbols: ReadonlyArray<string>): Polynomial =>
  symbols.length === 0 ? constant(coefficient) : { constant: 0, terms: [termOf(coefficient, monomialOf(symbols))] }

/** p + scale · q. @category arithmetic @since 0.1.0 */
export const add = (p: Polynomial, q: Polynomial, scale = 1): Polynomial | undefined => {
  const constantPart = (p.constant + Math.imul(q.constant, scale)) | 0
  if (q.terms.length === 0) return { constant: constantPart, terms: p.terms }
  if (p.terms.length === 0 && scale === 1) return { constant: constantPart, terms: q.terms }
  const terms = p.terms.slice()
  for (const { coefficient, monomial } of q.terms) gather(terms, Math.imul(coefficient, scale), monomial)
  return terms.length > MAXIMUM_TERMS ? undefined : { constant: constantPart, terms }
}

/** p · q. @category arithmetic @since 0.1.0 */
export const multiply = (p: Polynomial, q: Polynomial): Polynomial | undefined => {
  if ((p.terms.length + 1) * (q.terms.length + 1) > 4 * MAXIMUM_TERMS) return undefined
  const terms: Array<Term> = []
  for (const { coefficient, monomial } of p.terms) gather(terms, Math.imul(coefficient, q.constant), monomial)
  for (const { coefficient, monomial } of q.terms) gather(terms, Math.imul(coefficient, p.constant), monomial)
  for (const t of p.terms) {
    for (const u of q.terms) {
      if (t.symbols.length + u.symbols.length > MAXIMUM_DEGREE) return undefined
      const symbols = [...t.symbols, ...u.symbols].sort()
      gather(terms, Math.imul(t.coefficient, u.coefficient), monomialOf(symbols))
    }
  }
  return terms.length > MAXIMUM_TERMS ? undefined : { constant: Math.imul(p.constant, q.constant), terms }
}

/** True when a symbol that satisfies `test` occurs. @category queries @since 0.1.0 */
export const mentions = (p: Polynomial, test: (symbol: string) => boolean): boolean => {
  for (const { symbols } of p.terms) if (symbols.some(test)) return true
  return false
}

/** True when a symbol that differs between iterations of the loop to be split occurs. @category queries @since 0.1.0 */
export const varies = ({ terms }: Polynomial): boolean => {
  for (const { monomial } of terms) if (monomial.varying) return true
  return false
}

/** Inner loops whose iterations occur, outer ones first. @category queries @since 0.1.0 */
export const innerIterations = ({ terms }: Polynomial): ReadonlyArray<number> => {
  let found: Array<number> | undefined
  for (const { monomial } of terms) {
    for (const id of monomial.inner) if (found === undefined || !found.includes(id)) (found ??= []).push(id)
  }
  return found === undefined ? NONE : found.sort((x, y) => x - y)
}

/** Replaces a symbol, which must occur at most once in a term. @category arithmetic @since 0.1.0 */
export const substitute = (p: Polynomial, name: string, by: Polynomial): Polynomial | undefined => {
  let result: Polynomial | undefined = constant(p.constant)
  for (const term of p.terms) {
    const at = term.symbols.indexOf(name)
    let part: Polynomial | undefined
    if (at < 0) part = { constant: 0, terms: [term] }
    else {
      const rest = term.symbols.filter((_, index) => index !== at)
      if (rest.includes(name)) return undefined
      part = multiply(product(term.coefficient, rest), by)
    }
    result = part === undefined || result === undefined ? undefined : add(result, part)
    if (result === undefined) return undefined
  }
  return result
}

/**
 * Splits p into a part without `name` and the coefficient of `name`; `undefined` when it occurs squared.
 *
 * @category queries
 * @since 0.1.0
 */
export const linearIn = (
  p: Polynomial,
  name: string
): { readonly rest: Polynomial; readonly coefficient: Polynomial } | undefined => {
  const rest: Array<Term> = []
  let coefficient: Polynomial | undefined = NOTHING
  for (const term of p.terms) {
    const at = term.symbols.indexOf(name)
    if (at < 0) rest.push(term)
    else {
      const others = term.symbols.filter((_, index) => index !== at)
      if (others.includes(name)) return undefined
      coefficient = add(coefficient, product(term.coefficient, others))
      if (coefficient === undefined) return undefined
    }
  }
  return rest.length === p.terms.length
    ? { rest: p, coefficient }
    : { rest: { constant: p.constant, terms: rest }, coefficient }
}

const NOTHING = constant(0)

/** True for a polynomial without terms. @category queries @since 0.1.0 */
export const isConstant = (p: Polynomial): boolean => p.terms.length === 0

/** A text that is equal for equal polynomials, the constant left out when `withConstant` is false. @category queries @since 0.1.0 */
export const fingerprint = (p: Polynomial, withConstant = true): string => {
  if (p.terms.length === 0) return withConstant ? String(p.constant) : ""
  const parts = p.terms.map(({ coefficient, monomial }) => `${coefficient}·${monomial.key}`).sort()
  return withConstant ? [String(p.constant), ...parts].join("+") : parts.join("+")
}
