/**
 * Arguments of generated functions and the memory that they find: mostly such that iterations are independent, often
 * such that ranges overlap, wrap around or leave memory.
 */
import type { Choices } from "./choices.ts"
import type { Counting, Quantity } from "./loops.ts"
import type { GeneratedFunction } from "./modules.ts"

/**
 * A call and the memory before it.
 *
 * @category models
 * @since 0.1.0
 */
export interface GeneratedCall {
  readonly name: string
  readonly args: ReadonlyArray<number | bigint>
  /** Seed of the memory's contents. */
  readonly image: number
  /** Words at fixed places: bases at 0, a base or a bound where `d` points. */
  readonly words: ReadonlyArray<readonly [byte: number, word: number]>
}

/** Iterations that a call may take in one loop. */
const MOST_ITERATIONS = 4_000

interface Values {
  readonly a: number
  readonly b: number
  readonly c: number
  readonly d: number
  readonly n: number
  readonly m: number
  readonly s: number
  readonly v: number
  readonly k: bigint
  readonly r: number
}

const TAME_COUNTS = [7, 8, 12, 15, 16, 17, 20, 24, 31, 33, 50, 64, 65, 90, 100, 130]
const ODD_COUNTS = [
  0,
  1,
  2,
  -1,
  -2,
  1000,
  2 ** 30 - 1,
  2 ** 30,
  2 ** 30 + 1,
  2 ** 31 - 1,
  -(2 ** 31),
  -(2 ** 31) + 3
]

/** Where arrays begin when they are apart, and how far. */
const FIRST_ARRAY = 6_000
const ARRAY_BYTES = 13_000

const bases = (choices: Choices, tame: boolean): Pick<Values, "a" | "b" | "c" | "d"> => {
  const jitter = (): number => choices.weighted([[4, 0], [2, 4 * choices.below(8)], [1, choices.below(64)]])
  const order = [0, 1, 2, 3].sort(() => choices.chance(0.5) ? 1 : -1)
  const apart = order.map((place) => FIRST_ARRAY + ARRAY_BYTES * place + jitter())
  const [a, b, c, d] = apart
  if (tame && choices.chance(0.87)) return { a, b, c, d }
  return choices.weighted<Pick<Values, "a" | "b" | "c" | "d">>([
    [3, { a, b, c, d }],
    [1, { a, b: a, c, d }],
    [1, { a, b: a + choices.pick([1, 2, 4, 8, 16, 64, -4, -1, 256]), c, d }],
    [1, { a, b, c: b + 4 * choices.below(200), d: b + choices.below(800) }],
    [1, { a, b, c, d: a + 4 * choices.below(120) }],
    [1, { a: 65_536 - choices.below(1024), b, c, d }],
    [1, { a, b: 65_536 - 4 * choices.below(128), c, d: 65_500 }],
    [1, { a: -choices.below(600), b, c, d }],
    [1, { a, b: choices.bits(), c: -4, d }]
  ])
}

/** What the iteration's number is, as the loop has it, `before` the last one. */
const lateValue = (counting: Counting | undefined, n: number, before: number): number => {
  if (counting === undefined) return n
  if (counting.counter === "countdown" || counting.start === "n") return before
  return counting.counter === "pointer" ? (n - before) * (counting.step as number) : n - before
}

const values = (choices: Choices, countings: ReadonlyArray<Counting>): Values => {
  const tame = choices.chance(0.84)
  const n = tame ? choices.pick(TAME_COUNTS) : choices.pick(ODD_COUNTS)
  const bySteps = countings.some((counting) => counting.step === "s")
  const fromV = countings.find((counting) => counting.start === "v")
  const plain: Values = {
    ...bases(choices, tame),
    n,
    m: choices.weighted([[6, 1 + choices.below(5)], [1, 0], [1, 9]]),
    s: choices.weighted([
      [6, choices.pick([1, 2, 4, 8, 16])],
      [2, choices.pick([3, 12, 20, -4, -8])],
      [tame ? 0 : 2, choices.pick([0, -1, 2 ** 30, -(2 ** 31), 2 ** 31 - 4])]
    ]),
    v: choices.weighted([[3, choices.below(100)], [2, choices.bits() | 0], [1, choices.pick([0, -1, 1])]]),
    k: choices.weighted([
      [3, BigInt(choices.below(50))],
      [1, BigInt(choices.bits()) << 13n],
      [1, choices.pick([0n, -1n, 2n ** 31n - 20n, 2n ** 32n - 10n])]
    ]),
    r: choices.weighted([[3, 1], [1, 3], [1, 0]])
  }
  if (fromV !== undefined) {
    if ((fromV.step as number) < 0 && fromV.relation.startsWith("l")) {
      // Downwards below zero: an unsigned bound ends that, too.
      const start = choices.pick(TAME_COUNTS)
      const limit = choices.pick([start + 1, start + 1, start, start + 100, 2 ** 31, -1, -3, -4]) | 0
      return { ...plain, v: start, n: limit }
    }
    // Counts that cross a border: start and limit are close together, wherever they are.
    const distance = choices.pick(TAME_COUNTS) * Math.abs(fromV.step as number)
    const limit = choices.pick([100, 100, 2 ** 31, 2 ** 31 - 1, 2 ** 30, 2 ** 32 - 1, 2 ** 32 - 5, 5]) | 0
    const start = ((fromV.step as number) > 0 ? limit - distance : limit + distance) | 0
    const near = choices.chance(0.7) ? { a: (plain.a - 4 * start) | 0, b: (plain.b - 4 * start) | 0 } : {}
    return { ...plain, ...near, n: limit, v: start }
  }
  // What is compared with `v` happens in one of the last iterations.
  if (choices.chance(0.55)) {
    return { ...plain, v: lateValue(countings[0], n, choices.pick([0, 1, 1, 1, 2, 2, 2, 3, 4])) }
  }
  if (bySteps && tame) return { ...plain, n: n * Math.max(1, Math.abs(plain.s) % 64) }
  return plain
}

const quantity = (of: Quantity, from: Values): bigint =>
  typeof of === "number" ? BigInt(of) : of === "k" ? from.k : BigInt(from[of])

/** Whether the loop ends by its own test within {@link MOST_ITERATIONS}. */
const ends = (counting: Counting, from: Values): boolean => {
  if (counting.fuel !== undefined) return true
  const width = counting.counter === "wide" ? 64 : 32
  const signed = (value: bigint): bigint => BigInt.asIntN(width, value)
  const step = quantity(counting.step, from)
  const limit = counting.limit === "end"
    ? signed(BigInt(from.a) + BigInt(from.n) * step)
    : signed(quantity(counting.limit as Quantity, from))
  let at = signed(quantity(counting.start, from))
  for (let round = 0; round < MOST_ITERATIONS; round++) {
    const next = signed(at + step)
    const tested = counting.advanced ? next : at
    const [x, y] = counting.relation.endsWith("_u")
      ? [BigInt.asUintN(width, tested), BigInt.asUintN(width, limit)]
      : [tested, limit]
    const goesOn = {
      ne: x !== y,
      lt_s: x < y,
      lt_u: x < y,
      gt_s: x > y,
      gt_u: x > y,
      le_s: x <= y,
      le_u: x <= y,
      ge_s: x >= y,
      ge_u: x >= y
    }[counting.relation]
    if (!goesOn) return true
    at = next
  }
  return false
}

/** A call whose loops end in reasonable time, or `undefined` when a few tries found none. */
export const chooseCall = (choices: Choices, target: GeneratedFunction): GeneratedCall | undefined => {
  for (let attempt = 0; attempt < 12; attempt++) {
    let from = values(choices, target.countings)
    if (!target.countings.every((counting) => ends(counting, from))) continue
    const loaded = target.countings.some((counting) => counting.limit === "loaded")
    const bound = choices.weighted([[5, choices.pick(TAME_COUNTS)], [1, choices.pick(ODD_COUNTS)]])
    const words: Array<readonly [number, number]> = [0, 1, 2, 3, 4, 5, 6, 7].map((slot) =>
      [
        4 * slot,
        choices.weighted([
          [9, FIRST_ARRAY + ARRAY_BYTES * (slot % 4) + 5_000],
          [1, from.a],
          [1, choices.bits()]
        ])
      ] as const
    )
    // A bound that one of the last iterations writes over.
    if (loaded && choices.chance(0.3)) {
      const late = bound - 3 + choices.below(5)
      from = { ...from, d: from[choices.pick(["a", "b", "c"] as const)] + choices.pick([4, 8, 16, 32]) * late }
    }
    const base = choices.weighted([[9, FIRST_ARRAY + 7_000 + 4 * choices.below(300)], [1, from.b], [1, from.d]])
    for (let slot = 0; slot < 4; slot++) words.push([from.d + 4 * slot, slot === 0 && loaded ? bound : base])
    return {
      name: target.name,
      args: [from.a, from.b, from.c, from.d, from.n, from.m, from.s, from.v, from.k, from.r],
      image: choices.bits(),
      words
    }
  }
  return undefined
}

/** Fills memory for a call: small words, floats, noise and zeros in stretches, then the words at fixed places. */
export const fillImage = (image: Uint8Array, call: GeneratedCall, make: (seed: number) => Choices): void => {
  const choices = make(call.image)
  const words = new Int32Array(image.buffer)
  for (let at = 0; at < words.length; at += 64) {
    const kind = choices.below(4)
    const seed = choices.bits()
    for (let k = 0; k < 64; k++) {
      const noise = Math.imul(seed + k, 0x9e3779b1)
      words[at + k] = kind === 0
        ? noise
        : kind === 1
        ? noise >>> 24
        : kind === 2
        ? 0x3f00_0000 + (noise >>> 8)
        : noise >> 20
    }
  }
  const view = new DataView(image.buffer)
  for (const [byte, word] of call.words) if (byte >= 0 && byte + 4 <= image.length) view.setInt32(byte, word, true)
}
