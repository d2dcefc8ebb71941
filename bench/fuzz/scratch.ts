/**
 * Statements around memory that every iteration uses again: spilled values, stack frames, rows of scratch, tables
 * indexed by data; and addresses chosen by conditions that do not change. Each is generated right and, as often, with
 * something that makes it carry a value to the next iteration.
 */
import type { Body } from "./body.ts"
import type { Choices } from "./choices.ts"
import { address, chooseStore, condition, GLOBALS, iteration, type Scope, value } from "./expressions.ts"

/** Pushes the address of a slot that is the same in every iteration. */
const slot = (body: Body, choices: Choices): void => {
  choices.weighted<() => void>([
    [5, () => body.i32(512 + 4 * choices.below(6))],
    [1, () => body.globalGet(GLOBALS.mutable).i32(512).op(0x6a)],
    [1, () => body.get("r").i32(2).op(0x74).i32(640).op(0x6a)]
  ])()
}

const SLOT_STORES: ReadonlyArray<number> = [0x36, 0x36, 0x36, 0x3a, 0x3b]
const SLOT_LOADS: ReadonlyArray<number> = [0x28, 0x28, 0x28, 0x28, 0x2c, 0x2d, 0x2e, 0x2f]

/** Stores to the slot that `named` always draws alike. */
const spill = (body: Body, named: () => Choices, choices: Choices, scope: Scope): void => {
  slot(body, named())
  choices.weighted<() => void>([
    [2, () => value(body, choices, scope, "i32", 1)],
    [1, () => {
      iteration(body, scope)
      body.i32(2).op(0x74)
    }],
    [1, () => body.get("v")]
  ])()
  if (choices.chance(0.1)) body.op(0xac).access(0x37, 0)
  else body.access(choices.pick(SLOT_STORES), 0)
}

const reload = (body: Body, named: () => Choices, choices: Choices): void => {
  slot(body, named())
  body.access(choices.pick(SLOT_LOADS), choices.weighted([[12, 0], [1, 2], [1, 1]]))
}

/** A value spilled to memory and read again, perhaps before it was written, or written now and then. */
export const spilled = (body: Body, choices: Choices, scope: Scope): void => {
  const seed = choices.below(3)
  const named = (): Choices => choices.of(`slot ${seed}`)
  const order = choices.weighted<"written first" | "read first" | "sometimes" | "written only">([
    [5, "written first"],
    [1, "read first"],
    [2, "sometimes"],
    [4, "written only"]
  ])
  if (order === "sometimes") {
    condition(body, choices, scope)
    body.open(0x04)
    spill(body, named, choices, scope)
    body.end()
  } else if (order !== "read first") spill(body, named, choices, scope)
  if (order !== "written only") {
    choices.weighted<() => void>([
      [4, () => {
        reload(body, named, choices)
        body.set("z")
        scope.written.add("z")
      }],
      [1, () => {
        // The address follows the spilled value.
        const { bytes, opcode } = chooseStore(choices, scope, "i32")
        body.get(choices.pick(scope.arrays.stored))
        reload(body, named, choices)
        body.i32(choices.pick([1, 4, bytes])).op(0x6c, 0x6a).get("v").access(opcode, 0)
      }],
      [1, () => {
        // So does the pointer.
        body.get("p")
        reload(body, named, choices)
        body.op(0x6a).set("p")
      }],
      [1, () => {
        body.get("sum")
        reload(body, named, choices)
        body.op(0x6a).set("sum")
      }]
    ])()
  }
  if (order === "read first") spill(body, named, choices, scope)
}

/** A frame below a global that is lowered and put back, or nearly. */
export const framed = (body: Body, choices: Choices, scope: Scope): void => {
  const bytes = choices.pick([16, 32])
  body.globalGet(GLOBALS.stack).i32(bytes).op(0x6b).globalSet(GLOBALS.stack)
  const sometimes = choices.chance(0.25)
  if (sometimes) {
    condition(body, choices, scope)
    body.open(0x04)
  }
  body.globalGet(GLOBALS.stack)
  value(body, choices, scope, "i32", 1)
  body.access(0x36, choices.pick([0, 4, 8, 12, 20]))
  if (sometimes) body.end()
  body.globalGet(GLOBALS.stack).access(0x28, choices.pick([0, 4, 8, 12])).set("y")
  scope.written.add("y")
  body.globalGet(GLOBALS.stack).i32(choices.weighted([[8, bytes], [1, bytes - 4]])).op(0x6a).globalSet(GLOBALS.stack)
}

/** A row of scratch written by an inner loop and read by a second one, which may go further. */
export const rows = (body: Body, choices: Choices, scope: Scope): void => {
  if (scope.inner) return spilled(body, choices, scope)
  const width = choices.pick([1, 2, 4])
  const base = choices.pick([800, 1200])
  const stored = width === 1 ? 0x3a : width === 2 ? 0x3b : 0x36
  const loaded = width === 1 ? 0x2d : width === 2 ? 0x2f : 0x28
  const gap = choices.chance(0.2) ? 2 : 1
  const limit = (more: number): void => {
    if (choices.chance(0.7)) body.get("m").i32(more).op(0x6a)
    else body.i32(5 + more)
  }
  const within: Scope = { ...scope, inner: true, written: new Set(scope.written) }
  const sometimes = choices.chance(0.2)
  if (sometimes) {
    value(body, choices, scope, "i32", 1)
    body.i32(3).op(0x71).open(0x04)
  }
  const loops = (reads: boolean, more: number): void => {
    body.i32(0).set("j")
    const loop = body.open(0x03)
    if (reads) {
      const offset = address(body, choices, within, 4, true)
      body.i32(base).get("j").i32(width).op(0x6c, 0x6a).access(loaded, 0).access(0x36, offset)
    } else {
      body.i32(base).get("j").i32(width * gap).op(0x6c, 0x6a)
      value(body, choices, within, "i32", 1)
      body.access(stored, 0)
    }
    body.get("j").i32(1).op(0x6a).tee("j")
    limit(more)
    body.op(0x48).brIf(loop).end()
  }
  loops(false, 0)
  if (sometimes) body.end()
  loops(true, choices.weighted([[6, 0], [2, 1], [1, 3], [1, -1]]))
  if (choices.chance(0.4)) {
    // In the row or right behind it, and behind the reads.
    body.i32(base + width * (2 + choices.below(6)))
    iteration(body, scope)
    body.access(stored, 0)
  }
}

/** A table indexed by data. */
export const hashed = (body: Body, choices: Choices, scope: Scope): void => {
  const index = (): void => {
    value(body, choices.of("index"), scope, "i32", 1)
    body.i32(choices.of("mask").pick([3, 15, 63])).op(0x71).i32(2).op(0x74)
  }
  index()
  if (choices.chance(0.4)) {
    index()
    body.access(0x28, 2048).i32(1).op(0x6a)
  } else value(body, choices, scope, "i32", 1)
  body.access(0x36, 2048)
}

/** An address whose constant part is chosen by a condition: one that never changes, or one that does. */
export const chosen = (body: Body, choices: Choices, scope: Scope): void => {
  const steady = choices.chance(0.75)
  const choice = (): void => {
    if (steady) body.get(choices.pick(["v", "m", "s"])).i32(1 << choices.below(3)).op(0x71)
    else value(body, choices, scope, "i32", 1)
  }
  const other = choices.pick([64, 4, 400, -8])
  const { bytes, opcode } = chooseStore(choices, scope, "i32")
  const base = choices.pick(scope.arrays.stored)
  const scale = scope.arrays.scale[base]
  const advancing = (plus: number): void => {
    iteration(body, scope)
    body.i32(scale).op(0x6c)
    if (plus !== 0) body.i32(plus).op(0x6a)
  }
  if (choices.chance(0.4)) {
    advancing(0)
    advancing(other)
    choice()
    body.op(0x1b).set("x")
  } else {
    choice()
    body.open(0x04)
    advancing(0)
    body.set("x")
    if (choices.chance(0.3)) {
      choice()
      body.open(0x04)
      advancing(2 * bytes)
      body.set("x").end()
    }
    body.else()
    advancing(other)
    body.set("x").end()
  }
  scope.written.add("x")
  body.get(base).get("x").op(0x6a)
  value(body, choices, scope, "i32", 1)
  body.access(opcode, 0)
}
