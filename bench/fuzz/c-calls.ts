/**
 * Calls of generated C functions and the memory that they find: mostly arrays that are apart, often such that they touch,
 * overlap, end with memory or lie beyond it.
 */
import type { GuestCall, Split } from "../../test/support/differential.ts"
import { MEMORY_BYTES } from "./c-compile.ts"
import { bytesOf } from "./c-expressions.ts"
import type { CFunction } from "./c-functions.ts"
import type { Choices } from "./choices.ts"

/**
 * A call, the memory before it, and how its chunks are cut.
 *
 * @category models
 * @since 0.1.0
 */
export interface CCall {
  readonly call: GuestCall
  readonly image: Uint8Array
  readonly splits: ReadonlyArray<Split>
}

/** What arguments depend on. @category models @since 0.1.0 */
export type Signature = Pick<CFunction, "name" | "elements" | "advances">

/** Arrays begin here, so far from each other. Stack, table and globals lie below. */
const FIRST_ARRAY = 16_384
const ARRAY_BYTES = 24_576

const TAME = [7, 8, 12, 15, 16, 17, 20, 31, 32, 33, 50, 64, 65, 90, 100, 128, 130]
const ODD = [0, 1, 2, 3, 4, 1000, 2000]
const HUGE = [40_000, 2 ** 30, 2 ** 30 + 1, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 8, 2 ** 32 - 1]

const places = (choices: Choices, bytes: number): ReadonlyArray<number> => {
  const jitter = (): number => choices.weighted([[4, 0], [2, 8 * choices.below(16)], [1, choices.below(64)]])
  const [a, b, c, index] = [0, 1, 2, 3]
    .sort(() => choices.chance(0.5) ? 1 : -1)
    .map((slot) => FIRST_ARRAY + ARRAY_BYTES * slot + jitter())
  if (choices.chance(0.75)) return [a, b, c, index]
  return choices.pick([
    [a, a, c, index],
    [a, b, a, index],
    [a, a + choices.pick([1, 2, 4, 8, 16, -4, -8, 64]), c, index],
    [a, a + choices.below(600), a - choices.below(600), index],
    [a, b, b, b],
    [a, b, c, a],
    [a, a - choices.below(80), c, index],
    [a, b, a + 4 * choices.below(100), index],
    [MEMORY_BYTES - choices.below(2048), b, c, index],
    [a, MEMORY_BYTES - choices.below(1024), c, index],
    [a, b, MEMORY_BYTES - bytes * choices.below(130), index],
    [-choices.below(600), b, c, index],
    [a, b, c, choices.bits() | 0]
  ])
}

/** Memory: what the module has below its arrays, then small words, floats, noise and zeros in stretches. */
const fill = (choices: Choices, fresh: Uint8Array, image: Uint8Array, index: number, count: number): void => {
  image.set(fresh)
  const words = new Int32Array(image.buffer)
  for (let at = FIRST_ARRAY / 4; at < words.length; at += 64) {
    const kind = choices.below(5)
    const seed = choices.bits()
    for (let k = 0; k < 64; k++) {
      const noise = Math.imul(seed + k, 0x9e3779b1)
      words[at + k] = [noise, noise >>> 24, 0x3f00_0000 + (noise >>> 8), noise >> 20, 0][kind]
    }
  }
  // Indices: below the count, in order, backwards or at random.
  const order = choices.below(3)
  const view = new DataView(image.buffer)
  if (index < 0) return
  for (let k = 0; k < 256 && index + 4 * k + 4 <= image.length; k++) {
    const entry = order === 0 ? k : order === 1 ? 255 - k : choices.below(Math.max(1, Math.min(count, 500)))
    view.setUint32(index + 4 * k, entry, true)
  }
}

const image = new Uint8Array(MEMORY_BYTES)

/**
 * Call number `number` of a function; its memory is valid until the next one is made. `fresh` is the memory of a new
 * instance.
 *
 * @category generation
 * @since 0.1.0
 */
export const chooseCCall = (choices: Choices, target: Signature, fresh: Uint8Array): CCall => {
  const n = choices.weighted<() => number>([
    [16, () => choices.pick(TAME)],
    [2, () => choices.pick(ODD)],
    [target.advances ? 1 : 0, () => choices.pick(HUGE)]
  ])()
  const arrays = places(choices, bytesOf(target.elements[0]))
  fill(choices, fresh, image, arrays[3], n)
  const m = choices.weighted([[5, 1 + choices.below(5)], [1, 0], [1, 9]])
  const s = choices.weighted([[5, choices.pick([1, 2, 4, 8, 16])], [1, 3], [1, 0], [1, -1]])
  const v = choices.weighted([[4, choices.below(100)], [2, choices.bits() | 0], [1, 0], [1, -1], [1, n]])
  const r = choices.weighted([[3, 1], [1, 3], [1, 0]])
  return {
    call: { name: target.name, args: [...arrays, n | 0, m, s, v | 0, r] },
    image,
    splits: [
      { order: "reverse", width: 2 + choices.below(6) },
      { order: choices.bits(), width: choices.pick([2, 3, 5, 32]) },
      { order: "forward", width: 4 }
    ]
  }
}
