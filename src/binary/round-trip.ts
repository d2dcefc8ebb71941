/**
 * The check that a module is understood from its first byte to its last: every section and segment decodes, every
 * function's code is walked to exactly its end, and emission without edits gives the same bytes.
 *
 * @since 0.1.0
 */
import { emitModule } from "./emit.ts"
import { InstructionReader } from "./instruction.ts"
import type { WasmModule } from "./module.ts"
import { decodeModule, localTypes } from "./module.ts"
import { ModuleFormatError } from "./reader.ts"

/**
 * What a module consists of, as far as the check counts it.
 *
 * @category types
 * @since 0.1.0
 */
export interface RoundTrip {
  /** Defined functions. */
  readonly functions: number
  readonly instructions: number
  readonly segments: number
  /** Whether emission without edits gave the same bytes. */
  readonly identical: boolean
}

/** Instructions that open a construct: block, loop, if, try, try_table. */
const opens = (opcode: number): boolean => (opcode >= 0x02 && opcode <= 0x04) || opcode === 0x06 || opcode === 0x1f

const END = 0x0b
const DELEGATE = 0x18

/**
 * Walks a defined function's code, whose constructs must nest and end where the body ends. Returns the number of
 * instructions; `visit` is called with the reader at each. Throws a `ModuleFormatError`.
 *
 * @category checking
 * @since 0.1.0
 */
export const walkFunction = (
  m: WasmModule,
  functionIndex: number,
  visit?: (reader: InstructionReader) => void
): number => {
  const { codeStart } = localTypes(m, functionIndex)
  const end = m.functions[functionIndex].body?.end ?? codeStart
  const reader = new InstructionReader(m.bytes, codeStart, end)
  let depth = 1
  let instructions = 0
  while (depth > 0) {
    if (!reader.next()) throw new ModuleFormatError(end, `function ${functionIndex} has no end`)
    instructions++
    if (opens(reader.opcode)) depth++
    else if (reader.opcode === END || reader.opcode === DELEGATE) depth--
    visit?.(reader)
  }
  if (reader.position !== end) throw new ModuleFormatError(reader.position, `code behind function ${functionIndex}`)
  return instructions
}

const equal = (a: Uint8Array, b: Uint8Array): boolean => {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/**
 * Runs the check on a module. Throws a `ModuleFormatError` where it is not understood.
 *
 * @category checking
 * @since 0.1.0
 */
export const checkRoundTrip = (bytes: Uint8Array): RoundTrip => {
  const m = decodeModule(bytes)
  let instructions = 0
  for (let index = m.importedFunctions; index < m.functions.length; index++) instructions += walkFunction(m, index)
  return {
    functions: m.functions.length - m.importedFunctions,
    instructions,
    segments: m.elementSegments.length + m.dataSegments.length,
    identical: equal(emitModule(m, {}), bytes)
  }
}
