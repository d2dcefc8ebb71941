/**
 * Functions that a loop calls, as functions of its chunk module.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import type { WasmModule } from "../binary/module.ts"
import { localTypes } from "../binary/module.ts"
import { ByteReader } from "../binary/reader.ts"
import type { LoopFacts } from "../plan/loop.ts"
import { Assembler } from "./assembler.ts"
import type { Polling } from "./polling.ts"

/** Opcode of `loop`, whose block stays when it is cut. @category constants @since 0.1.0 */
export const LOOP = 0x03

/**
 * What a chunk module offers to the bodies in it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ChunkSpace {
  readonly facts: LoopFacts
  /** Globals with low end and length of all stores, for the comparisons of checked loads. */
  readonly storedGlobals: readonly [low: number, length: number]
  readonly polling: Polling | undefined
  /** Globals of the chunk module: captured globals by index, the size of memory by -1. */
  readonly chunkGlobal: ReadonlyMap<number, number>
  /** Function index in the chunk module by function index in the guest. */
  readonly calleeIndex: ReadonlyMap<number, number>
  /** True for a global that the loop writes. */
  writes(index: number): boolean
  /** The chunk module's own copy of a global that the loop writes. */
  ownGlobal(index: number): number
  /** Index in the chunk module of a type of the guest. */
  typeOf(index: number): number
  /** Traps when the load that the reader stands on meets the stores. */
  compare(code: Assembler, reader: InstructionReader, address: number, low: () => void, length: () => void): void
}

/**
 * A callee's body as it is, its indices changed to those of the chunk module. What the loop never does (the ways out of
 * it, and calls that do not return) becomes a trap, which discards the dispatch.
 *
 * @category transforms
 * @since 0.1.0
 */
export const calleeBody = (module: WasmModule, functionIndex: number, chunk: ChunkSpace): Uint8Array => {
  const { end, start } = module.functions[functionIndex].body!
  const { codeStart } = localTypes(module, functionIndex)
  const code = new Assembler()
  const address = chunk.facts.checked.size > 0 ? addLocal(module, functionIndex, code) : -1
  if (address < 0) code.out.bytes(module.bytes, start, codeStart)
  const [low, length] = chunk.storedGlobals
  const reader = new InstructionReader(module.bytes, codeStart, end)
  while (reader.next()) {
    const opcode = reader.opcode
    if (chunk.facts.checked.has(reader.start)) {
      chunk.compare(code, reader, address, () => code.getGlobal(low), () => code.getGlobal(length))
    }
    if (chunk.facts.cut.has(reader.start)) {
      code.op(0x00)
      if (opcode !== LOOP) continue
    }
    if (opcode === 0x24 && chunk.writes(reader.index)) code.setGlobal(chunk.ownGlobal(reader.index))
    else if (opcode === 0x10 && chunk.calleeIndex.has(reader.index)) code.call(chunk.calleeIndex.get(reader.index)!)
    else if (opcode === 0x23) {
      const own = chunk.writes(reader.index) ? chunk.ownGlobal(reader.index) : chunk.chunkGlobal.get(reader.index)
      const { init, mutable, valueType } = module.globals[reader.index]
      if (own !== undefined) code.getGlobal(own)
      else if (init?.opcode === 0x41 && init.i32 !== undefined && !mutable) code.i32(init.i32)
      else code.zero(valueType)
    } else if (opcode === 0x3f) {
      const own = chunk.chunkGlobal.get(-1)
      if (own === undefined) code.i32(0)
      else code.getGlobal(own)
    } else if (opcode === 0x02 || opcode === LOOP || opcode === 0x04) {
      if (reader.blockType >= 0) code.out.u8(opcode).s33(chunk.typeOf(reader.blockType))
      else code.out.bytes(module.bytes, reader.start, reader.position)
      if (chunk.facts.polled.has(reader.start)) chunk.polling!.poll(code)
    } else if (isOutside(opcode) && !chunk.facts.graph.bulk.has(reader.start)) code.op(0x00)
    else code.out.bytes(module.bytes, reader.start, reader.position)
  }
  return code.out.finish()
}

/** Writes a function's declarations of locals with one i32 more; returns its index. */
const addLocal = (module: WasmModule, functionIndex: number, code: Assembler): number => {
  const { start } = module.functions[functionIndex].body!
  const { codeStart, types } = localTypes(module, functionIndex)
  const reader = new ByteReader(module.bytes, start, codeStart)
  const groups = reader.u32()
  code.out.u32(groups + 1).bytes(module.bytes, reader.position, codeStart).u32(1).u8(0x7f)
  return types.length
}

/**
 * True for instructions that occur only on ways out of the loop, which a chunk never follows.
 *
 * @category queries
 * @since 0.1.0
 */
export const isOutside = (opcode: number): boolean =>
  (opcode >= 0x10 && opcode <= 0x15) || opcode === 0x24 || opcode === 0x25 || opcode === 0x26 || opcode === 0x40 ||
  opcode === 0xd0 || opcode === 0xd1 || opcode === 0xd2 || (opcode >= 0xfc008 && opcode <= 0xfc011) ||
  (opcode >= 0xfe000 && opcode < 0xff000)
