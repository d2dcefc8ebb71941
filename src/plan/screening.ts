/**
 * Refusals that control flow alone decides, before a loop's value graph is built.
 *
 * @since 0.1.0
 */
import type { Dominators } from "../analysis/dominators.ts"
import { dominates, dominators } from "../analysis/dominators.ts"
import type { Flow, FlowLoop } from "../analysis/flow.ts"
import type { LoopShape } from "../analysis/scan.ts"
import type { Reason } from "./types.ts"

/** Most reasons of one loop. */
const MAXIMUM_REASONS = 8

/**
 * Screens the loops of one function.
 *
 * @category planning
 * @since 0.1.0
 */
export class Screening {
  readonly #flow: Flow
  readonly #dominators: Dominators
  /** By block: number of the last loop that was found to contain it. */
  readonly #inside: Int32Array
  #loop = 0

  constructor(flow: Flow) {
    this.#flow = flow
    this.#dominators = dominators(flow.succs.length, 0, (id) => flow.succs[id], (id) => flow.preds[id])
    this.#inside = new Int32Array(flow.succs.length)
  }

  /** Reasons that rule a loop out whatever its values are; none when it may be planned. */
  refusals(shape: LoopShape): ReadonlyArray<Reason> {
    const { offset } = shape
    const loop = this.#flow.loops.get(offset)
    // In code that is never reached nothing is known here.
    if (loop === undefined || !this.#isReached(loop.header)) return []
    const latches = this.#flow.preds[loop.header].slice(1).filter((block) => this.#isReached(block))
    if (latches.length === 0) {
      return [{ code: "uncountable", offset, detail: "control never returns to the start of this loop" }]
    }
    const body = this.#bodyOf(loop, latches)
    const blocking = this.#blocking(shape)
    if (blocking.length > 0) return blocking
    return this.#mayBeCounted(body, latches)
      ? []
      : [{ code: "uncountable", offset, detail: "no test that bounds the number of iterations was found" }]
  }

  /** True when a call in a loop is followed. */
  follows({ end, offset }: LoopShape): boolean {
    const { calls } = this.#flow
    const at = firstBehind(calls.length, (index) => calls[index], offset)
    return at < calls.length && calls[at] < end
  }

  #isReached(block: number): boolean {
    return this.#dominators.order[block] >= 0
  }

  /** Blocks of the natural loop; their marks are {@link Screening.#loop}. */
  #bodyOf({ header }: FlowLoop, latches: ReadonlyArray<number>): ReadonlyArray<number> {
    const { preds } = this.#flow
    const mark = ++this.#loop
    const body: Array<number> = []
    const add = (block: number): void => {
      if (this.#inside[block] === mark || !this.#isReached(block)) return
      this.#inside[block] = mark
      body.push(block)
    }
    add(header)
    latches.forEach(add)
    for (let at = 0; at < body.length; at++) if (body[at] !== header) preds[body[at]].forEach(add)
    return body
  }

  /** What an iteration does that no chunk may do. */
  #blocking({ end, offset }: LoopShape): ReadonlyArray<Reason> {
    const { effects } = this.#flow
    const found: Array<Reason> = []
    const first = firstBehind(effects.length, (index) => effects[index].position, offset)
    for (let at = first; at < effects.length && effects[at].position < end; at++) {
      const { block, code, position } = effects[at]
      if (this.#inside[block] !== this.#loop || found.length >= MAXIMUM_REASONS) continue
      found.push({ code, offset: position, detail: `each iteration does this: ${code}` })
    }
    return found
  }

  /** True when a way out, of the loop or of the function, is decided by a condition that every iteration asks. */
  #mayBeCounted(body: ReadonlyArray<number>, latches: ReadonlyArray<number>): boolean {
    const { succs, twoWay } = this.#flow
    return body.some((block) =>
      twoWay[block] === 1 && (succs[block].length < 2 || succs[block].some((to) => this.#inside[to] !== this.#loop)) &&
      latches.every((latch) => dominates(this.#dominators, block, latch))
    )
  }
}

/** Index of the first of the places, which ascend, behind an offset. */
const firstBehind = (count: number, place: (index: number) => number, offset: number): number => {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (place(middle) > offset) high = middle
    else low = middle + 1
  }
  return low
}
