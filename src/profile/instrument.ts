/**
 * A copy of a module that counts what it executes.
 *
 * ```wat
 * before   (loop $l  (i32.store (local.get $p) (call $f))  (br_if $l (…)))
 *
 * after    executions += 1
 *          (loop $l
 *            iterations += 1
 *            instructions += 4, $work += 4            ;; of the straight stretch that begins here
 *            (i32.store (local.get $p)
 *              (local.set $before $work) (call $f) callees += $work - $before)
 *            (br_if $l (…)))
 * ```
 *
 * Counters are i64 words of a memory behind the module's own; `$work` is a global with all instructions so far. A stretch
 * ends where control may go another way, so the counts are exact, but for stretches that a trap or an exception leaves
 * early. `block`, `loop`, `else`, `end` and `nop` are nothing that a machine executes and do not count.
 *
 * Counts do not depend on the machine, on its load or on what the engine inlines, as samples of time do; they weigh each
 * instruction alike.
 *
 * @since 0.1.0
 */
import { emitModule } from "../binary/emit.ts"
import { InstructionReader } from "../binary/instruction.ts"
import { localTypes, type WasmModule } from "../binary/module.ts"
import { ByteReader, ModuleFormatError } from "../binary/reader.ts"
import { ByteWriter } from "../binary/writer.ts"
import { hiddenPrefix } from "../plan/hidden.ts"

/** Name of the exported memory with the counters. @category constants @since 0.1.0 */
export const COUNTERS_EXPORT = `${hiddenPrefix}counters`

/**
 * Where the counters of a loop are.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoopCounters {
  /** Offset of the `loop` instruction in the original. */
  readonly offset: number
  /** Position of the enclosing loop in the same list, -1 for none. */
  readonly parent: number
  /** First of four words: executions, iterations, instructions, instructions of functions that were called. */
  readonly word: number
}

/**
 * Where the counters of a function are.
 *
 * @category models
 * @since 0.1.0
 */
export interface FunctionCounters {
  readonly index: number
  /** First of three words: calls, instructions outside of loops, instructions of functions called outside of loops. */
  readonly word: number
  /** In code order. */
  readonly loops: ReadonlyArray<LoopCounters>
}

/**
 * A counting copy.
 *
 * @category models
 * @since 0.1.0
 */
export interface Instrumented {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Functions that are counted: those whose instructions the decoder knows. */
  readonly functions: ReadonlyArray<FunctionCounters>
}

const FUNCTION_WORDS = 3
const LOOP_WORDS = 4
const PAGE_WORDS = 65536 / 8

const LOCAL_GET = 0x20
const LOCAL_SET = 0x21
const GLOBAL_GET = 0x23
const GLOBAL_SET = 0x24
const I64_LOAD = 0x29
const I64_STORE = 0x37
const I32_CONST = 0x41
const I64_CONST = 0x42
const I64_ADD = 0x7c
const I64_SUB = 0x7d
const I64 = 0x7e

const LOOP = 0x03
const ELSE = 0x05
const END = 0x0b

/** `block`, `loop`, `if`, `try`, `try_table`. */
const opens = (opcode: number): boolean =>
  opcode === 0x02 || opcode === LOOP || opcode === 0x04 || opcode === 0x06 || opcode === 0x1f

/** Behind these control may have come from, or gone to, somewhere else. */
const bounds = (opcode: number): boolean =>
  opcode === 0x00 || (opcode >= LOOP && opcode <= 0x0f) || opcode === 0x12 || opcode === 0x13 || opcode === 0x15 ||
  opcode === 0x18 || opcode === 0x19 || opcode === 0x1f || opcode === 0xd5 || opcode === 0xd6 || opcode === 0xfb018 ||
  opcode === 0xfb019

const isExecuted = (opcode: number): boolean =>
  opcode !== 0x01 && opcode !== 0x02 && opcode !== LOOP && opcode !== ELSE && opcode !== END

/** `call`, `call_indirect`, `call_ref`: those that come back. */
const calls = (opcode: number): boolean => opcode === 0x10 || opcode === 0x11 || opcode === 0x14

/** Indices of what is added to the module. */
interface Added {
  readonly memory: number
  readonly work: number
}

/** Adds what `amount` leaves on the stack to a counter. */
const add = (out: ByteWriter, { memory }: Added, word: number, amount: (out: ByteWriter) => void): void => {
  out.u8(I32_CONST).s32(0).u8(I32_CONST).s32(0).u8(I64_LOAD).memarg(3, word * 8, memory)
  amount(out)
  out.u8(I64_ADD).u8(I64_STORE).memarg(3, word * 8, memory)
}

const constant = (value: number) => (out: ByteWriter): void => void out.u8(I64_CONST).s64(BigInt(value))

/** The body of a function with its counters, the first of which is `first`. */
const instrumentBody = (
  m: WasmModule,
  index: number,
  first: number,
  added: Added
): { readonly body: Uint8Array; readonly counters: FunctionCounters } => {
  const { end, start } = m.functions[index].body!
  const { codeStart, types } = localTypes(m, index)
  const before = types.length
  const reader = new InstructionReader(m.bytes, codeStart, end)
  const out = new ByteWriter((end - start) * 2 + 64)
  const groups = new ByteReader(m.bytes, start, codeStart)
  out.u32(groups.count() + 1).bytes(m.bytes, groups.position, codeStart).u32(1).u8(I64)

  const loops: Array<LoopCounters> = []
  /** Of each open label the loop that it is, or that it is inside of; -1: none. */
  const labels: Array<number> = []
  let stretch = new ByteWriter()
  let count = 0
  let copied = codeStart
  const region = (): number => labels.length === 0 ? -1 : labels[labels.length - 1]
  /** Word of the instructions of a loop, or of what is outside of loops. */
  const instructions = (): number => region() < 0 ? first + 1 : loops[region()].word + 2
  const flush = (to: number): void => {
    stretch.bytes(m.bytes, copied, to)
    copied = to
    if (count > 0) {
      add(out, added, instructions(), constant(count))
      out.u8(GLOBAL_GET).u32(added.work)
      constant(count)(out)
      out.u8(I64_ADD).u8(GLOBAL_SET).u32(added.work)
    }
    out.append(stretch)
    stretch = new ByteWriter()
    count = 0
  }

  add(out, added, first, constant(1))
  while (reader.next()) {
    const { opcode } = reader
    if (isExecuted(opcode)) count++
    if (calls(opcode)) {
      stretch.bytes(m.bytes, copied, reader.start).u8(GLOBAL_GET).u32(added.work).u8(LOCAL_SET).u32(before)
      stretch.bytes(m.bytes, reader.start, reader.position)
      copied = reader.position
      add(stretch, added, instructions() + 1, (to) => {
        to.u8(GLOBAL_GET).u32(added.work).u8(LOCAL_GET).u32(before).u8(I64_SUB)
      })
    }
    if (opcode === LOOP) {
      const word = first + FUNCTION_WORDS + loops.length * LOOP_WORDS
      flush(reader.start)
      add(out, added, word, constant(1))
      out.bytes(m.bytes, reader.start, reader.position)
      copied = reader.position
      add(out, added, word + 1, constant(1))
      labels.push(loops.length)
      loops.push({ offset: reader.start, parent: labels.length < 2 ? -1 : labels[labels.length - 2], word })
      continue
    }
    // A label's end is counted where its body is, which it closes.
    if (bounds(opcode)) flush(reader.position)
    if (opens(opcode)) labels.push(region())
    else if (opcode === END || opcode === 0x18) labels.pop()
  }
  flush(end)
  return { body: out.finish(), counters: { index, word: first, loops } }
}

/**
 * The module with counters. Throws a `RangeError` where it has been done before.
 *
 * @category transforms
 * @since 0.1.0
 */
export const instrument = (m: WasmModule): Instrumented => {
  if (m.exports.some(({ name }) => name === COUNTERS_EXPORT)) throw new RangeError("the module counts already")
  const added: Added = { memory: m.memories.length, work: m.globals.length }
  const functions: Array<FunctionCounters> = []
  const bodies = new Map<number, Uint8Array>()
  let words = 0
  for (let index = m.importedFunctions; index < m.functions.length; index++) {
    try {
      const { body, counters } = instrumentBody(m, index, words, added)
      bodies.set(index, body)
      functions.push(counters)
      words += FUNCTION_WORDS + counters.loops.length * LOOP_WORDS
    } catch (error) {
      // An instruction that the decoder does not know: the function stays as it is, uncounted.
      if (!(error instanceof ModuleFormatError)) throw error
    }
  }
  const min = Math.max(1, Math.ceil(words / PAGE_WORDS))
  const bytes = emitModule(m, {
    memories: [{ min, max: min, shared: false, is64: false, pageSizeLog2: undefined }],
    globals: [{ valueType: "i64", mutable: true, init: 0n }],
    exports: [{ name: COUNTERS_EXPORT, kind: "memory", index: added.memory }],
    bodies
  })
  return { bytes, functions }
}
