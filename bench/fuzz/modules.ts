/**
 * Generated modules: functions with loops, helpers that the loops call, one memory and globals that show what is left.
 */
import { ByteWriter } from "../../src/binary/writer.ts"
import { Assembler, functionBody } from "../../src/transform/assembler.ts"
import { Body, LOCAL_TYPES, PARAMETER_TYPES } from "./body.ts"
import { Choices } from "./choices.ts"
import { GLOBALS, OUT_TYPES } from "./expressions.ts"
import { chooseCounting, type Counting, emitLoop, emitTraces } from "./loops.ts"

/**
 * A generated function as its callers need it.
 *
 * @category models
 * @since 0.1.0
 */
export interface GeneratedFunction {
  readonly name: string
  readonly countings: ReadonlyArray<Counting>
}

/**
 * A generated module.
 *
 * @category models
 * @since 0.1.0
 */
export interface GeneratedModule {
  readonly seed: number
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly functions: ReadonlyArray<GeneratedFunction>
  /** Names of the statements in it. */
  readonly statements: ReadonlyArray<string>
}

const TYPE_BYTE = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b, ref: 0x70 } as const

/** The imported function, then helpers: `(address, value) → value`. */
const HOST = 0
const HELPERS = [1, 2, 3, 4, 5, 6]

/** Index of the first generated function. @category constants @since 0.1.0 */
export const FIRST_FUNCTION = HOST + 1 + HELPERS.length

/**
 * Stores and loads; a loop; a division that may trap; a frame on the stack; several ways to return, one of them a trap;
 * a call of that one in a loop that it ends.
 */
const helperBodies = (): ReadonlyArray<Uint8Array> => {
  const plain = new Assembler().get(0).get(1).access(0x36, 0).get(0).access(0x2d, 0, 1).get(1).op(0x6a)
  const loop = new Assembler()
    .block().loop().get(2).i32(3).op(0x4e).brIf(1)
    .get(0).get(2).op(0x6a).get(1).access(0x3a, 0).get(2).i32(1).op(0x6a).set(2).br(0).end().end()
    .get(2).get(1).op(0x73)
  const divide = new Assembler().get(1).get(0).access(0x2c, 0, 2).op(0x6d)
  const frame = new Assembler()
    .getGlobal(GLOBALS.stack).i32(16).op(0x6b).tee(2).setGlobal(GLOBALS.stack)
    .get(2).get(1).access(0x36, 0, 4).get(2).get(0).access(0x3a, 0, 8)
    .get(0).get(2).access(0x28, 0, 4).access(0x36, 0)
    .get(2).access(0x2d, 0, 8).get(1).op(0x6a)
    .get(2).i32(16).op(0x6a).setGlobal(GLOBALS.stack)
  const ways = new Assembler()
    .get(1).i32(7).op(0x71).op(0x45).if().get(0).op(0x0f).end()
    .get(1).i32(0x7fff_ff77).op(0x46).if().op(0x00).end()
    .block().get(1).i32(1).op(0x71).brIf(0).get(0).get(1).access(0x3a, 0).end()
    .get(0).access(0x2d, 0).get(1).op(0x73)
  const calls = new Assembler()
    .loop().get(2).i32(1).op(0x6a).get(0).get(2).op(0x6a).get(1).get(2).op(0x6a).call(HELPERS[4]).i32(1).op(0x71)
    .op(0x6a).tee(2).i32(3).op(0x48).brIf(0).end()
    .get(2)
  return [
    functionBody([], plain),
    functionBody(["i32"], loop),
    functionBody([], divide),
    functionBody(["i32"], frame),
    functionBody([], ways),
    functionBody(["i32"], calls)
  ]
}

const emitFunction = (
  choices: Choices,
  index: number,
  without: ReadonlySet<string>,
  names: Array<string>
): { readonly code: Uint8Array; readonly countings: ReadonlyArray<Counting> } => {
  const body = new Body()
  const loops = choices.weighted([[8, 1], [2, 2]])
  const countings: Array<Counting> = []
  const recursive = choices.chance(0.12)
  body.get("b").set("q").get("c").set("p")
  for (const [name, weight] of [["sum", 0.3], ["other", 0.3]] as const) {
    if (choices.chance(weight)) body.get("v").set(name)
  }
  if (choices.chance(0.3)) body.get("k").set("total")
  for (let k = 0; k < loops; k++) {
    const name = `f${index}.l${k}`
    const own = choices.of(name)
    const counting = chooseCounting(own)
    // A countdown leaves no count for the next loop.
    if (countings.some((one) => one.counter === "countdown") || (counting.counter === "countdown" && k > 0)) continue
    countings.push(counting)
    const nested = !recursive && own.chance(0.15)
    // A loop around the loop: planned itself, or the inner one planned and entered again and again.
    if (nested) {
      body.i32(0).set("end")
      const around = body.open(0x03)
      emitLoop(body, own, counting, { without, names, helpers: HELPERS, host: HOST }, name)
      if (counting.limit !== "end" && counting.counter !== "countdown") {
        body.get("a").i32(own.pick([0, 64, 4096])).op(0x6a).set("a")
        body.get("end").i32(1).op(0x6a).tee("end").i32(3).op(0x48).brIf(around)
      }
      body.end()
    } else emitLoop(body, own, counting, { without, names, helpers: HELPERS, host: HOST }, name)
    emitTraces(body, own.of("traces"))
  }
  if (recursive) {
    body.get("r")
    body.open(0x04)
    for (const name of ["a", "b", "c", "d"] as const) body.get(name).i32(choices.pick([0, 4, 1024])).op(0x6a)
    // A countdown has nothing left of its count.
    if (countings.some((one) => one.counter === "countdown")) body.i32(9)
    else body.get("n")
    body.get("m").get("s").get("v").get("k").get("r").i32(1).op(0x6b)
    body.call(FIRST_FUNCTION + index).get("sum").op(0x73).set("sum").end()
  }
  body.get("sum").get("other").op(0x73)
  return { code: functionBody(LOCAL_TYPES, body.code), countings }
}

/** Generates a module of `count` functions, statements named in `without` left out. */
export const generateModule = (
  seed: number,
  count: number,
  without: ReadonlySet<string> = new Set()
): GeneratedModule => {
  const choices = new Choices(seed)
  const names: Array<string> = []
  const functions = Array.from(
    { length: count },
    (_, k) => emitFunction(choices.of(`function ${k}`), k, without, names)
  )
  const out = new ByteWriter(4096)
  out.bytes(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]))
  const types = new ByteWriter().u32(4).u8(0x60).u32(2).u8(0x7f).u8(0x7f).u32(1).u8(0x7f)
  types.u8(0x60).u32(PARAMETER_TYPES.length)
  for (const type of PARAMETER_TYPES) types.u8(TYPE_BYTE[type])
  types.u32(1).u8(0x7f)
  types.u8(0x60).u32(0).u32(0).u8(0x60).u32(1).u8(0x7f).u32(1).u8(0x7f)
  out.section(1, types)
  out.section(2, new ByteWriter().u32(1).name("host").name("note").u8(0).u32(0))
  const declared = new ByteWriter().u32(HELPERS.length + count)
  for (const _ of HELPERS) declared.u32(0)
  for (const _ of functions) declared.u32(1)
  out.section(3, declared)
  // One memory of one page; now and then a shared one.
  if (choices.of("memory").chance(0.06)) out.section(5, new ByteWriter().u32(1).u8(3).u32(1).u32(1))
  else out.section(5, new ByteWriter().u32(1).u8(0).u32(1))
  const globals = new ByteWriter().u32(4 + OUT_TYPES.length)
  globals.u8(0x7f).u8(1).u8(0x41).s32(choices.below(64)).u8(0x0b)
  globals.u8(0x7e).u8(1).u8(0x42).s64(BigInt(choices.bits())).u8(0x0b)
  globals.u8(0x7f).u8(0).u8(0x41).s32(12).u8(0x0b)
  globals.u8(0x7f).u8(1).u8(0x41).s32(4096).u8(0x0b)
  for (const type of OUT_TYPES) globals.u8(TYPE_BYTE[type]).u8(1).u8(type === "i64" ? 0x42 : 0x41).u8(0).u8(0x0b)
  out.section(6, globals)
  const exports = new ByteWriter().u32(1 + count + 3 + OUT_TYPES.length)
  exports.name("memory").u8(2).u32(0)
  functions.forEach((_, k) => exports.name(`f${k}`).u8(0).u32(FIRST_FUNCTION + k))
  exports.name("mutable").u8(3).u32(GLOBALS.mutable).name("wide").u8(3).u32(GLOBALS.wide)
  exports.name("stack").u8(3).u32(GLOBALS.stack)
  OUT_TYPES.forEach((_, k) => exports.name(`out${k}`).u8(3).u32(GLOBALS.out + k))
  out.section(7, exports)
  const code = new ByteWriter().u32(HELPERS.length + count)
  for (const body of [...helperBodies(), ...functions.map((f) => f.code)]) code.u32(body.length).bytes(body)
  out.section(10, code)
  return {
    seed,
    bytes: out.finish() as Uint8Array<ArrayBuffer>,
    functions: functions.map(({ countings }, k) => ({ name: `f${k}`, countings })),
    statements: names
  }
}
