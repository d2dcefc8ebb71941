/**
 * Statements of a generated loop body.
 */
import { BLOCK, type Body, type Label, type LocalName } from "./body.ts"
import type { Choices } from "./choices.ts"
import {
  address,
  chooseStore,
  condition,
  GLOBALS,
  iteration,
  type NumberType,
  type Scope,
  temporary,
  value
} from "./expressions.ts"
import { chosen, framed, hashed, rows, spilled } from "./scratch.ts"

/**
 * Where a statement stands, and what the whole function is made of.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place {
  /** Names of statements that are left out, to make a failing program small. */
  readonly without: ReadonlySet<string>
  /** Names of the statements that were generated. */
  readonly names: Array<string>
  readonly scope: Scope
  /** Behind the loop, for ways out. */
  readonly out: Label
  /** Goes on with the next iteration; `undefined` where the counter is not yet advanced. */
  readonly again: Label | undefined
  /** Functions that can be called: helpers that only compute and store, and an imported one. */
  readonly helpers: ReadonlyArray<number>
  readonly host: number
  /** What may be generated. */
  readonly kinds: ReadonlyArray<readonly [weight: number, kind: StatementKind]>
  /** Nested constructs left. */
  readonly depth: number
}

/** Kinds of statements. */
export type StatementKind =
  | "store"
  | "assign"
  | "reduce"
  | "if"
  | "inner"
  | "exit"
  | "divide"
  | "truncate"
  | "carry"
  | "call"
  | "switch"
  | "bump"
  | "tee"
  | "trap"
  | "host"
  | "continue"
  | "store-lane"
  | "spill"
  | "frame"
  | "rows"
  | "hash"
  | "chosen"
  | "skip"
  | "dead"
  | "either"
  | "publish"
  | "bulk"

const store = (body: Body, choices: Choices, scope: Scope, wanted: NumberType): void => {
  const { bytes, opcode, type } = chooseStore(choices, scope, wanted)
  const offset = address(body, choices, scope, bytes, true)
  value(body, choices, scope, type, 2)
  body.access(opcode, offset)
}

/** A fill or copy, mostly of as many bytes as an element has. */
const bulk = (body: Body, choices: Choices, scope: Scope): void => {
  const bytes = Math.min(...scope.arrays.stored.map((name) => scope.arrays.scale[name]))
  const copies = choices.chance(0.6)
  const place = (stores: boolean): void => {
    const offset = address(body, choices, scope, bytes, stores)
    if (offset > 0) body.i32(offset).op(0x6a)
  }
  place(true)
  if (copies) place(false)
  else value(body, choices, scope, "i32", 1)
  if (choices.chance(0.08)) body.get("v").i32(15).op(0x71)
  else body.i32(choices.weighted([[6, bytes], [1, bytes + 4], [1, 0], [1, 300]]))
  body.op(copies ? 0xfc00a : 0xfc00b)
  body.code.out.u8(0)
  if (copies) body.code.out.u8(0)
}

const someType = (choices: Choices): NumberType =>
  choices.weighted([[10, "i32"], [3, "i64"], [2, "f32"], [2, "f64"], [2, "v128"]])

const assign = (body: Body, choices: Choices, scope: Scope): void => {
  const type = someType(choices)
  const name = temporary(choices, type)
  value(body, choices, scope, type, 2)
  body.set(name)
  scope.written.add(name)
}

const REDUCTIONS: ReadonlyArray<readonly [weight: number, opcode: number]> = [
  [5, 0x6a],
  [2, 0x73],
  [1, 0x71],
  [1, 0x72],
  [1, 0x6c],
  [1, 0x6b]
]

/** An accumulator, alone or with another use of its partial value. */
const reduce = (body: Body, choices: Choices, scope: Scope): void => {
  if (choices.chance(0.2)) {
    body.get("total")
    value(body, choices, scope, "i64", 2)
    body.op(choices.pick([0x7c, 0x7c, 0x85, 0x7e, 0x83, 0x7d])).set("total")
    return
  }
  const name = choices.pick<LocalName>(["sum", "sum", "other"])
  const opcode = choices.weighted(REDUCTIONS)
  const flipped = choices.chance(0.3) && opcode !== 0x6b
  if (!flipped) body.get(name)
  value(body, choices, scope, "i32", 2)
  if (flipped) body.get(name)
  body.op(opcode)
  if (choices.chance(0.12)) {
    // Kept only now and then.
    body.get(name)
    value(body, choices, scope, "i32", 1)
    body.op(0x1b)
  }
  body.set(name)
  if (choices.chance(0.05)) {
    const { bytes, opcode } = chooseStore(choices, scope, "i32")
    const offset = address(body, choices, scope, bytes, true)
    body.get(name).access(opcode, offset)
  }
  if (choices.chance(0.04)) {
    body.get(name).i32(choices.bits()).op(0x48).open(0x04)
    body.get("x").set("x").end()
  }
}

/** Pushes a condition that is rarely true. */
const rare = (body: Body, choices: Choices, scope: Scope): void =>
  choices.weighted<() => void>([
    [3, () => {
      value(body, choices, scope, "i32", 1)
      body.i32(choices.pick([0x1234, 77, -5])).op(0x46)
    }],
    [6, () => {
      // In one of the last iterations, when `v` is chosen so.
      iteration(body, scope)
      const falls = scope.counter === "countdown"
      body.get("v").op(choices.pick(falls ? [0x46, 0x48, 0x4c] : [0x46, 0x46, 0x4a, 0x4e]))
    }],
    [1, () => {
      const offset = address(body, choices, scope, 1, false)
      body.access(0x2d, offset).i32(0xfe).op(0x46)
    }]
  ])()

const inside = (place: Place, written: Set<LocalName>): Place => ({
  ...place,
  scope: { ...place.scope, written },
  depth: place.depth - 1
})

const block = (body: Body, choices: Choices, place: Place, name: string): void => {
  const count = 1 + choices.below(2)
  for (let k = 0; k < count; k++) statement(body, choices.of(`${k}`), place, `${name}.${k}`)
}

const branches = (body: Body, choices: Choices, place: Place, name: string): void => {
  condition(body, choices, place.scope)
  body.open(0x04)
  block(body, choices.of("then"), inside(place, new Set(place.scope.written)), `${name}.then`)
  if (choices.chance(0.5)) {
    body.else()
    block(body, choices.of("else"), inside(place, new Set(place.scope.written)), `${name}.else`)
  }
  body.end()
}

/** Unsigned loops from 0, 1 or -2 on that end within a few rounds: step and bound. */
const WRAPPING = ([
  [0x6000_0000, 0xe000_0000],
  [0x3000_0001, 0xd000_0000],
  [0x5fff_ffff, 0xf000_0000],
  [0x4000_0000, 0xc000_0000],
  [0x2000_0000, 0x9000_0000],
  [0xa000_0000, 0xf800_0000],
  [-3, 0xffff_fff0]
] as const).filter(([step, bound]) =>
  [0, 1, -2].every((start) => {
    let at = start
    for (let round = 0; round < 40; round++) {
      at = (at + step) | 0
      if (at >>> 0 >= bound) return true
    }
    return false
  })
)

/** An inner loop whose count is a constant, the parameter `m`, or follows the outer one. */
const inner = (body: Body, choices: Choices, place: Place, name: string): void => {
  const limit = choices.weighted<() => void>([
    [3, () => body.i32(1 + choices.below(6))],
    [6, () => body.get("m")],
    [1, () => {
      iteration(body, place.scope)
      body.i32(7).op(0x71)
    }]
  ])
  const within = inside(place, new Set(place.scope.written))
  const scope: Scope = { ...within.scope, inner: true }
  const statements = (out: Label | undefined): void => {
    block(body, choices.of("body"), { ...within, scope, again: undefined }, `${name}.body`)
    if (out !== undefined && choices.chance(0.2)) {
      // A second test, counted or by data.
      if (choices.chance(0.6)) body.get("j").get(choices.pick(["v", "s"])).op(choices.pick([0x4e, 0x4f])).brIf(out)
      else {
        value(body, choices, scope, "i32", 1)
        body.i32(15).op(0x71, 0x45).brIf(out)
      }
    }
    if (choices.chance(0.35)) body.get("p").i32(choices.pick([1, 4, 4, 8])).op(0x6a).set("p")
  }
  body.i32(choices.weighted([[6, 0], [1, 1], [1, -2]])).set("j")
  if (choices.chance(0.12)) {
    // A counter that wraps around before it reaches its bound, or in big steps just reaches it.
    const [step, bound] = choices.pick(WRAPPING)
    const loop = body.open(0x03)
    statements(undefined)
    body.get("j").i32(step).op(0x6a).tee("j").i32(bound).op(0x49).brIf(loop).end()
  } else if (choices.chance(0.5)) {
    const out = body.open(0x02)
    const loop = body.open(0x03)
    body.get("j")
    limit()
    body.op(choices.pick([0x4e, 0x4e, 0x4f])).brIf(out)
    statements(out)
    body.get("j").i32(1).op(0x6a).set("j").br(loop).end().end()
  } else {
    const loop = body.open(0x03)
    statements(undefined)
    body.get("j").i32(1).op(0x6a).tee("j")
    limit()
    body.op(0x48).brIf(loop).end()
  }
}

/** Leaves early: by a branch or a return, past a host call or a written global that shows what was known. */
const exit = (body: Body, choices: Choices, place: Place): void => {
  rare(body, choices, place.scope)
  if (choices.chance(0.35)) {
    body.brIf(place.out)
    return
  }
  body.open(0x04)
  const shown = choices.pick<LocalName>(["carried", "x", "sum", "q", "i"])
  if (choices.chance(0.4)) body.get(shown).get("y").call(place.host).op(0x1a)
  if (choices.chance(0.3)) body.get(shown).globalSet(GLOBALS.out + 1)
  if (choices.chance(0.1)) {
    // Nothing of this may happen in a chunk: a loop on the way out, a fill, a store.
    body.i32(3).set("y")
    const loop = body.open(0x03)
    body.get("a").get("y").op(0x6a).get(shown).access(0x3a, 0)
    body.get("y").i32(1).op(0x6b).tee("y").brIf(loop).end()
    if (choices.chance(0.5)) {
      body.get("b").get(shown).i32(5).op(0xfc00b)
      body.code.out.u8(0)
    }
  }
  if (choices.chance(0.2)) body.get("a").get(shown).access(0x36, 0)
  if (choices.chance(0.3)) body.get(shown).op(0x0f)
  else body.br(place.out)
  body.end()
}

const divide = (body: Body, choices: Choices, place: Place): void => {
  const { scope } = place
  const wide = choices.chance(0.25)
  value(body, choices, scope, wide ? "i64" : "i32", 1)
  choices.weighted<() => void>([
    [4, () => wide ? body.get("k") : body.get(choices.pick(["v", "s", "m"]))],
    [2, () => value(body, choices, scope, wide ? "i64" : "i32", 0)],
    [2, () => wide ? body.i64(choices.pick([3, -1, 10])) : body.i32(choices.pick([3, -1, 10]))],
    [2, () => {
      value(body, choices, scope, wide ? "i64" : "i32", 0)
      if (wide) body.i64(1).op(0x84)
      else body.i32(1).op(0x72)
    }]
  ])()
  const first = wide ? 0x7f : 0x6d
  body.op(first + choices.below(4))
  const name = temporary(choices, wide ? "i64" : "i32")
  body.set(name)
  scope.written.add(name)
}

const truncate = (body: Body, choices: Choices, { scope }: Place): void => {
  value(body, choices, scope, "f32", 1)
  body.op(0xfc000, 0xb2) // made finite: then the truncation traps only out of range
  body.f32(choices.pick([0x3f00_0000, 0x4000_0000, 0x4f00_0000])).op(0x94, choices.pick([0xa8, 0xa9])).set("y")
  scope.written.add("y")
}

const switchOver = (body: Body, choices: Choices, place: Place, name: string): void => {
  const end = body.open(0x02)
  const second = body.open(0x02)
  const first = body.open(0x02)
  value(body, choices, place.scope, "i32", 1)
  body.i32(3).op(0x71)
  const targets = [first, second, end, first]
  if (place.again !== undefined && choices.chance(0.2)) targets[2] = place.again
  if (choices.chance(0.06)) targets[3] = place.out
  body.brTable(targets).end()
  block(body, choices.of("first"), inside(place, new Set(place.scope.written)), `${name}.first`)
  if (choices.chance(0.7)) body.br(end)
  body.end()
  block(body, choices.of("second"), inside(place, new Set(place.scope.written)), `${name}.second`)
  body.end()
}

const CONVERT: Readonly<Record<"f32" | "f64", number>> = { f32: 0xfc000, f64: 0xfc003 }

/** One statement; its name is its place in the tree. */
export const statement = (body: Body, choices: Choices, place: Place, name: string): void => {
  if (place.without.has(name)) return
  place.names.push(name)
  const { depth, scope } = place
  const kind = choices.weighted(place.kinds)
  const nested = kind === "if" || kind === "skip" || kind === "either" || kind === "inner" || kind === "switch"
  if (nested && depth <= 0 || kind === "inner" && scope.inner) return store(body, choices, scope, "i32")
  switch (kind) {
    case "store":
      return store(body, choices, scope, someType(choices))
    case "store-lane": {
      const offset = address(body, choices, scope, 4, true)
      value(body, choices, scope, "v128", 1)
      body.code.op(0xfd05a).out.u8(0).u32(offset).u8(choices.below(4))
      return
    }
    case "assign":
      return assign(body, choices, scope)
    case "tee": {
      const offset = address(body, choices, scope, 4, true)
      value(body, choices, scope, "i32", 1)
      body.tee("z").access(0x36, offset)
      scope.written.add("z")
      return
    }
    case "reduce":
      return reduce(body, choices, scope)
    case "if":
      return branches(body, choices, place, name)
    case "inner":
      return inner(body, choices, place, name)
    case "exit":
      return exit(body, choices, place)
    case "divide":
      return divide(body, choices, place)
    case "truncate":
      return truncate(body, choices, place)
    case "carry": {
      const type = choices.pick<"f32" | "f64" | undefined>([undefined, undefined, "f32", "f64"])
      value(body, choices, scope, type ?? "i32", 1)
      if (type !== undefined) body.op(CONVERT[type])
      body.set("carried")
      return
    }
    case "call": {
      address(body, choices, scope, 4, true)
      value(body, choices, scope, "i32", 1)
      body.call(choices.pick(place.helpers)).set("y")
      scope.written.add("y")
      return
    }
    case "switch":
      return switchOver(body, choices, place, name)
    case "bump":
      if (scope.counter === "pointer" || scope.arrays.pointers) return store(body, choices, scope, "i32")
      body.get("q")
      value(body, choices, scope, "i32", 1)
      body.access(0x36, 0).get("q").i32(choices.pick([4, 4, 8, -4])).op(0x6a).set("q")
      return
    case "trap":
      rare(body, choices, scope)
      body.open(0x04)
      // What is known last is shown, and there is no way back.
      if (choices.chance(0.4)) body.get(choices.pick(["carried", "x", "i", "sum"])).globalSet(GLOBALS.out + 1)
      if (choices.chance(0.2)) body.get(choices.pick(["carried", "x"])).get("y").call(place.host).op(0x1a)
      body.op(0x00).end()
      return
    case "spill":
      return spilled(body, choices, scope)
    case "frame":
      return framed(body, choices, scope)
    case "rows":
      return rows(body, choices, scope)
    case "hash":
      return hashed(body, choices, scope)
    case "chosen":
      return chosen(body, choices, scope)
    case "skip": {
      // Past some statements, and now and then out of the loop or on to the next iteration.
      const end = choices.chance(0.5) ? body.open(0x02) : body.openTyped(0x02, BLOCK.nothing)
      condition(body, choices, scope)
      if (choices.chance(0.5)) body.op(0x45)
      body.brIf(end)
      const within = inside(place, new Set(scope.written))
      block(body, choices.of("skipped"), within, `${name}.skipped`)
      if (place.again !== undefined && choices.chance(0.2)) body.br(place.again)
      body.end()
      return
    }
    case "bulk":
      return bulk(body, choices, scope)
    case "publish":
      // A global that keeps what the last iteration gave it.
      if (choices.chance(0.2)) {
        body.globalGet(GLOBALS.out + 2)
        value(body, choices, scope, "i32", 1)
        body.op(choices.pick([0x6a, 0x73]))
      } else value(body, choices, scope, "i32", 1)
      body.globalSet(GLOBALS.out + 2)
      return
    case "either": {
      // One condition or the other leads here: a place with two ways in that some iterations pass by.
      const skip = body.open(0x02)
      const here = body.open(0x02)
      const test = (): void => {
        if (choices.chance(0.3)) body.get(choices.pick(["v", "m"])).i32(choices.pick([1, 2, 3])).op(0x71)
        else condition(body, choices, scope)
      }
      test()
      body.brIf(here)
      test()
      body.op(0x45).brIf(choices.chance(0.9) ? skip : place.out)
      body.end()
      const within = inside(place, new Set(scope.written))
      if (choices.chance(0.3)) spilled(body, choices, within.scope)
      else block(body, choices.of("either"), within, `${name}.either`)
      body.end()
      return
    }
    case "dead": {
      const end = body.open(0x02)
      iteration(body, scope)
      body.i32(choices.below(8)).op(0x46).brIf(end)
      body.get("v").set("z").br(end)
      // Never reached, and well typed only because of that.
      body.op(0x6a).set("z").i32(3).access(0x28, 0).op(0x1a)
      body.open(0x03)
      body.op(0x00).end().end()
      return
    }
    case "host":
      iteration(body, scope)
      body.get("x").call(place.host).op(0x1a)
      return
    case "continue":
      if (place.again === undefined) return assign(body, choices, scope)
      value(body, choices, scope, "i32", 1)
      body.i32(3).op(0x71, 0x45).brIf(place.again)
  }
}
