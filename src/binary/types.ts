/**
 * The type section: value types, function types, and over the rest (structs, arrays, recursion groups, subtypes) just
 * enough to number them.
 *
 * @since 0.1.0
 */
import type { FunctionType, ValueType } from "./module.ts"
import type { ByteReader } from "./reader.ts"

const numberTypes: Readonly<Record<number, ValueType>> = {
  0x7f: "i32",
  0x7e: "i64",
  0x7d: "f32",
  0x7c: "f64",
  0x7b: "v128"
}

/** `ref null ht` and `ref ht`, followed by a heap type. */
const REF_NULL = 0x63
const REF = 0x64

/** Reads a heap type: a type index, or a negative number for an abstract one. */
const readHeapType = (reader: ByteReader): number => {
  const at = reader.position
  const type = reader.s33()
  // noexn 0x74 to exn 0x69
  if (type < 0 && (type < -23 || type > -12)) reader.fail("unknown heap type", at)
  return type
}

/**
 * Reads a reference type and returns its first integer, as {@link InstructionReader.blockType} does: -16 funcref,
 * -17 externref, -28 and -29 a typed reference.
 *
 * @category decoding
 * @since 0.1.0
 */
export const readReferenceType = (reader: ByteReader): number => {
  const at = reader.position
  const byte = reader.u8()
  if (byte === REF || byte === REF_NULL) readHeapType(reader)
  else if (byte < 0x69 || byte > 0x74) reader.fail("unknown reference type", at)
  return byte - 0x80
}

/**
 * Reads a value type.
 *
 * @category decoding
 * @since 0.1.0
 */
export const readValueType = (reader: ByteReader): ValueType => {
  const type = numberTypes[reader.peek()]
  if (type === undefined) {
    readReferenceType(reader)
    return "ref"
  }
  reader.position++
  return type
}

const readValueTypes = (reader: ByteReader): ValueType[] => {
  const count = reader.count()
  const types: ValueType[] = []
  for (let i = 0; i < count; i++) types.push(readValueType(reader))
  return types
}

/** A struct's field or an array's element: a value type or i8 (0x78), i16 (0x77), then its mutability. */
const skipField = (reader: ByteReader): void => {
  const byte = reader.peek()
  if (byte === 0x78 || byte === 0x77) reader.position++
  else readValueType(reader)
  if (reader.u8() > 1) reader.fail("unknown mutability", reader.position - 1)
}

const readCompositeType = (reader: ByteReader): FunctionType | undefined => {
  const at = reader.position
  switch (reader.u8()) {
    case 0x60:
      return { params: readValueTypes(reader), results: readValueTypes(reader) }
    case 0x5f: {
      const fields = reader.count()
      for (let i = 0; i < fields; i++) skipField(reader)
      return undefined
    }
    case 0x5e:
      skipField(reader)
      return undefined
    default:
      return reader.fail("unknown type constructor", at)
  }
}

/** A type, behind its `sub` (0x50) or `sub final` (0x4f) with the supertypes where it has one. */
const readSubType = (reader: ByteReader): FunctionType | undefined => {
  const byte = reader.peek()
  if (byte === 0x50 || byte === 0x4f) {
    reader.position++
    const supertypes = reader.count()
    for (let i = 0; i < supertypes; i++) reader.u32()
  }
  return readCompositeType(reader)
}

/**
 * Reads the type section's content. A recursion group (0x4e) gives each of its types an index of its own.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeTypes = (reader: ByteReader): Array<FunctionType | undefined> => {
  const count = reader.count()
  const types: Array<FunctionType | undefined> = []
  for (let i = 0; i < count; i++) {
    if (reader.peek() !== 0x4e) {
      types.push(readSubType(reader))
      continue
    }
    reader.position++
    const members = reader.count()
    for (let k = 0; k < members; k++) types.push(readSubType(reader))
  }
  return types
}
