/**
 * The shape of a bench: one claim, one figure, and the raw samples from which everything said about it follows.
 */

/**
 * How an instrument is to be run. `quick` bounds it to less than a minute, with fewer rounds and no smaller input.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunOptions {
  readonly quick: boolean
}

/**
 * One condition of a claim, and whether the samples meet it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Check {
  readonly what: string
  readonly value: number
  readonly atLeast?: number
  readonly atMost?: number
  readonly met: boolean
}

/**
 * What the samples say. `rows` is for people: one line a key. Nothing in it may come from anywhere but the samples.
 *
 * @category models
 * @since 0.1.0
 */
export interface Summary {
  readonly figure: number
  readonly unit: string
  readonly checks: ReadonlyArray<Check>
  readonly rows: Readonly<Record<string, unknown>>
}

/**
 * The module of an instrument, `bench/<name>.ts`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Instrument<Samples = unknown> {
  /** What is claimed, in one line. */
  readonly claim: string
  /** Takes the raw samples (plain JSON). */
  readonly measure: (options: RunOptions) => Promise<Samples>
  /** A pure function of the samples: `regenerate` calls it on what is stored. */
  readonly summarise: (samples: Samples) => Summary
}

/**
 * A condition with its verdict.
 *
 * @category constructors
 * @since 0.1.0
 */
export const check = (
  what: string,
  value: number,
  bound: { readonly atLeast?: number; readonly atMost?: number }
): Check => ({
  what,
  value,
  ...bound,
  met: value >= (bound.atLeast ?? -Infinity) && value <= (bound.atMost ?? Infinity)
})

/**
 * What an instrument needs and this machine lacks; said in one line.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unavailable extends Error {
  override readonly name = "Unavailable"
}
