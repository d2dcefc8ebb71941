/**
 * Which functions are analysed first, where a profile says where work is.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../binary/module.ts"

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
 * Indices of the functions that a module defines, in the order of their hottest loops; the others, or all where there is
 * no profile, in the module's order.
 *
 * @category queries
 * @since 0.1.0
 */
export const analysisOrder = (module: WasmModule, shares: LoopShares | undefined): ReadonlyArray<number> => {
  const { functions, importedFunctions } = module
  const indices = Array.from({ length: functions.length - importedFunctions }, (_, at) => at + importedFunctions)
  if (shares === undefined) return indices
  const offsets = [...shares.keys()].sort((a, b) => a - b)
  const hottest = new Map<number, number>()
  let next = 0
  for (const index of indices) {
    const { end, start } = functions[index].body!
    while (offsets[next] < start) next++
    for (; offsets[next] < end; next++) {
      hottest.set(index, Math.max(hottest.get(index) ?? 0, shares.get(offsets[next])!))
    }
  }
  return indices.sort((a, b) => (hottest.get(b) ?? -1) - (hottest.get(a) ?? -1))
}
