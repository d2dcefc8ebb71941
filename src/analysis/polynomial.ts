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

/**
 * `coefficient` times the product of `symbols` (sorted, repeats allowed).
 *
 * @category models
 * @since 0.1.0
 */
export interface Term {
  readonly coefficient: number
  readonly symbols: ReadonlyArray<string>
}

/**
 * A constant plus terms by the key of their symbols. Coefficients are signed 32-bit representatives.
 *
 * @category models
 * @since 0.1.0
 */
export interface Polynomial {
  readonly constant: number
  readonly terms: ReadonlyMap<string, Term>
}

/** Most terms of a polynomial; beyond it a value counts as unknown. @category constants @since 0.1.0 */
export const MAXIMUM_TERMS = 24

/** Highest degree of a term. @category constants @since 0.1.0 */
export const MAXIMUM_DEGREE = 4

const NO_TERMS: ReadonlyMap<string, Term> = new Map()

/** The polynomial of a constant. @category constructors @since 0.1.0 */
export const constant = (value: number): Polynomial => ({ constant: value | 0, terms: NO_TERMS })

/** The polynomial of one symbol. @category constructors @since 0.1.0 */
export const symbol = (name: string): Polynomial => ({
  constant: 0,
  terms: new Map([[name, { coefficient: 1, symbols: [name] }]])
})

/** p + scale · q. @category arithmetic @since 0.1.0 */
export const add = (p: Polynomial, q: Polynomial, scale = 1): Polynomial | undefined => {
  const constantPart = (p.constant + Math.imul(q.constant, scale)) | 0
  if (q.terms.size === 0) return { constant: constantPart, terms: p.terms }
  const terms = new Map(p.terms)
  for (const [key, term] of q.terms) {
    const sum = ((terms.get(key)?.coefficient ?? 0) + Math.imul(term.coefficient, scale)) | 0
    if (sum === 0) terms.delete(key)
    else terms.set(key, { coefficient: sum, symbols: term.symbols })
  }
  return terms.size > MAXIMUM_TERMS ? undefined : { constant: constantPart, terms }
}

/** p · q. @category arithmetic @since 0.1.0 */
export const multiply = (p: Polynomial, q: Polynomial): Polynomial | undefined => {
  if ((p.terms.size + 1) * (q.terms.size + 1) > 4 * MAXIMUM_TERMS) return undefined
  const terms = new Map<string, Term>()
  const put = (coefficient: number, symbols: ReadonlyArray<string>): void => {
    const key = symbols.join("*")
    const sum = ((terms.get(key)?.coefficient ?? 0) + coefficient) | 0
    if (sum === 0) terms.delete(key)
    else terms.set(key, { coefficient: sum, symbols })
  }
  for (const t of p.terms.values()) put(Math.imul(t.coefficient, q.constant), t.symbols)
  for (const u of q.terms.values()) put(Math.imul(u.coefficient, p.constant), u.symbols)
  for (const t of p.terms.values()) {
    for (const u of q.terms.values()) {
      const symbols = [...t.symbols, ...u.symbols].sort()
      if (symbols.length > MAXIMUM_DEGREE) return undefined
      put(Math.imul(t.coefficient, u.coefficient), symbols)
    }
  }
  return terms.size > MAXIMUM_TERMS ? undefined : { constant: Math.imul(p.constant, q.constant), terms }
}

/** True when a symbol that satisfies `test` occurs. @category queries @since 0.1.0 */
export const mentions = (p: Polynomial, test: (symbol: string) => boolean): boolean => {
  for (const term of p.terms.values()) if (term.symbols.some(test)) return true
  return false
}

/** Replaces a symbol, which must occur at most once in a term. @category arithmetic @since 0.1.0 */
export const substitute = (p: Polynomial, name: string, by: Polynomial): Polynomial | undefined => {
  let result: Polynomial | undefined = constant(p.constant)
  for (const [key, term] of p.terms) {
    const at = term.symbols.indexOf(name)
    let part: Polynomial | undefined
    if (at < 0) part = { constant: 0, terms: new Map([[key, term]]) }
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

/** `coefficient` times the product of symbols. @category constructors @since 0.1.0 */
export const product = (coefficient: number, symbols: ReadonlyArray<string>): Polynomial =>
  symbols.length === 0
    ? constant(coefficient)
    : { constant: 0, terms: new Map([[symbols.join("*"), { coefficient, symbols }]]) }

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
  const rest = new Map<string, Term>()
  let coefficient: Polynomial | undefined = constant(0)
  for (const [key, term] of p.terms) {
    const at = term.symbols.indexOf(name)
    if (at < 0) rest.set(key, term)
    else {
      const others = term.symbols.filter((_, index) => index !== at)
      if (others.includes(name)) return undefined
      coefficient = add(coefficient, product(term.coefficient, others))
      if (coefficient === undefined) return undefined
    }
  }
  return { rest: { constant: p.constant, terms: rest }, coefficient }
}

/** True for a polynomial without terms. @category queries @since 0.1.0 */
export const isConstant = (p: Polynomial): boolean => p.terms.size === 0

/** A text that is equal for equal polynomials, the constant left out when `withConstant` is false. @category queries @since 0.1.0 */
export const fingerprint = (p: Polynomial, withConstant = true): string => {
  const parts = [...p.terms].map(([key, term]) => `${term.coefficient}·${key}`).sort()
  return withConstant ? [String(p.constant), ...parts].join("+") : parts.join("+")
}
