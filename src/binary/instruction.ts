/**
 * A pull decoder for function bodies and constant expressions.
 *
 * One reader object is stepped through the code; the fields describe the instruction it stands on. Nothing is
 * allocated for an instruction, except the target list of `br_table` and `try_table`.
 *
 * @since 0.1.0
 */
import { ByteReader, ModuleFormatError } from "./reader.ts"

/* What follows an opcode. The numbers are the cases of `next`, most frequent first. */
const UNKNOWN = 0
const NONE = 1
const INDEX = 2
const MEMARG = 3
const I32 = 4
const BLOCK = 5
const I64 = 6
const INDEX_PAIR = 7
const F32 = 8
const F64 = 9
const BR_TABLE = 10
const SELECT = 11
const TRY_TABLE = 12
const HEAP_TYPE = 13
const MEMORY = 14
const PREFIX = 15
const LANE = 16
const MEMARG_LANE = 17
const BYTES_16 = 18
const MEMORY_INIT = 19
const MEMORY_COPY = 20
const CAST_BRANCH = 21
const FENCE = 22

const fill = (table: Uint8Array, first: number, last: number, kind: number): void => {
  table.fill(kind, first, last + 1)
}

const plain = /* @__PURE__ */ (() => {
  const table = new Uint8Array(256)
  fill(table, 0x00, 0x01, NONE) // unreachable, nop
  fill(table, 0x02, 0x04, BLOCK) // block, loop, if
  table[0x05] = NONE // else
  table[0x06] = BLOCK // try (legacy)
  fill(table, 0x07, 0x09, INDEX) // catch, throw, rethrow
  fill(table, 0x0a, 0x0b, NONE) // throw_ref, end
  fill(table, 0x0c, 0x0d, INDEX) // br, br_if
  table[0x0e] = BR_TABLE
  table[0x0f] = NONE // return
  table[0x10] = INDEX // call
  table[0x11] = INDEX_PAIR // call_indirect
  table[0x12] = INDEX // return_call
  table[0x13] = INDEX_PAIR // return_call_indirect
  fill(table, 0x14, 0x15, INDEX) // call_ref, return_call_ref
  table[0x18] = INDEX // delegate
  fill(table, 0x19, 0x1b, NONE) // catch_all, drop, select
  table[0x1c] = SELECT
  table[0x1f] = TRY_TABLE
  fill(table, 0x20, 0x26, INDEX) // local.*, global.*, table.get, table.set
  fill(table, 0x28, 0x3e, MEMARG)
  fill(table, 0x3f, 0x40, MEMORY) // memory.size, memory.grow
  table[0x41] = I32
  table[0x42] = I64
  table[0x43] = F32
  table[0x44] = F64
  fill(table, 0x45, 0xc4, NONE)
  table[0xd0] = HEAP_TYPE // ref.null
  table[0xd1] = NONE // ref.is_null
  table[0xd2] = INDEX // ref.func
  fill(table, 0xd3, 0xd4, NONE) // ref.eq, ref.as_non_null
  fill(table, 0xd5, 0xd6, INDEX) // br_on_null, br_on_non_null
  fill(table, 0xfb, 0xfe, PREFIX)
  return table
})()

/** Prefix 0xfb: garbage collection. */
const gc = /* @__PURE__ */ (() => {
  const table = new Uint8Array(31)
  fill(table, 0, 1, INDEX) // struct.new, struct.new_default
  fill(table, 2, 5, INDEX_PAIR) // struct.get, get_s, get_u, set
  fill(table, 6, 7, INDEX) // array.new, array.new_default
  fill(table, 8, 10, INDEX_PAIR) // array.new_fixed, new_data, new_elem
  fill(table, 11, 14, INDEX) // array.get, get_s, get_u, set
  table[15] = NONE // array.len
  table[16] = INDEX // array.fill
  fill(table, 17, 19, INDEX_PAIR) // array.copy, init_data, init_elem
  fill(table, 20, 23, HEAP_TYPE) // ref.test, ref.test null, ref.cast, ref.cast null
  fill(table, 24, 25, CAST_BRANCH) // br_on_cast, br_on_cast_fail
  fill(table, 26, 30, NONE) // any.convert_extern, extern.convert_any, ref.i31, i31.get_s, i31.get_u
  return table
})()

/** Prefix 0xfc: saturating truncation, bulk memory and tables, wide arithmetic. */
const misc = /* @__PURE__ */ (() => {
  const table = new Uint8Array(23)
  fill(table, 0, 7, NONE)
  table[8] = MEMORY_INIT
  table[9] = INDEX // data.drop
  table[10] = MEMORY_COPY
  table[11] = MEMORY // memory.fill
  table[12] = INDEX_PAIR // table.init
  table[13] = INDEX // elem.drop
  table[14] = INDEX_PAIR // table.copy
  fill(table, 15, 17, INDEX) // table.grow, size, fill
  table[18] = MEMORY // memory.discard
  fill(table, 19, 22, NONE) // i64.add128, sub128, mul_wide_s, mul_wide_u
  return table
})()

/** Prefix 0xfd: 128-bit SIMD, relaxed SIMD from 0x100. */
const simd = /* @__PURE__ */ (() => {
  const table = new Uint8Array(0x114)
  fill(table, 0x00, 0x0b, MEMARG)
  fill(table, 0x0c, 0x0d, BYTES_16) // v128.const, i8x16.shuffle
  fill(table, 0x0e, 0x14, NONE)
  fill(table, 0x15, 0x22, LANE)
  fill(table, 0x23, 0x53, NONE)
  fill(table, 0x54, 0x5b, MEMARG_LANE)
  fill(table, 0x5c, 0x5d, MEMARG)
  fill(table, 0x5e, 0xff, NONE)
  for (const gap of [0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2]) {
    table[gap] = UNKNOWN
  }
  for (const gap of [0xd3, 0xd4, 0xe2, 0xee]) table[gap] = UNKNOWN
  fill(table, 0x100, 0x113, NONE)
  return table
})()

/** Prefix 0xfe: atomics. */
const atomics = /* @__PURE__ */ (() => {
  const table = new Uint8Array(0x4f)
  fill(table, 0x00, 0x02, MEMARG) // memory.atomic.notify, wait32, wait64
  table[0x03] = FENCE
  fill(table, 0x10, 0x4e, MEMARG)
  return table
})()

const prefixed: ReadonlyArray<Uint8Array> = [gc, misc, simd, atomics]

/**
 * Steps through instructions.
 *
 * ```ts
 * const reader = new InstructionReader(module.bytes, codeStart, body.end)
 * while (reader.next()) {
 *   if (reader.opcode === 0x10) called.add(reader.index)
 * }
 * ```
 *
 * `next` throws a `ModuleFormatError` for an unknown opcode, a malformed immediate or an instruction that crosses
 * the end of its range. Fields that an instruction does not have keep an earlier instruction's value.
 *
 * @category decoding
 * @since 0.1.0
 */
export class InstructionReader {
  /** Offset of this instruction's first byte. */
  start: number
  /** Offset behind this instruction. */
  position: number
  /** Offset of this instruction's first immediate byte: where `v128.const` and `i8x16.shuffle` have their bytes. */
  immediate: number
  /** The opcode byte, or `(prefix << 12) | sub`: 0xfc00a is `memory.copy`, 0xfd00c `v128.const`. */
  opcode = 0
  /**
   * The first index: local, global, function, type, label, tag, table or segment; the lane of a lane instruction; the
   * heap type of `ref.null`, `ref.test` and `ref.cast`.
   */
  index = 0
  /**
   * The second index: table of `call_indirect` and `table.init`, source of `table.copy` and `memory.copy`, field of
   * `struct.get`, length of `array.new_fixed`, segment of `array.new_data`, target heap type of `br_on_cast`.
   */
  index2 = 0
  /** The memory of an access, of `memory.size`, `grow`, `fill`, `init`; the destination of `memory.copy`. */
  memory = 0
  /** Alignment exponent of an access. */
  align = 0
  /** Static offset of an access in bytes (exact up to 2^53). */
  offset = 0
  /**
   * Type of a block, or of a typed `select`: a type index, or -64 empty, -1 i32, -2 i64, -3 f32, -4 f64, -5 v128, any
   * other negative number a reference.
   */
  blockType = -64
  /** `i32.const`; the bits of `f32.const`; the flags of `br_on_cast`. */
  i32 = 0
  /** Labels of `br_table`, the default last; labels of the catch clauses of `try_table`, in order. */
  targets: number[] | null = null

  readonly bytes: Uint8Array
  #end: number
  #cursor: ByteReader | undefined

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes
    this.start = start
    this.position = start
    this.immediate = start
    this.#end = Math.min(end, bytes.length)
  }

  /** Points the reader at another range of the same bytes. */
  reset(start: number, end: number): void {
    this.start = start
    this.position = start
    this.immediate = start
    this.#end = Math.min(end, this.bytes.length)
  }

  /** `i64.const`, or the bits of `f64.const` as a signed integer. Decoded when asked for. */
  get i64(): bigint {
    const reader = new ByteReader(this.bytes, this.immediate, this.position)
    if (this.opcode !== 0x44) return reader.s64()
    const low = reader.fixed32()
    return BigInt.asIntN(64, (BigInt(reader.fixed32()) << 32n) | BigInt(low))
  }

  /** The value of `f32.const` (its NaN payload is in {@link i32}). */
  get f32(): number {
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + this.immediate, 4).getFloat32(0, true)
  }

  /** The value of `f64.const` (its NaN payload is in {@link i64}). */
  get f64(): number {
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + this.immediate, 8).getFloat64(0, true)
  }

  /** Decodes the next instruction; false at the end of the range. */
  next(): boolean {
    const start = this.position
    if (start >= this.#end) return false
    this.start = start
    this.position = start + 1
    this.immediate = start + 1
    const opcode = this.bytes[start]
    this.opcode = opcode
    const kind = plain[opcode]
    if (kind !== NONE) this.#immediates(kind)
    if (this.position > this.#end) throw new ModuleFormatError(start, "an instruction crosses the end of its body")
    return true
  }

  #immediates(kind: number): void {
    switch (kind) {
      case NONE:
        return
      case INDEX:
        this.index = this.#u32()
        return
      case MEMARG:
        this.#memarg()
        return
      case I32:
        this.i32 = this.#s32()
        return
      case BLOCK:
        this.blockType = this.#type()
        return
      case I64:
        this.#skipS64()
        return
      case INDEX_PAIR:
        this.index = this.#u32()
        this.index2 = this.#u32()
        return
      case F32: {
        const at = this.position
        const bytes = this.bytes
        this.i32 = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)
        this.position = at + 4
        return
      }
      case F64:
        this.position += 8
        return
      case BR_TABLE:
        this.#branchTable()
        return
      case SELECT:
        this.#select()
        return
      case TRY_TABLE:
        this.#tryTable()
        return
      case HEAP_TYPE:
        this.index = this.#s33()
        return
      case MEMORY:
        this.memory = this.#u32()
        return
      case PREFIX:
        this.#prefixed()
        return
      case LANE:
        this.index = this.#byte()
        return
      case MEMARG_LANE:
        this.#memarg()
        this.index = this.#byte()
        return
      case BYTES_16:
        this.position += 16
        return
      case MEMORY_INIT:
        this.index = this.#u32()
        this.memory = this.#u32()
        return
      case MEMORY_COPY:
        this.memory = this.#u32()
        this.index2 = this.#u32()
        return
      case CAST_BRANCH:
        this.i32 = this.#byte()
        this.index = this.#u32()
        this.blockType = this.#s33()
        this.index2 = this.#s33()
        return
      case FENCE:
        if (this.#byte() !== 0) {
          throw new ModuleFormatError(this.position - 1, "an unknown memory order of atomic.fence")
        }
        return
      default:
        throw new ModuleFormatError(this.start, `unknown opcode 0x${this.opcode.toString(16)}`)
    }
  }

  #prefixed(): void {
    const prefix = this.opcode
    const sub = this.#u32()
    this.immediate = this.position
    this.opcode = (prefix << 12) | (sub & 0xfff)
    const table = prefixed[prefix - 0xfb]
    if (sub >= table.length || table[sub] === UNKNOWN) {
      throw new ModuleFormatError(this.start, `unknown opcode 0x${prefix.toString(16)} ${sub}`)
    }
    this.#immediates(table[sub])
  }

  #byte(): number {
    if (this.position >= this.#end) {
      throw new ModuleFormatError(this.start, "an instruction crosses the end of its body")
    }
    return this.bytes[this.position++]
  }

  #u32(): number {
    const byte = this.bytes[this.position]
    if (byte < 0x80) {
      this.position++
      return byte
    }
    const cursor = this.#slow()
    const value = cursor.u32()
    this.position = cursor.position
    return value
  }

  #s32(): number {
    const byte = this.bytes[this.position]
    if (byte < 0x80) {
      this.position++
      return (byte << 25) >> 25
    }
    const cursor = this.#slow()
    const value = cursor.s32()
    this.position = cursor.position
    return value
  }

  #s33(): number {
    const byte = this.bytes[this.position]
    if (byte < 0x80) {
      this.position++
      return (byte << 25) >> 25
    }
    const cursor = this.#slow()
    const value = cursor.s33()
    this.position = cursor.position
    return value
  }

  #skipS64(): void {
    const bytes = this.bytes
    const first = this.position
    let at = first
    while (bytes[at] >= 0x80) at++
    this.position = at + 1
    if (at - first < 9 && at < this.#end) return
    const cursor = this.#slow()
    cursor.position = first
    cursor.s64()
    this.position = cursor.position
  }

  /** The reader for integers longer than a byte, placed at the cursor. */
  #slow(): ByteReader {
    let cursor = this.#cursor
    if (cursor === undefined || cursor.end !== this.#end) {
      cursor = new ByteReader(this.bytes, this.position, this.#end)
      this.#cursor = cursor
    } else {
      cursor.position = this.position
    }
    return cursor
  }

  /** Alignment exponent (bit 6: a memory index follows) and offset; other bits belong to encodings not known here. */
  #memarg(): void {
    const flags = this.#u32()
    if (flags >= 0x80 || (flags & 0x20) !== 0) throw new ModuleFormatError(this.immediate, `unknown alignment ${flags}`)
    this.align = flags & 0x1f
    this.memory = (flags & 0x40) === 0 ? 0 : this.#u32()
    const byte = this.bytes[this.position]
    if (byte < 0x80) {
      this.position++
      this.offset = byte
      return
    }
    const cursor = this.#slow()
    this.offset = cursor.u64()
    this.position = cursor.position
  }

  /** A block or value type: references to a heap type carry it as a second integer. */
  #type(): number {
    const type = this.#s33()
    if (type === -28 || type === -29) this.#s33()
    return type
  }

  #select(): void {
    const count = this.#count()
    for (let i = 0; i < count; i++) this.blockType = this.#type()
  }

  #branchTable(): void {
    const count = this.#count()
    const targets: number[] = []
    for (let i = 0; i <= count; i++) targets.push(this.#u32())
    this.targets = targets
  }

  #tryTable(): void {
    this.blockType = this.#type()
    const count = this.#count()
    const targets: number[] = []
    for (let i = 0; i < count; i++) {
      const kind = this.#byte()
      if (kind > 3) throw new ModuleFormatError(this.position - 1, `unknown catch clause ${kind}`)
      if (kind < 2) this.index = this.#u32()
      targets.push(this.#u32())
    }
    this.targets = targets
  }

  #count(): number {
    const count = this.#u32()
    if (count > this.#end - this.position) throw new ModuleFormatError(this.start, "a vector longer than its body")
    return count
  }
}
