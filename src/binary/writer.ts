/**
 * A growing buffer of module bytes: fixed-width fields, LEB128 integers in their shortest form, names and sections.
 *
 * @since 0.1.0
 */

const utf8 = new TextEncoder()

/**
 * Writes module bytes. Integers are reduced to their field's width, as the engine reads them back.
 *
 * @category encoding
 * @since 0.1.0
 */
export class ByteWriter {
  #buffer: Uint8Array
  #view: DataView
  #length = 0

  constructor(capacity = 256) {
    this.#buffer = new Uint8Array(Math.max(16, capacity))
    this.#view = new DataView(this.#buffer.buffer)
  }

  /** How many bytes have been written. */
  get length(): number {
    return this.#length
  }

  /** A copy of what has been written. */
  finish(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#buffer.subarray(0, this.#length))
  }

  /** Makes room for `count` more bytes and returns where they begin. */
  #reserve(count: number): number {
    const at = this.#length
    const needed = at + count
    if (needed > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(needed, this.#buffer.length * 2))
      grown.set(this.#buffer.subarray(0, at))
      this.#buffer = grown
      this.#view = new DataView(grown.buffer)
    }
    this.#length = needed
    return at
  }

  /** One byte. */
  u8(value: number): this {
    const at = this.#reserve(1)
    this.#buffer[at] = value
    return this
  }

  /** Four bytes, little endian. */
  fixed32(value: number): this {
    const at = this.#reserve(4)
    this.#view.setUint32(at, value, true)
    return this
  }

  /** Eight bytes, little endian. */
  fixed64(value: bigint): this {
    const at = this.#reserve(8)
    this.#view.setBigUint64(at, BigInt.asUintN(64, value), true)
    return this
  }

  /** An unsigned 32-bit LEB128. */
  u32(value: number): this {
    let rest = value >>> 0
    while (rest >= 0x80) {
      this.u8((rest & 0x7f) | 0x80)
      rest >>>= 7
    }
    return this.u8(rest)
  }

  /** An unsigned 64-bit LEB128: an offset or limit of memory64. */
  u64(value: number | bigint): this {
    let rest = BigInt.asUintN(64, BigInt(value))
    while (rest >= 0x80n) {
      this.u8(Number(rest & 0x7fn) | 0x80)
      rest >>= 7n
    }
    return this.u8(Number(rest))
  }

  /** A signed 32-bit LEB128, as after `i32.const`. */
  s32(value: number): this {
    let rest = value | 0
    while (rest < -0x40 || rest > 0x3f) {
      this.u8((rest & 0x7f) | 0x80)
      rest >>= 7
    }
    return this.u8(rest & 0x7f)
  }

  /** A signed 33-bit LEB128: a block type (a type index, or a negative value type) or a heap type. */
  s33(value: number): this {
    return this.s64(BigInt(value))
  }

  /** A signed 64-bit LEB128, as after `i64.const`. */
  s64(value: bigint): this {
    let rest = BigInt.asIntN(64, value)
    while (rest < -0x40n || rest > 0x3fn) {
      this.u8(Number(rest & 0x7fn) | 0x80)
      rest >>= 7n
    }
    return this.u8(Number(rest & 0x7fn))
  }

  /** A 32-bit float. A NaN's payload is the host's: write {@link fixed32} where its bits matter. */
  f32(value: number): this {
    const at = this.#reserve(4)
    this.#view.setFloat32(at, value, true)
    return this
  }

  /** A 64-bit float. A NaN's payload is the host's: write {@link fixed64} where its bits matter. */
  f64(value: number): this {
    const at = this.#reserve(8)
    this.#view.setFloat64(at, value, true)
    return this
  }

  /** Raw bytes, or a range of them. */
  bytes(source: Uint8Array, start = 0, end: number = source.length): this {
    const at = this.#reserve(end - start)
    this.#buffer.set(start === 0 && end === source.length ? source : source.subarray(start, end), at)
    return this
  }

  /** All that another writer has written. */
  append(other: ByteWriter): this {
    return this.bytes(other.#buffer, 0, other.#length)
  }

  /** A length-prefixed UTF-8 name. */
  name(value: string): this {
    const encoded = utf8.encode(value)
    return this.u32(encoded.length).bytes(encoded)
  }

  /** An opcode as {@link InstructionReader} reports it: a byte, or `(prefix << 12) | sub`. */
  opcode(value: number): this {
    return value < 0x100 ? this.u8(value) : this.u8(value >>> 12).u32(value & 0xfff)
  }

  /** The immediates of a memory access. `align` is the exponent; a memory other than 0 is named explicitly. */
  memarg(align: number, offset: number, memory = 0): this {
    if (memory === 0) this.u32(align)
    else this.u32(align | 0x40).u32(memory)
    return offset <= 0xffff_ffff ? this.u32(offset) : this.u64(offset)
  }

  /** A section: its id, the size of its body, the body. */
  section(id: number, body: Uint8Array | ByteWriter): this {
    this.u8(id).u32(body.length)
    return body instanceof ByteWriter ? this.append(body) : this.bytes(body)
  }
}
