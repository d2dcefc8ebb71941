/**
 * Summaries of functions: whether a call of one can be part of a chunk, judged over everything that it calls.
 *
 * A call that is followed by `unreachable` does not return, so what it does never belongs to an iteration that goes on.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import type { WasmModule } from "../binary/module.ts"
import { localTypes, ModuleFormatError } from "../binary/module.ts"
import { loadShape } from "../binary/opcodes.ts"
import { handlesReference } from "./scan.ts"
import type { IndirectTarget } from "./tables.ts"
import { Tables } from "./tables.ts"

/**
 * What a call amounts to.
 *
 * @category models
 * @since 0.1.0
 */
export interface FunctionSummary {
  /** True when the function and all that it calls only compute, load, store and set numeric globals. */
  readonly followable: boolean
  /** Instructions of the function and, at each call, of the callee again. */
  readonly instructions: number
  /** Loops of the function and, at each call, of the callee again. */
  readonly loops: number
  /** True when nothing in it loads or repeats: what it gives may be a polynomial of its operands. */
  readonly straight: boolean
  /** Calls inside calls. */
  readonly depth: number
  /** Globals that it, or what it calls, writes. */
  readonly writes: ReadonlySet<number>
}

const OPAQUE: FunctionSummary = {
  followable: false,
  instructions: 0,
  loops: 0,
  straight: false,
  depth: 0,
  writes: new Set()
}

/**
 * Summaries of one module, made when they are first asked for.
 *
 * @category analysis
 * @since 0.1.0
 */
export class Summaries {
  readonly #module: WasmModule
  readonly #known = new Map<number, FunctionSummary>()
  readonly #open = new Set<number>()
  readonly #tables: Tables | undefined

  /** `indirect`: whether calls through tables of known contents are followed, too. */
  constructor(module: WasmModule, indirect: boolean) {
    this.#module = module
    this.#tables = indirect ? new Tables(module) : undefined
  }

  /** What a `call_indirect` that ends at `position` may reach, when it is followed. */
  targets(typeIndex: number, table: number, position: number): ReadonlyArray<IndirectTarget> | undefined {
    if (this.#module.bytes[position] === 0x00) return undefined
    return this.#tables?.targets(typeIndex, table, (index) => this.of(index).followable)
  }

  /** True when a call that ends at `position` is followed: a followable callee, unless it never returns. */
  follows(functionIndex: number, position: number): boolean {
    return this.#module.bytes[position] !== 0x00 && this.of(functionIndex).followable
  }

  /** The summary of a function. A function that reaches itself is not followable. */
  of(functionIndex: number): FunctionSummary {
    const known = this.#known.get(functionIndex)
    if (known !== undefined) return known
    if (this.#open.has(functionIndex) || this.#open.size > MAXIMUM_CHAIN) return OPAQUE
    this.#open.add(functionIndex)
    const summary = this.#compute(functionIndex)
    this.#open.delete(functionIndex)
    this.#known.set(functionIndex, summary)
    return summary
  }

  #compute(functionIndex: number): FunctionSummary {
    const { bytes, functions, types } = this.#module
    const { body, typeIndex } = functions[functionIndex]
    const type = types[typeIndex]
    if (body === undefined || type === undefined || body.end - body.start > MAXIMUM_BYTES) return OPAQUE
    let instructions = 0
    let loops = 0
    let straight = true
    let depth = 0
    const writes = new Set<number>()
    try {
      const { codeStart, types: locals } = localTypes(this.#module, functionIndex)
      if (locals.includes("ref") || type.results.includes("ref")) return OPAQUE
      const reader = new InstructionReader(bytes, codeStart, body.end)
      while (reader.next()) {
        instructions++
        const opcode = reader.opcode
        if (opcode === 0x10) {
          if (bytes[reader.position] === 0x00) continue
          const callee = this.of(reader.index)
          if (!callee.followable) return OPAQUE
          instructions += callee.instructions
          loops += callee.loops
          straight &&= callee.straight
          depth = Math.max(depth, callee.depth + 1)
          if (depth > MAXIMUM_DEPTH) return OPAQUE
          for (const index of callee.writes) writes.add(index)
        } else if (opcode === 0x24) {
          if (!isIntegerGlobal(this.#module, reader.index)) return OPAQUE
          writes.add(reader.index)
        } else if (isForbidden(opcode) || handlesReference(this.#module, locals, reader)) return OPAQUE
        if (opcode === 0x03) loops++
        if (opcode === 0x03 || loadShape(opcode) !== undefined) straight = false
        if (instructions > MAXIMUM_INSTRUCTIONS || loops > MAXIMUM_LOOPS) return OPAQUE
      }
    } catch (error) {
      if (error instanceof ModuleFormatError) return OPAQUE
      throw error
    }
    return { followable: true, instructions, loops, straight, depth, writes }
  }
}

/** True for a global whose writes are followed: a stack pointer, a counter. @category queries @since 0.1.0 */
export const isIntegerGlobal = (module: WasmModule, index: number): boolean => {
  const type = module.globals[index].valueType
  return type === "i32" || type === "i64"
}

const MAXIMUM_DEPTH = 8

/** Functions that are looked at for one: the engine's stack is not endless. */
const MAXIMUM_CHAIN = 400

const MAXIMUM_BYTES = 16_384
const MAXIMUM_INSTRUCTIONS = 12_000

/** A loop that copies makes two groups of addresses, and the loops around calls are refused with more than 20. */
const MAXIMUM_LOOPS = 10

const isForbidden = (opcode: number): boolean =>
  (opcode >= 0x06 && opcode <= 0x0a) || (opcode >= 0x11 && opcode <= 0x19) || opcode === 0x1f || opcode === 0x25 ||
  opcode === 0x26 || opcode === 0x40 || (opcode >= 0xd0 && opcode <= 0xd6) ||
  (opcode >= 0xfb000 && opcode < 0xfc000) ||
  (opcode >= 0xfc008 && opcode <= 0xfc011 && opcode !== 0xfc00a && opcode !== 0xfc00b) ||
  (opcode >= 0xfe000 && opcode < 0xff000)
