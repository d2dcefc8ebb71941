/**
 * Element and data segments.
 *
 * @since 0.1.0
 */
import type { ConstantExpression } from "./constant.ts"
import { ConstantReader } from "./constant.ts"
import type { ByteReader } from "./reader.ts"
import { readReferenceType } from "./types.ts"

/**
 * An element segment: references that initialise a table, or wait for `table.init`.
 *
 * @category types
 * @since 0.1.0
 */
export interface ElementSegment {
  readonly mode: "active" | "passive" | "declarative"
  /** The table an active segment is written to. */
  readonly tableIndex: number | undefined
  /** Where an active segment is written. */
  readonly offset: ConstantExpression | undefined
  /** Whether the elements are constant expressions, otherwise function indices. */
  readonly expressions: boolean
  readonly count: number
  /** Range of the elements in the module. */
  readonly start: number
  readonly end: number
}

/**
 * A data segment: bytes that initialise a memory, or wait for `memory.init`.
 *
 * @category types
 * @since 0.1.0
 */
export interface DataSegment {
  readonly mode: "active" | "passive"
  /** The memory an active segment is written to. */
  readonly memoryIndex: number | undefined
  /** Where an active segment is written. */
  readonly offset: ConstantExpression | undefined
  /** Range of its bytes in the module. */
  readonly start: number
  readonly end: number
}

/* Bits of an element segment's flags. */
const NOT_ACTIVE = 1
const EXPLICIT = 2 // of an active segment: names its table; otherwise: declarative
const EXPRESSIONS = 4

const readElementSegment = (reader: ByteReader, constants: ConstantReader): ElementSegment => {
  const flags = reader.u32()
  if (flags > 7) reader.fail(`unknown element segment ${flags}`, reader.position - 1)
  const active = (flags & NOT_ACTIVE) === 0
  const explicit = (flags & EXPLICIT) !== 0
  const expressions = (flags & EXPRESSIONS) !== 0
  const tableIndex = active ? (explicit ? reader.u32() : 0) : undefined
  const offset = active ? constants.read() : undefined
  if (!active || explicit) {
    if (expressions) readReferenceType(reader)
    else if (reader.u8() !== 0) reader.fail("unknown element kind", reader.position - 1)
  }
  const count = reader.count()
  const start = reader.position
  for (let i = 0; i < count; i++) {
    if (expressions) constants.skip()
    else reader.skipLeb()
  }
  const mode = active ? "active" : explicit ? "declarative" : "passive"
  return { mode, tableIndex, offset, expressions, count, start, end: reader.position }
}

/**
 * Reads the element section's content.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeElementSegments = (reader: ByteReader): ElementSegment[] => {
  const count = reader.count()
  const constants = new ConstantReader(reader)
  const segments: ElementSegment[] = []
  for (let i = 0; i < count; i++) segments.push(readElementSegment(reader, constants))
  return segments
}

const readDataSegment = (reader: ByteReader, constants: ConstantReader): DataSegment => {
  const flags = reader.u32()
  if (flags > 2) reader.fail(`unknown data segment ${flags}`, reader.position - 1)
  const active = flags !== 1
  const memoryIndex = active ? (flags === 2 ? reader.u32() : 0) : undefined
  const offset = active ? constants.read() : undefined
  const length = reader.u32()
  const start = reader.skip(length)
  return { mode: active ? "active" : "passive", memoryIndex, offset, start, end: start + length }
}

/**
 * Reads the data section's content.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeDataSegments = (reader: ByteReader): DataSegment[] => {
  const count = reader.count()
  const constants = new ConstantReader(reader)
  const segments: DataSegment[] = []
  for (let i = 0; i < count; i++) segments.push(readDataSegment(reader, constants))
  return segments
}
