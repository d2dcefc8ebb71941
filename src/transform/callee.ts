/**
 * Functions that a loop calls, as functions of its chunk module.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import type { ValueType, WasmModule } from "../binary/module.ts"
import { localTypes } from "../binary/module.ts"
import { ByteReader } from "../binary/reader.ts"
import { ByteWriter } from "../binary/writer.ts"
import type { LoopFacts } from "../plan/loop.ts"
import { Assembler, TYPE_BYTE } from "./assembler.ts"
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
  readonly polling: Polling | undefined
  /** Globals of the chunk module: captured globals by index, the size of memory by -1. */
  readonly chunkGlobal: ReadonlyMap<number, number>
  /** Emits the call that the reader stands on, or the body of what it calls. */
  call(code: Assembler, reader: InstructionReader, fresh: (type: ValueType) => number, address: () => number): void
  /** True for a global that the loop writes. */
  writes(index: number): boolean
  /** The chunk module's own copy of a global that the loop writes. */
  ownGlobal(index: number): number
  /** Index in the chunk module of a type of the guest. */
  typeOf(index: number): number
  /** Traps when the load that the reader stands on meets what other pieces store. */
  compare(code: Assembler, reader: InstructionReader, address: number): void
}

/** Small functions stand in the place of their calls: chunks are compiled without what the engine learns of calls. */
const MAXIMUM_INLINED_BYTES = 192

/**
 * True for a callee that stands in the place of its calls: a small one that calls nothing itself.
 *
 * @category queries
 * @since 0.1.0
 */
export const isInlined = (module: WasmModule, functionIndex: number): boolean => {
  const { body, typeIndex } = module.functions[functionIndex]
  const type = module.types[typeIndex]
  if (body === undefined || type === undefined || type.results.length > 1) return false
  if (body.end - body.start > MAXIMUM_INLINED_BYTES) return false
  const reader = new InstructionReader(module.bytes, localTypes(module, functionIndex).codeStart, body.end)
  // A call that never returns is a trap in a chunk.
  while (reader.next()) {
    if ((reader.opcode === 0x10 || reader.opcode === 0x11) && module.bytes[reader.position] !== 0x00) return false
  }
  return true
}

/** Where a callee's code is written to. */
interface Target {
  readonly code: Assembler
  /** Index of one of its locals. */
  readonly local: (index: number) => number
  /** A fresh local. */
  readonly fresh: (type: ValueType) => number
  /** Holds the address of a load that is compared; asked for when there is one. */
  readonly address: () => number
  /** True when it stands in a block of its own, which a `return` leaves. */
  readonly inBlock: boolean
}

/**
 * A callee's body as a function of the chunk module. What the loop never does (the ways out of it, and calls that do not
 * return) becomes a trap, which discards the dispatch.
 *
 * @category transforms
 * @since 0.1.0
 */
export const calleeBody = (module: WasmModule, functionIndex: number, chunk: ChunkSpace): Uint8Array => {
  const { end, start } = module.functions[functionIndex].body!
  const { codeStart, types } = localTypes(module, functionIndex)
  const code = new Assembler()
  const extra: Array<ValueType> = []
  const fresh = (type: ValueType): number => types.length + extra.push(type) - 1
  let address = -1
  copyCallee(module, new InstructionReader(module.bytes, codeStart, end), chunk, {
    code,
    local: (index) => index,
    fresh,
    address: () => address < 0 ? address = fresh("i32") : address,
    inBlock: false
  })
  const declared = new ByteReader(module.bytes, start, codeStart)
  const out = new ByteWriter(code.out.length + 64).u32(declared.u32() + extra.length)
  out.bytes(module.bytes, declared.position, codeStart)
  for (const type of extra) out.u32(1).u8(TYPE_BYTE[type])
  return out.append(code.out).finish()
}

/**
 * A callee's body in the place of a call, its arguments on the stack: `address` holds addresses of loads that are compared.
 *
 * @category transforms
 * @since 0.1.0
 */
export const inlineCallee = (
  module: WasmModule,
  functionIndex: number,
  chunk: ChunkSpace,
  code: Assembler,
  fresh: (type: ValueType) => number,
  address: () => number
): void => {
  const { body, typeIndex } = module.functions[functionIndex]
  const { params, results } = module.types[typeIndex]!
  const { codeStart, types } = localTypes(module, functionIndex)
  const locals = types.map(fresh)
  for (let index = types.length - 1; index >= 0; index--) {
    if (index >= params.length) code.zero(types[index])
    code.set(locals[index])
  }
  code.out.u8(0x02).u8(results.length === 0 ? 0x40 : TYPE_BYTE[results[0]])
  const reader = new InstructionReader(module.bytes, codeStart, body!.end)
  copyCallee(module, reader, chunk, { code, local: (index) => locals[index], fresh, address, inBlock: true })
}

const copyCallee = (module: WasmModule, reader: InstructionReader, chunk: ChunkSpace, target: Target): void => {
  const { code } = target
  /** Labels opened inside. */
  let depth = 0
  while (reader.next()) {
    const opcode = reader.opcode
    if (chunk.facts.checked.has(reader.start)) chunk.compare(code, reader, target.address())
    if (chunk.facts.cut.has(reader.start)) {
      code.op(0x00)
      if (opcode !== LOOP) continue
    }
    if (opcode === 0x20) code.get(target.local(reader.index))
    else if (opcode === 0x21) code.set(target.local(reader.index))
    else if (opcode === 0x22) code.tee(target.local(reader.index))
    else if (opcode === 0x0f && target.inBlock) code.br(depth)
    else if (opcode === 0x24 && chunk.writes(reader.index)) code.setGlobal(chunk.ownGlobal(reader.index))
    else if (opcode === 0x10 || opcode === 0x11) chunk.call(code, reader, target.fresh, target.address)
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
      depth++
      if (reader.blockType >= 0) code.out.u8(opcode).s33(chunk.typeOf(reader.blockType))
      else code.out.bytes(module.bytes, reader.start, reader.position)
      if (chunk.facts.polled.has(reader.start)) chunk.polling!.poll(code)
    } else if (isOutside(opcode) && !chunk.facts.graph.bulk.has(reader.start)) code.op(0x00)
    else {
      if (opcode === 0x0b) depth--
      code.out.bytes(module.bytes, reader.start, reader.position)
    }
  }
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
