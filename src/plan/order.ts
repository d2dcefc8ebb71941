/**
 * The order in which functions are analysed: the best first, so that a budget that ends early has gone to them.
 *
 * Where a profile says where work is, that decides. What a loop is worth is else guessed from its shape alone: the
 * instructions of an execution, each level of inner loops taken to run {@link GUESSED_TRIP} times. The order depends on
 * nothing but the code and the profile.
 *
 * @since 0.1.0
 */
import type { LoopShape } from "../analysis/scan.ts"

/** Iterations of a loop about which nothing is known: the usual guess of compilers. */
const GUESSED_TRIP = 10

/** Levels of inner loops that count. */
const MAXIMUM_DEPTH = 3

/** Instructions of one iteration beyond which a loop is rather a program than a kernel. */
const LARGE = 2_000

/**
 * Of each loop, by the offset of its `loop` instruction, its share of the instructions of a run: `loopShares`.
 *
 * @category models
 * @since 0.1.0
 */
export type LoopShares = ReadonlyMap<number, number>

/**
 * Least share of a run that a loop must have to be planned, where there is a profile: it could not save more than that.
 *
 * @category constants
 * @since 0.1.0
 */
export const MINIMUM_SHARE = 0.001

/** Why a loop without that share stays as it is. @category queries @since 0.1.0 */
export const coldness = (shares: LoopShares | undefined, offset: number): string | undefined => {
  if (shares === undefined) return undefined
  const share = shares.get(offset)
  if (share === undefined) return "the profile's run did not reach it"
  return share < MINIMUM_SHARE ? `it was ${(share * 100).toPrecision(2)} % of the profile's run` : undefined
}

/**
 * Loops of a function, in code order.
 *
 * @category models
 * @since 0.1.0
 */
export interface FunctionLoops {
  readonly functionIndex: number
  readonly shapes: ReadonlyArray<LoopShape>
}

/**
 * Functions by the share of their hottest loop, those without one, or all where there is no profile, by what their best
 * loop may be worth; equal ones in code order.
 *
 * @category queries
 * @since 0.1.0
 */
export const bestFirst = <A extends FunctionLoops>(
  functions: ReadonlyArray<A>,
  shares?: LoopShares
): ReadonlyArray<A> =>
  functions
    .map((one) => ({
      one,
      hottest: one.shapes.reduce((most, { offset }) => Math.max(most, shares?.get(offset) ?? -1), -1),
      worth: worthOf(one.shapes)
    }))
    .sort((x, y) => y.hottest - x.hottest || y.worth - x.worth || x.one.functionIndex - y.one.functionIndex)
    .map(({ one }) => one)

/** Guessed instructions of an execution of the best loop. @category queries @since 0.1.0 */
export const worthOf = (shapes: ReadonlyArray<LoopShape>): number => {
  /** Instructions inside each loop, those of inner loops as often as they are guessed to run. */
  const work = shapes.map(({ instructions }) => instructions)
  const height = shapes.map(() => 0)
  let best = 0
  // An outer loop stands before its inner ones.
  for (let index = shapes.length - 1; index >= 0; index--) {
    const { hopeless, indirect, instructions, parent, stores } = shapes[index]
    if (parent >= 0) {
      height[parent] = Math.max(height[parent], height[index] + 1)
      if (height[index] < MAXIMUM_DEPTH) work[parent] += (GUESSED_TRIP - 1) * work[index]
    }
    if (hopeless !== undefined) continue
    const doubts = (stores > 0 ? 1 : 4) * (indirect > 0 ? 16 : 1) * (instructions > LARGE ? 4 : 1)
    best = Math.max(best, work[index] / doubts)
  }
  return best
}
