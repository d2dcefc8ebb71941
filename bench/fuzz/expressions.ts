/**
 * Values and addresses of generated code. Everything is well typed by construction; which addresses advance evenly,
 * overlap or make no sense is left to chance and arguments.
 */
import { BLOCK, type Body, type LocalName } from "./body.ts"
import type { Choices } from "./choices.ts"

/**
 * What is known where code is generated.
 *
 * @category models
 * @since 0.1.0
 */
export interface Scope {
  /** What the loop counts with. */
  readonly counter: Counter
  /** Inside an inner loop, which counts with `j`. */
  readonly inner: boolean
  /** Locals written by this iteration on every way here. */
  readonly written: Set<LocalName>
  /** Reads what an earlier iteration wrote, now and then. */
  readonly careless: number
  readonly arrays: Arrays
}

/**
 * What the loop does with the four arrays: how far each advances in an iteration, which are stored to, and whether
 * `b` and `c` are followed by the pointers `q` and `p`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Arrays {
  readonly scale: Readonly<Record<ArrayName, number>>
  readonly stored: ReadonlyArray<ArrayName>
  readonly read: ReadonlyArray<ArrayName>
  readonly pointers: boolean
  /** Bytes from one row to the next where inner loops go down columns, 0 where they go along rows. */
  readonly columns: number
  /** Stored arrays are accessed in one way only, so that iterations are independent when the arrays are apart. */
  readonly tidy: boolean
}

/** A parameter that is an address. */
export type ArrayName = "a" | "b" | "c" | "d"

/** Roles of the arrays in one loop. */
export const chooseArrays = (choices: Choices): Arrays => {
  const names = (["a", "b", "c", "d"] as const).map((name) => [choices.bits(), name] as const)
    .sort(([x], [y]) => x - y).map(([, name]) => name)
  const stores = choices.weighted([[5, 1], [4, 2], [1, 3]])
  const scale = (): number => choices.pick([4, 4, 8, 8, 16, 16, 32])
  return {
    scale: { a: scale(), b: scale(), c: scale(), d: scale() },
    stored: names.slice(0, stores),
    read: names.slice(stores),
    pointers: choices.chance(0.25),
    columns: choices.chance(0.4) ? choices.pick([160, 512, 1024, 2080, -512]) : 0,
    tidy: choices.chance(0.88)
  }
}

/**
 * The local that a loop counts with, and how the iteration number follows from it.
 *
 * @category models
 * @since 0.1.0
 */
export type Counter = "i" | "wide" | "pointer" | "countdown"

/** Type of a value. */
export type NumberType = "i32" | "i64" | "f32" | "f64" | "v128"

const TEMPORARIES: Readonly<Record<NumberType, ReadonlyArray<LocalName>>> = {
  i32: ["x", "y", "z"],
  i64: ["u"],
  f32: ["f"],
  f64: ["e"],
  v128: ["w"]
}

/** A local for what an iteration computes. */
export const temporary = (choices: Choices, type: NumberType): LocalName => choices.pick(TEMPORARIES[type])

const readable = (choices: Choices, scope: Scope, type: NumberType): LocalName | undefined => {
  const name = temporary(choices, type)
  return scope.written.has(name) || choices.chance(scope.careless) ? name : undefined
}

/** Bytes and opcode of loads and stores by type. */
export const LOADS: Readonly<Record<NumberType, ReadonlyArray<readonly [bytes: number, opcode: number]>>> = {
  i32: [[4, 0x28], [4, 0x28], [1, 0x2c], [1, 0x2d], [2, 0x2e], [2, 0x2f]],
  i64: [[8, 0x29], [1, 0x31], [2, 0x33], [4, 0x34], [4, 0x35]],
  f32: [[4, 0x2a]],
  f64: [[8, 0x2b]],
  v128: [[16, 0xfd000], [8, 0xfd001], [8, 0xfd004], [4, 0xfd009], [8, 0xfd00a], [4, 0xfd05c]]
}

/** A store of the type that fits into an element of the stored arrays. */
export const chooseStore = (
  choices: Choices,
  { arrays }: Scope,
  type: NumberType
): { readonly type: NumberType; readonly bytes: number; readonly opcode: number } => {
  const [bytes, opcode] = choices.pick(STORES[type])
  const room = Math.min(...arrays.stored.map((name) => arrays.scale[name]))
  return arrays.tidy && bytes > room ? { type: "i32", bytes: 4, opcode: 0x36 } : { type, bytes, opcode }
}

/** As {@link LOADS}. */
const STORES: Readonly<Record<NumberType, ReadonlyArray<readonly [bytes: number, opcode: number]>>> = {
  i32: [[4, 0x36], [4, 0x36], [1, 0x3a], [2, 0x3b]],
  i64: [[8, 0x37], [1, 0x3c], [2, 0x3d], [4, 0x3e]],
  f32: [[4, 0x38]],
  f64: [[8, 0x39]],
  v128: [[16, 0xfd00b]]
}

/** Pushes a condition that the data decide: one bit of a value, or, to be true now and then only, several. */
export const condition = (body: Body, choices: Choices, scope: Scope): void => {
  value(body, choices, scope, "i32", 1)
  if (choices.chance(0.5)) body.i32(1 << choices.below(8)).op(0x71)
  else body.i32(choices.pick([3, 7, 15])).op(0x71).i32(choices.below(4)).op(0x46)
}

/** Pushes the number of the iteration, or something that goes with it. */
export const iteration = (body: Body, scope: Scope): void => {
  if (scope.counter === "i") body.get("i")
  else if (scope.counter === "wide") body.get("wide").op(0xa7)
  else if (scope.counter === "countdown") body.get("n")
  else body.get("q").get("a").op(0x6b)
}

const SCALES = [1, 2, 4, 4, 8, 8, 12, 16, 16, 32]

/** A base that is loaded: from a fixed place, or from one that the loop may store to. */
const loadedBase = (body: Body, choices: Choices, scope: Scope): void => {
  if (scope.arrays.read.includes("d") && choices.chance(0.4)) body.get("d").access(0x28, 4 * choices.below(4))
  else body.i32(4 * choices.below(8)).access(0x28, 0)
}

/** Pushes an address operand for an access of `bytes` bytes and returns the static offset to go with it. */
export const address = (body: Body, choices: Choices, scope: Scope, bytes: number, stores: boolean): number => {
  const { arrays } = scope
  const wild = !arrays.tidy && choices.chance(0.1)
  const name = wild
    ? choices.pick<ArrayName>(["a", "b", "c", "d"])
    : stores || choices.chance(0.2)
    ? storedArray(choices, scope)
    : choices.pick(arrays.read)
  const others = choices.weighted<"array" | "loaded" | "constant" | "chosen">([
    [40, "array"],
    [arrays.tidy && stores ? 0 : 3, "loaded"],
    [stores ? 0 : 1, "constant"],
    [arrays.tidy ? 0 : 1, "chosen"]
  ])
  const scale = wild ? choices.pick(SCALES) : arrays.tidy ? arrays.scale[name] : Math.max(bytes, arrays.scale[name])
  const shared = arrays.stored.includes(name) && !wild
  const offset = choices.weighted([
    [10, 0],
    [3, bytes * choices.below(Math.max(1, Math.floor(scale / bytes)))],
    [shared ? 0 : 2, choices.below(64)],
    [wild ? 2 : 0, choices.pick([256, 4096, 65_500, 0x7fff_fff0, 0xffff_fff0])]
  ])
  if (others === "loaded") loadedBase(body, choices, scope)
  else if (others === "constant") body.i32(choices.pick([1024, 8192, 20_000, 65_528]))
  else if (others === "chosen") body.get(name).get(choices.pick(arrays.read)).get("v").op(0x1b)
  else if (arrays.pointers && (name === "b" || name === "c")) {
    body.get(name === "b" ? "q" : "p")
    return offset
  } else body.get(name)
  if (shared && arrays.tidy && others === "array") {
    iteration(body, scope)
    if (scope.inner) {
      if (arrays.columns > 0) body.i32(scale).op(0x6c, 0x6a).get("j").i32(arrays.columns).op(0x6c, 0x6a)
      else body.i32(16).op(0x6c).get("j").op(0x6a).i32(scale).op(0x6c, 0x6a)
    } else body.i32(scale).op(0x6c, 0x6a)
    return offset
  }
  if (!choices.chance(stores ? 0.97 : 0.88)) return offset
  advance(body, choices, scope, { bytes, scale, shared, stores })
  return offset
}

/** An array to store to; inner loops have one of their own, where there are two. */
const storedArray = (choices: Choices, { arrays: { stored, tidy }, inner }: Scope): ArrayName =>
  !tidy || stored.length === 1 ? choices.pick(stored) : inner ? stored[0] : choices.pick(stored.slice(1))

/** Adds to the address on the stack what goes with the iteration. */
const advance = (
  body: Body,
  choices: Choices,
  scope: Scope,
  { bytes, scale, shared, stores }: {
    readonly bytes: number
    readonly scale: number
    readonly shared: boolean
    readonly stores: boolean
  }
): void =>
  choices.weighted<() => void>([
    [shared ? 40 : 12, () => {
      iteration(body, scope)
      if (choices.chance(0.5) && (scale & (scale - 1)) === 0) body.i32(Math.log2(scale)).op(0x74, 0x6a)
      else body.i32(scale).op(0x6c, 0x6a)
    }],
    [2, () => {
      iteration(body, scope)
      body.i32(scale).op(0x6c, 0x6b)
    }],
    [2, () => {
      iteration(body, scope)
      body.get("s").op(0x6c, 0x6a)
    }],
    [scope.inner ? 12 : 2, () => {
      // A row of the inner loop's length.
      iteration(body, scope)
      body.get("m").op(0x6c)
      if (scope.inner) body.get("j").op(0x6a)
      body.i32(scale).op(0x6c, 0x6a)
    }],
    [scope.inner ? 8 : 0, () => {
      iteration(body, scope)
      body.i32(scale * choices.pick([4, 8, 16])).op(0x6c)
      body.get("j").i32(scale).op(0x6c, 0x6a, 0x6a)
    }],
    [1, () => {
      body.get("n")
      iteration(body, scope)
      body.op(0x6b).i32(scale).op(0x6c, 0x6a)
    }],
    [1, () => {
      // Bits that are zero: `or` is an addition.
      iteration(body, scope)
      body.i32(choices.pick([3, 4, 5])).op(0x74).i32(choices.pick([1, 4, 7])).op(0x72, 0x6a)
    }],
    [stores ? 0 : 2, () => masked(body, choices, scope, bytes)],
    [stores ? 0 : 1, () => {
      // An address that only the data knows.
      value(body, choices, scope, "i32", 1)
      body.get("v").i32(255).op(0x71).i32(1).op(0x72, 0x70).i32(bytes).op(0x6c, 0x6a)
    }],
    [1, () => {
      iteration(body, scope)
      body.i32(8 * scale).op(0x6c)
      masked(body, choices, scope, 1)
      body.op(0x6a)
    }],
    [1, () => {
      iteration(body, scope)
      body.i32(scale).op(0x6c)
      body.i32(0).i32(bytes).get("v").op(0x1b, 0x6a, 0x6a)
    }]
  ])()

/** Adds a value of a small range to the address on the stack. */
const masked = (body: Body, choices: Choices, scope: Scope, scale: number): void => {
  value(body, choices, scope, "i32", 1)
  choices.weighted<() => void>([
    [3, () => body.i32(choices.pick([3, 7, 31, 255])).op(0x71)],
    [1, () => body.i32(choices.pick([24, 28])).op(0x76)],
    [1, () => body.i32(choices.pick([3, 10])).op(0x70)]
  ])()
  if (scale > 1) body.i32(scale).op(0x6c)
  body.op(0x6a)
}

const BINARY: Readonly<Record<NumberType, ReadonlyArray<number>>> = {
  i32: [0x6a, 0x6a, 0x6b, 0x6c, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x48, 0x49, 0x4e, 0x46],
  i64: [0x7c, 0x7c, 0x7d, 0x7e, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89],
  f32: [0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98],
  f64: [0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5],
  v128: [0xfd06e, 0xfd08e, 0xfd0ae, 0xfd0b1, 0xfd0b5, 0xfd04e, 0xfd050, 0xfd051, 0xfd00e, 0xfd0e4, 0xfd0e6]
}

const UNARY: Readonly<Record<NumberType, ReadonlyArray<number>>> = {
  i32: [0x67, 0x68, 0x69, 0x45, 0xc0, 0xc1],
  i64: [0x79, 0x7b, 0xc2, 0xc3, 0xc4],
  f32: [0x8b, 0x8c, 0x8d, 0x8f, 0x91],
  f64: [0x99, 0x9a, 0x9c, 0x9f],
  v128: [0xfd04d]
}

const constant = (body: Body, choices: Choices, type: NumberType): void => {
  const bits = choices.weighted([[3, choices.below(17)], [2, choices.bits()], [1, 0x7fff_ffff], [1, 0x8000_0000]])
  if (type === "i32") body.i32(bits)
  else if (type === "i64") body.i64(BigInt(bits) * (choices.chance(0.3) ? 0x1_0000_0001n : 1n))
  else if (type === "f32") body.f32(choices.pick([0x3f80_0000, 0xbf00_0000, 0x4110_0000, 0x8000_0000, bits]))
  else if (type === "f64") body.f64(choices.pick([0x3ff8_0000_0000_0000n, 0xc01c_0000_0000_0000n, BigInt(bits) << 20n]))
  else body.v128(BigInt(bits) << 7n, BigInt(choices.bits()))
}

const leaf = (body: Body, choices: Choices, scope: Scope, type: NumberType): void => {
  const local = readable(choices, scope, type)
  const plain = (): void => {
    switch (type) {
      case "i32":
        choices.weighted<() => void>([
          [4, () => iteration(body, scope)],
          [2, () => body.get(choices.pick(["v", "s", "n", "m"]))],
          [1, () => body.globalGet(choices.pick([GLOBALS.mutable, GLOBALS.fixed]))],
          [1, () => body.memorySize()],
          [scope.inner ? 3 : 0, () => body.get("j")]
        ])()
        return
      case "i64":
        if (choices.chance(0.4)) body.get("k")
        else if (choices.chance(0.2)) body.globalGet(GLOBALS.wide)
        else {
          iteration(body, scope)
          body.op(choices.pick([0xac, 0xad]))
        }
        return
      case "f32":
        iteration(body, scope)
        body.op(0xb2)
        return
      case "f64":
        iteration(body, scope)
        body.op(0xb7)
        return
      case "v128":
        iteration(body, scope)
        body.op(choices.pick([0xfd00f, 0xfd010, 0xfd011]))
    }
  }
  choices.weighted<() => void>([
    [6, () => {
      const [bytes, opcode] = choices.pick(LOADS[type])
      body.access(opcode, address(body, choices, scope, bytes, false))
    }],
    [4, plain],
    [2, () => constant(body, choices, type)],
    [local === undefined ? 0 : 6, () => body.get(local!)]
  ])()
}

const conversion = (body: Body, choices: Choices, scope: Scope, type: NumberType, depth: number): void => {
  const from = (source: NumberType, ...opcodes: ReadonlyArray<number>): void => {
    value(body, choices, scope, source, depth - 1)
    body.op(...opcodes)
  }
  switch (type) {
    case "i32":
      choices.weighted<() => void>([
        [3, () => from("i64", 0xa7)],
        [1, () => from("f32", 0xfc000)],
        [1, () => from("f64", 0xfc003)],
        [1, () => {
          value(body, choices, scope, "v128", depth - 1)
          body.lane(choices.pick([0xfd01b, 0xfd016, 0xfd019]), choices.below(4))
        }]
      ])()
      return
    case "i64":
      return from("i32", choices.pick([0xac, 0xad]))
    case "f32":
      return choices.chance(0.5) ? from("i32", choices.pick([0xb2, 0xb3])) : from("f64", 0xb6)
    case "f64":
      return choices.chance(0.5) ? from("i32", choices.pick([0xb7, 0xb8])) : from("f32", 0xbb)
    case "v128":
      return from("i32", choices.pick([0xfd00f, 0xfd010, 0xfd011]))
  }
}

/** A value through typed blocks: one side of an `if`, a branch that takes it along, an operand handed through. */
const branching = (body: Body, choices: Choices, scope: Scope, depth: number): void => {
  const operand = (): void => value(body, choices, scope, "i32", depth - 1)
  choices.weighted<() => void>([
    [3, () => {
      operand()
      body.openTyped(0x04, BLOCK.i32)
      operand()
      body.else()
      operand()
      body.end()
    }],
    [2, () => {
      const block = body.openTyped(0x02, BLOCK.i32)
      operand()
      operand()
      body.brIf(block).i32(3).op(0x6c).end()
    }],
    [1, () => {
      operand()
      const block = body.openTyped(0x02, BLOCK.through)
      body.i32(1).op(0x73)
      operand()
      body.brIf(block).i32(5).op(0x6a).end()
    }],
    [1, () => {
      // A loop that carries an operand; it goes round until the operand has no low bit.
      operand()
      const loop = body.openTyped(0x03, BLOCK.through)
      body.i32(1).op(0x76).tee("y").get("y").i32(1).op(0x71).brIf(loop).end()
      scope.written.add("y")
    }]
  ])()
}

/** Pushes a value. */
export const value = (body: Body, choices: Choices, scope: Scope, type: NumberType, depth: number): void => {
  if (depth <= 0) return leaf(body, choices, scope, type)
  choices.weighted<() => void>([
    [3, () => leaf(body, choices, scope, type)],
    [6, () => {
      value(body, choices, scope, type, depth - 1)
      value(body, choices, scope, type, depth - 1)
      body.op(choices.pick(BINARY[type]))
    }],
    [2, () => {
      value(body, choices, scope, type, depth - 1)
      body.op(choices.pick(UNARY[type]))
    }],
    [1, () => conversion(body, choices, scope, type, depth)],
    [type === "i32" ? 1 : 0, () => branching(body, choices, scope, depth)],
    [type === "v128" ? 0 : 1, () => {
      value(body, choices, scope, type, depth - 1)
      value(body, choices, scope, type, depth - 1)
      value(body, choices, scope, "i32", depth - 1)
      body.op(0x1b)
    }]
  ])()
}

/**
 * Globals of every generated module by index: what loops read, then what functions leave behind.
 *
 * @category constants
 * @since 0.1.0
 */
export const GLOBALS = { mutable: 0, wide: 1, fixed: 2, stack: 3, out: 4 } as const

/** Types of what a function leaves behind, from `GLOBALS.out` on. @category constants @since 0.1.0 */
export const OUT_TYPES = ["i32", "i32", "i32", "i64", "i32"] as const
