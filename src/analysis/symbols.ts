/**
 * Kinds of symbols in polynomials, told by their first letter (see `polynomial.ts`).
 *
 * @since 0.1.0
 */

/** The iteration number of a loop. @category queries @since 0.1.0 */
export const isIteration = (s: string): boolean => s.charCodeAt(0) === 74

/** A header phi that is not understood (yet). @category queries @since 0.1.0 */
export const isUnsolved = (s: string): boolean => s.charCodeAt(0) === 80

/** A value of known range. @category queries @since 0.1.0 */
export const isRange = (s: string): boolean => s.charCodeAt(0) === 82

/** A symbol that differs between iterations of the loop to be split. @category queries @since 0.1.0 */
export const isVarying = (s: string): boolean => isIteration(s) || isUnsolved(s) || isRange(s)
