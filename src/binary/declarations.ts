/**
 * Tables, memories, globals and tags that a module defines, and the limits and types they share with imports.
 *
 * @since 0.1.0
 */
import { ConstantReader } from "./constant.ts"
import type { GlobalEntry, Limits, MemoryEntry, TableEntry, TagEntry, ValueType } from "./module.ts"
import type { ByteReader } from "./reader.ts"
import { readReferenceType, readValueType } from "./types.ts"

const HAS_MAXIMUM = 1
const SHARED = 2
const IS_64 = 4
const HAS_PAGE_SIZE = 8

/**
 * Reads limits. Bits of the flags: maximum, shared, 64-bit index, custom page size.
 *
 * @category decoding
 * @since 0.1.0
 */
export const readLimits = (reader: ByteReader): Limits => {
  const flags = reader.u8()
  if (flags > 15) reader.fail(`unknown limits ${flags}`, reader.position - 1)
  const is64 = (flags & IS_64) !== 0
  const size = (): number => is64 ? reader.u64() : reader.u32()
  const min = size()
  const max = (flags & HAS_MAXIMUM) === 0 ? undefined : size()
  const limits = { min, max, shared: (flags & SHARED) !== 0, is64 }
  return (flags & HAS_PAGE_SIZE) === 0 ? limits : { ...limits, pageSizeLog2: reader.u32() }
}

/**
 * Reads a table's element type and limits.
 *
 * @category decoding
 * @since 0.1.0
 */
export const readTableType = (reader: ByteReader): { readonly elementType: number; readonly limits: Limits } => {
  const elementType = readReferenceType(reader)
  return { elementType, limits: readLimits(reader) }
}

/**
 * Reads a global's type and mutability.
 *
 * @category decoding
 * @since 0.1.0
 */
export const readGlobalType = (reader: ByteReader): { readonly valueType: ValueType; readonly mutable: boolean } => {
  const valueType = readValueType(reader)
  const mutability = reader.u8()
  if (mutability > 1) reader.fail(`unknown mutability ${mutability}`, reader.position - 1)
  return { valueType, mutable: mutability === 1 }
}

/**
 * Reads a tag's attribute (always 0: an exception) and type index.
 *
 * @category decoding
 * @since 0.1.0
 */
export const readTagType = (reader: ByteReader): number => {
  if (reader.u8() !== 0) reader.fail("unknown tag attribute", reader.position - 1)
  return reader.u32()
}

/**
 * Reads the table section's content. A table with an initial value starts with 0x40 0x00.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeTables = (reader: ByteReader): TableEntry[] => {
  const count = reader.count()
  const constants = new ConstantReader(reader)
  const tables: TableEntry[] = []
  for (let i = 0; i < count; i++) {
    const initialised = reader.peek() === 0x40
    if (initialised) {
      reader.position++
      if (reader.u8() !== 0) reader.fail("unknown table encoding", reader.position - 1)
    }
    const { elementType, limits } = readTableType(reader)
    if (initialised) constants.skip()
    tables.push({ ...limits, elementType, import: undefined })
  }
  return tables
}

/**
 * Reads the memory section's content.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeMemories = (reader: ByteReader): MemoryEntry[] => {
  const count = reader.count()
  const memories: MemoryEntry[] = []
  for (let i = 0; i < count; i++) {
    const limitsStart = reader.position
    const limits = readLimits(reader)
    memories.push({ ...limits, import: undefined, limitsStart, limitsEnd: reader.position })
  }
  return memories
}

/**
 * Reads the global section's content.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeGlobals = (reader: ByteReader): GlobalEntry[] => {
  const count = reader.count()
  const constants = new ConstantReader(reader)
  const globals: GlobalEntry[] = []
  for (let i = 0; i < count; i++) {
    const { mutable, valueType } = readGlobalType(reader)
    globals.push({ valueType, mutable, import: undefined, init: constants.read() })
  }
  return globals
}

/**
 * Reads the tag section's content.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeTags = (reader: ByteReader): TagEntry[] => {
  const count = reader.count()
  const tags: TagEntry[] = []
  for (let i = 0; i < count; i++) tags.push({ typeIndex: readTagType(reader), import: undefined })
  return tags
}
