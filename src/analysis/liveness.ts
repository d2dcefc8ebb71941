/**
 * Which locals are still read after a loop, so that a value no one reads does not count as carried.
 *
 * A classic backward data-flow over basic blocks with one bit a local.
 *
 * @since 0.1.0
 */
import type { Flow } from "./flow.ts"

/**
 * Locals live at the targets that a loop can leave to.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoopLiveness {
  /** Live locals at the label `depth` levels outside the loop (0 = the innermost label around it); `undefined`: none. */
  readonly atLabel: (depth: number) => Uint32Array | undefined
  /** Live locals behind the loop's `end`. */
  readonly after: Uint32Array | undefined
}

/** Liveness at each loop of a function, by the offset of the `loop` instruction. @category analysis @since 0.1.0 */
export const loopLiveness = (flow: Flow): ReadonlyMap<number, LoopLiveness> => {
  const { words } = flow
  const liveIn = solve(flow)
  const at = (block: number): Uint32Array => liveIn.subarray(block * words, (block + 1) * words)
  const result = new Map<number, LoopLiveness>()
  for (const [offset, { after, labels }] of flow.loops) {
    result.set(offset, {
      atLabel: (depth) => labels[depth] === undefined || labels[depth] < 0 ? undefined : at(labels[depth]),
      after: at(after)
    })
  }
  return result
}

/** live-in(b) = use(b) ∪ (live-out(b) − def(b)), to the fixed point. */
const solve = ({ def, preds, use, words }: Flow): Uint32Array => {
  const count = preds.length
  const liveIn = use.slice(0, count * words)
  const work = Array.from({ length: count }, (_, index) => index)
  const queued = new Uint8Array(count).fill(1)
  while (work.length > 0) {
    const index = work.pop()!
    queued[index] = 0
    const own = index * words
    for (const pred of preds[index]) {
      const into = pred * words
      let changed = false
      for (let w = 0; w < words; w++) {
        const next = (liveIn[into + w] | (liveIn[own + w] & ~def[into + w])) >>> 0
        if (next !== liveIn[into + w]) {
          liveIn[into + w] = next
          changed = true
        }
      }
      if (changed && queued[pred] === 0) {
        queued[pred] = 1
        work.push(pred)
      }
    }
  }
  return liveIn
}
