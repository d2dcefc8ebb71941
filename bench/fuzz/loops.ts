/**
 * Loops of generated functions: what counts, which way, under which test, and where the test stands.
 */
import type { Body, LocalName } from "./body.ts"
import type { Choices } from "./choices.ts"
import { chooseArrays, type Counter, GLOBALS, OUT_TYPES, type Scope } from "./expressions.ts"
import { type Place, statement, type StatementKind } from "./statements.ts"

/** Relations in the order of their opcodes from 0x46 on. */
const RELATIONS = ["eq", "ne", "lt_s", "lt_u", "gt_s", "gt_u", "le_s", "le_u", "ge_s", "ge_u"] as const

/** A relation under which a loop goes on. */
export type Relation = Exclude<typeof RELATIONS[number], "eq">

const OPPOSITE: Readonly<Record<Relation, typeof RELATIONS[number]>> = {
  ne: "eq",
  lt_s: "ge_s",
  lt_u: "ge_u",
  gt_s: "le_s",
  gt_u: "le_u",
  le_s: "gt_s",
  le_u: "gt_u",
  ge_s: "lt_s",
  ge_u: "lt_u"
}

const MIRROR: Readonly<Record<typeof RELATIONS[number], typeof RELATIONS[number]>> = {
  eq: "eq",
  ne: "ne",
  lt_s: "gt_s",
  lt_u: "gt_u",
  gt_s: "lt_s",
  gt_u: "lt_u",
  le_s: "ge_s",
  le_u: "ge_u",
  ge_s: "le_s",
  ge_u: "le_u"
}

/** A quantity of a loop's test: a number, or the parameter that holds it. */
export type Quantity = number | "n" | "s" | "k" | "a" | "v"

/**
 * How a loop counts.
 *
 * @category models
 * @since 0.1.0
 */
export interface Counting {
  readonly counter: Counter
  readonly start: Quantity
  readonly step: Quantity
  readonly relation: Relation
  /** `loaded`: from memory, at the address in `d`, in each test. `end`: a pointer `n` steps further. */
  readonly limit: Quantity | "loaded" | "end"
  /** The test sees the counter after it was advanced. */
  readonly advanced: boolean
  /** Where the test stands. */
  readonly test: "top" | "bottom" | "middle" | "if" | "table"
  /** A second counter ends the loop after so many iterations. */
  readonly fuel: number | undefined
}

/** A relation that lets a loop with this step end where it should, mostly. */
const relationFor = (choices: Choices, step: Quantity, exact = false): Relation => {
  if (choices.chance(0.03)) return choices.pick(["ne", "lt_s", "gt_s", "lt_u", "gt_u"])
  if (exact && choices.chance(0.5)) return "ne"
  return typeof step === "number" && step < 0
    ? choices.pick(["gt_s", "gt_s", "gt_u", "ge_s", "ge_u"])
    : choices.pick(["lt_u", "lt_s", "lt_u", "lt_s", "le_u", "le_s"])
}

const countings: ReadonlyArray<readonly [weight: number, make: (choices: Choices) => Omit<Counting, "fuel">]> = [
  [8, (choices) => {
    const step = choices.pick([1, 1, 1, 2, 3])
    const test = choices.pick(["bottom", "bottom", "table"] as const)
    return {
      counter: "i",
      start: choices.pick([0, 0, 0, 1, -3]),
      step,
      relation: relationFor(choices, step, step === 1),
      limit: "n",
      advanced: true,
      test
    }
  }],
  [5, (choices) => {
    const step = choices.pick([1, 1, 4])
    return {
      counter: "i",
      start: choices.pick([0, 0, 2]),
      step,
      relation: relationFor(choices, step, step === 1),
      limit: "n",
      advanced: false,
      test: choices.pick(["top", "top", "middle", "if"])
    }
  }],
  [3, (choices) => ({
    counter: "countdown",
    start: "n",
    step: -1,
    relation: choices.pick(["ne", "gt_s", "gt_u", "ge_s"]),
    limit: 0,
    advanced: choices.chance(0.7),
    test: choices.pick(["bottom", "top"])
  })],
  [3, (choices) => ({
    counter: "i",
    start: "n",
    step: choices.pick([-1, -2]),
    relation: choices.pick(["gt_s", "ge_s", "gt_s", "ne"]),
    limit: 0,
    advanced: choices.chance(0.5),
    test: choices.pick(["bottom", "top"])
  })],
  [3, (choices) => {
    const step = choices.pick([4, 4, 8, 1, 16, -4])
    return {
      counter: "pointer",
      start: "a",
      step,
      relation: relationFor(choices, step, true),
      limit: "end",
      advanced: true,
      test: choices.pick(["bottom", "top"])
    }
  }],
  [3, (choices) => {
    const start = choices.pick<Quantity>([0, 0, 1, "k"])
    const step = choices.pick([1, 1, 2])
    return {
      counter: "wide",
      start,
      step,
      relation: relationFor(choices, step, step === 1),
      limit: "n",
      advanced: choices.chance(0.6),
      test: choices.pick(["bottom", "top"])
    }
  }],
  [2, (choices) => {
    const step = choices.pick([1, 1, 3, -1])
    return {
      counter: "i",
      start: "v",
      step,
      relation: relationFor(choices, step, true),
      limit: "n",
      advanced: choices.chance(0.6),
      test: choices.pick(["bottom", "top"])
    }
  }],
  [1, (choices) => ({
    counter: "i",
    start: "v",
    step: choices.pick([-1, -1, -3]),
    relation: choices.pick(["lt_u", "le_u"]),
    limit: "n",
    advanced: choices.chance(0.6),
    test: choices.pick(["bottom", "top"])
  })],
  [1, (choices) => ({
    counter: "i",
    start: 0,
    step: "s",
    relation: relationFor(choices, "s"),
    limit: "n",
    advanced: choices.chance(0.6),
    test: choices.pick(["bottom", "top"])
  })],
  [1, (choices) => {
    const step = choices.pick([1, 1, 2])
    return {
      counter: "i",
      start: 0,
      step,
      relation: relationFor(choices, step, true),
      limit: "loaded",
      advanced: choices.chance(0.6),
      test: choices.pick(["bottom", "top", "middle"])
    }
  }]
]

type Kinds = ReadonlyArray<readonly [weight: number, kind: StatementKind]>

/** What most loops are made of. */
const PLAIN: Kinds = [
  [30, "store"],
  [10, "assign"],
  [6, "reduce"],
  [6, "if"],
  [3, "inner"],
  [2, "exit"],
  [2, "divide"],
  [1, "truncate"],
  [2, "carry"],
  [2, "call"],
  [1, "switch"],
  [2, "bump"],
  [3, "tee"],
  [1, "store-lane"],
  [1, "spill"],
  [2, "chosen"],
  [1, "skip"],
  [1, "publish"],
  [1, "bulk"]
]

/** Memory that is used again in each iteration. */
const SCRATCH: Kinds = [
  [18, "store"],
  [5, "assign"],
  [9, "spill"],
  [4, "frame"],
  [5, "rows"],
  [2, "hash"],
  [4, "call"],
  [4, "chosen"],
  [4, "if"],
  [3, "reduce"],
  [2, "exit"],
  [2, "trap"],
  [3, "skip"],
  [6, "either"],
  [1, "bulk"]
]

/** Ways through an iteration and out of it. */
const CONTROL: Kinds = [
  [20, "store"],
  [5, "if"],
  [4, "skip"],
  [4, "either"],
  [3, "switch"],
  [6, "exit"],
  [4, "carry"],
  [2, "continue"],
  [5, "trap"],
  [2, "dead"],
  [3, "inner"],
  [3, "divide"],
  [3, "chosen"],
  [4, "publish"],
  [2, "reduce"],
  [1, "truncate"],
  [1, "call"]
]

/** Now and then among the others. */
const RARE: Kinds = [
  [3, "exit"],
  [3, "carry"],
  [2, "trap"],
  [1, "host"],
  [2, "continue"],
  [2, "switch"],
  [2, "inner"],
  [2, "divide"],
  [2, "reduce"],
  [2, "hash"],
  [2, "spill"],
  [1, "frame"],
  [1, "rows"],
  [1, "dead"]
]

/** A way to count, with a second bound where the first may come late. */
export const chooseCounting = (choices: Choices): Counting => {
  const counting = choices.weighted(countings)(choices)
  const fuel = choices.chance(0.3) ? 4 + choices.below(60) : 100 + choices.below(400)
  return { ...counting, fuel: counting.limit === "loaded" || choices.chance(0.12) ? fuel : undefined }
}

const COUNTERS: Readonly<Record<Counter, LocalName>> = { i: "i", wide: "wide", pointer: "q", countdown: "n" }

const push = (body: Body, quantity: Quantity, wide: boolean): void => {
  if (typeof quantity === "number") {
    if (wide) body.i64(quantity)
    else body.i32(quantity)
  } else {
    body.get(quantity)
    if (wide && quantity !== "k") body.op(0xac)
  }
}

/** Emits a loop; what is not branched out of falls through behind it. */
export const emitLoop = (
  body: Body,
  choices: Choices,
  counting: Counting,
  outside: Omit<Place, "scope" | "out" | "again" | "kinds" | "depth">,
  name: string
): void => {
  const wide = counting.counter === "wide"
  const counter = COUNTERS[counting.counter]
  const scope: Scope = {
    counter: counting.counter,
    inner: false,
    written: new Set(),
    careless: choices.chance(0.1) ? 0.3 : 0,
    arrays: chooseArrays(choices)
  }
  const theme = choices.weighted([[5, PLAIN], [3, SCRATCH], [3, CONTROL]])
  if (counting.counter !== "countdown") {
    push(body, counting.start, wide)
    body.set(counter)
  }
  if (counting.limit === "end") {
    body.get("a").get("n")
    push(body, counting.step, false)
    body.op(0x6c, 0x6a).set("end")
  }
  if (counting.fuel !== undefined) body.i32(counting.fuel).set("fuel")
  const out = body.open(0x02)
  const loop = body.open(0x03)

  const condition = (relation: typeof RELATIONS[number]): void => {
    const flipped = choices.chance(0.3)
    const limit = (): void => {
      if (counting.limit === "loaded") {
        body.get("d").access(0x28, 0)
        if (wide) body.op(0xac)
      } else if (counting.limit === "end") body.get("end")
      else push(body, counting.limit, wide)
    }
    if (flipped) limit()
    body.get(counter)
    if (!flipped) limit()
    body.op((wide ? 0x51 : 0x46) + RELATIONS.indexOf(flipped ? MIRROR[relation] : relation))
  }
  const leaveUnless = (): void => {
    if (choices.chance(0.3)) {
      condition(counting.relation)
      body.op(0x45)
    } else condition(OPPOSITE[counting.relation])
    body.brIf(out)
  }
  const spend = (): void => {
    if (counting.fuel !== undefined) body.get("fuel").i32(1).op(0x6b).tee("fuel").op(0x45).brIf(out)
  }
  const advance = (): void => {
    body.get(counter)
    push(body, counting.step, wide)
    body.op(wide ? 0x7c : 0x6a).set(counter)
  }
  const hasContinue = counting.advanced === false && choices.chance(0.5)
  const statements = (part: string, least: number, most: number): void => {
    const count = least + choices.below(most - least + 1)
    if (part !== "head" && part !== "early" && !early) pointers()
    for (let k = 0; k < count; k++) {
      const kinds = choices.chance(0.08) ? RARE : theme
      const id = `${name}.${part}${k}`
      const again = hasContinue && part === "late" ? loop : undefined
      statement(body, choices.of(id), { ...outside, scope, out, again, kinds, depth: 2 }, id)
    }
  }
  // Pointers advance at the head of the iteration, between two accesses or behind them all.
  const pointers = (): void => {
    if (!scope.arrays.pointers) return
    if (counting.counter !== "pointer") {
      body.get("q").i32(scope.arrays.scale.b).op(choices.pick([0x6a, 0x6a, 0x6a, 0x6b])).set("q")
    }
    body.get("p").i32(scope.arrays.scale.c).op(0x6a).set("p")
  }
  const early = choices.chance(0.3)
  if (early) pointers()
  switch (counting.test) {
    case "top":
      leaveUnless()
      spend()
      if (hasContinue) {
        statements("early", 0, 2)
        advance()
        statements("late", 1, 3)
      } else {
        statements("body", 1, 5)
        advance()
      }
      body.br(loop)
      break
    case "middle":
      statements("head", 1, 3)
      leaveUnless()
      spend()
      statements("body", 1, 3)
      advance()
      body.br(loop)
      break
    case "if":
      spend()
      condition(counting.relation)
      body.open(0x04)
      statements("body", 1, 5)
      advance()
      body.br(loop).end()
      break
    case "bottom":
      statements("body", 1, 5)
      spend()
      if (counting.advanced) advance()
      if (counting.advanced || counting.test === "bottom") {
        condition(counting.relation)
        if (!counting.advanced) {
          // The test sees the counter as it was: advance on the way back.
          body.open(0x04)
          advance()
          body.br(loop).end()
        } else if (choices.chance(0.2)) {
          body.op(0x45).brIf(out).br(loop)
        } else body.brIf(loop)
      }
      break
    case "table":
      statements("body", 1, 4)
      spend()
      advance()
      condition(counting.relation)
      if (choices.chance(0.5)) body.brTable([out, loop])
      else {
        // A table that only selects among ways to go on, behind an ordinary test.
        body.op(0x45).brIf(out)
        const skip = body.open(0x02)
        body.get("v").i32(1).op(0x71).brTable([skip, loop, skip]).end()
        body.br(loop)
      }
  }
  body.end().end()
}

/** Leaves traces of locals behind the loop. */
export const emitTraces = (body: Body, choices: Choices): void => {
  const traces: ReadonlyArray<readonly [LocalName, ReadonlyArray<number>]> = [
    ["sum", []],
    ["other", []],
    ["carried", []],
    ["i", []],
    ["q", []],
    ["p", []],
    ["x", []],
    ["y", []],
    ["z", []],
    ["n", []],
    ["j", []],
    ["f", [0xbc]],
    ["wide", [0xa7]],
    ["u", [0xa7]],
    ["total", [0xa7]],
    ["e", [0xbd, 0xa7]]
  ]
  OUT_TYPES.forEach((type, index) => {
    if (!choices.chance(0.6)) return
    if (type === "i64") {
      choices.weighted<() => void>([
        [2, () => body.get("total")],
        [1, () => body.get("w").lane(0xfd01d, 1)],
        [1, () => body.get("wide")]
      ])()
    } else {
      // Accumulators most of all: what else is read here counts as carried from iteration to iteration.
      const [name, opcodes] = choices.chance(0.6) ? choices.pick(traces.slice(0, 6)) : choices.pick(traces)
      body.get(name).op(...opcodes)
    }
    body.globalSet(GLOBALS.out + index)
  })
}
