/**
 * One fast pass over a function: its loops, where they stand, and whether anything in it rules analysis out.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import type { ValueType, WasmModule } from "../binary/module.ts"
import { localTypes } from "../binary/module.ts"

/**
 * A loop as it stands in the code.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoopShape {
  /** Offset of the `loop` instruction. */
  readonly offset: number
  /** Offset of its first inner instruction. */
  readonly bodyStart: number
  /** Offset of its `end` instruction. */
  end: number
  /** Block type immediate as decoded: negative for none or one result, else a type index. */
  readonly blockType: number
  /** Index of the enclosing loop in the same list, -1 for none. */
  readonly parent: number
  /** Instructions between `loop` and `end`. */
  instructions: number
  /** Stores to memory inside. */
  stores: number
  /** Indirect calls, and calls of imports, inside. */
  indirect: number
  /** True when something inside can never be part of a chunk, exit paths included. */
  hopeless: string | undefined
  /** Offset of what makes it hopeless. */
  hopelessAt: number
}

/**
 * Loops of a function in code order (an outer loop before its inner ones), or `undefined` where there is none.
 * Throws `ModuleFormatError` on an instruction that the decoder does not know.
 *
 * @category analysis
 * @since 0.1.0
 */
export const scanLoops = (module: WasmModule, functionIndex: number): Array<LoopShape> | undefined => {
  const body = module.functions[functionIndex].body
  if (body === undefined) return undefined
  if (!mayLoop(module.bytes, body.start, body.end)) return undefined
  const { codeStart, types } = localTypes(module, functionIndex)
  const reader = new InstructionReader(module.bytes, codeStart, body.end)
  let loops: Array<LoopShape> | undefined
  /** Loop index of each open label, or -1. */
  const labels: Array<number> = []
  const open: Array<number> = []
  let count = 0
  const started: Array<number> = []
  while (reader.next()) {
    count++
    const opcode = reader.opcode
    if (opcode === 0x03) {
      loops ??= []
      labels.push(loops.length)
      loops.push({
        offset: reader.start,
        bodyStart: reader.position,
        end: 0,
        blockType: reader.blockType,
        parent: open.length > 0 ? open[open.length - 1] : -1,
        instructions: 0,
        stores: 0,
        indirect: 0,
        hopeless: undefined,
        hopelessAt: 0
      })
      open.push(loops.length - 1)
      started.push(count)
    } else if (opcode === 0x02 || opcode === 0x04 || opcode === 0x06 || opcode === 0x1f) {
      labels.push(-1)
    }
    if (open.length > 0 && loops !== undefined) {
      const why = hopeless(opcode) ?? (handlesReference(module, types, reader) ? "reference" : undefined)
      if (why !== undefined) {
        for (const index of open) {
          if (loops[index].hopeless === undefined) {
            loops[index].hopeless = why
            loops[index].hopelessAt = reader.start
          }
        }
      }
      if ((opcode >= 0x36 && opcode <= 0x3e) || opcode === 0xfd00b || (opcode >= 0xfd058 && opcode <= 0xfd05b)) {
        for (const index of open) loops[index].stores++
      } else if (opcode === 0x11 || (opcode === 0x10 && reader.index < module.importedFunctions)) {
        for (const index of open) loops[index].indirect++
      }
    }
    if (opcode === 0x0b || opcode === 0x18) {
      const index = labels.pop()
      if (index !== undefined && index >= 0 && loops !== undefined) {
        open.pop()
        loops[index].end = reader.start
        loops[index].instructions = count - started.pop()! - 1
      }
    }
  }
  return loops
}

/** A byte 0x03 must occur where a loop does; most functions are dismissed here. */
const mayLoop = (bytes: Uint8Array, start: number, end: number): boolean => {
  const at = bytes.indexOf(0x03, start)
  return at >= 0 && at < end
}

/** True for instructions that move references: a chunk has no place for them. @category queries @since 0.1.0 */
export const handlesReference = (
  module: WasmModule,
  types: ReadonlyArray<ValueType>,
  reader: InstructionReader
): boolean => {
  switch (reader.opcode) {
    case 0x20:
    case 0x21:
    case 0x22:
      return types[reader.index] === "ref"
    case 0x23:
    case 0x24:
      return module.globals[reader.index]?.valueType === "ref"
    case 0x02:
    case 0x03:
    case 0x04: {
      if (reader.blockType < 0) return reader.blockType !== -64 && reader.blockType < -5
      const type = module.types[reader.blockType]
      return type === undefined || type.params.includes("ref") || type.results.includes("ref")
    }
    case 0x1c:
      return !NUMBER_TYPES.has(module.bytes[reader.position - 1])
    default:
      return false
  }
}

const NUMBER_TYPES: ReadonlySet<number> = new Set([0x7b, 0x7c, 0x7d, 0x7e, 0x7f])

const hopeless = (opcode: number): string | undefined =>
  opcode === 0x06 || opcode === 0x07 || opcode === 0x18 || opcode === 0x19 || opcode === 0x1f
    ? "exception"
    : opcode >= 0xfb000 && opcode < 0xfc000
    ? "reference"
    : opcode >= 0xd3 && opcode <= 0xd6
    ? "reference"
    : opcode === 0x14
    ? "reference"
    : undefined
