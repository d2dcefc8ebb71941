/**
 * A cursor over the bytes of a WebAssembly module: fixed-width fields, LEB128 integers and names.
 *
 * Integers are read as strictly as an engine reads them (length and unused bits are checked), so that whatever is
 * accepted here has one meaning. Every failure is a {@link ModuleFormatError}.
 *
 * @since 0.1.0
 */

/**
 * The bytes are not a well-formed module, or use an encoding this decoder does not know.
 *
 * A plain error class: the decoder runs without any framework, and its callers turn this into a refusal.
 *
 * @category errors
 * @since 0.1.0
 */
export class ModuleFormatError extends Error {
  readonly _tag = "ModuleFormatError"
  /** Offset in the module's bytes at which the fault was seen. */
  readonly offset: number
  /** What is wrong there. */
  readonly reason: string

  constructor(offset: number, reason: string) {
    super(`${reason} at offset ${offset}`)
    this.name = "ModuleFormatError"
    this.offset = offset
    this.reason = reason
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/**
 * A bounded forward cursor. `position` may be set freely between reads.
 *
 * @category decoding
 * @since 0.1.0
 */
export class ByteReader {
  readonly bytes: Uint8Array
  position: number
  readonly end: number

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes
    this.position = start
    this.end = end
  }

  /** Throws a {@link ModuleFormatError} at the given offset, by default the cursor's. */
  fail(reason: string, offset: number = this.position): never {
    throw new ModuleFormatError(offset, reason)
  }

  /** One byte. */
  u8(): number {
    if (this.position >= this.end) this.fail("unexpected end")
    return this.bytes[this.position++]
  }

  /** The next byte without consuming it. */
  peek(): number {
    if (this.position >= this.end) this.fail("unexpected end")
    return this.bytes[this.position]
  }

  /** Four bytes, little endian, unsigned. */
  fixed32(): number {
    const at = this.skip(4)
    const bytes = this.bytes
    return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0
  }

  /** Moves `count` bytes forward and returns where they began. */
  skip(count: number): number {
    const start = this.position
    if (count > this.end - start) this.fail(`${count} bytes expected, ${this.end - start} left`)
    this.position = start + count
    return start
  }

  /** An unsigned LEB128 of at most 32 bits. */
  u32(): number {
    const first = this.u8()
    if (first < 0x80) return first
    let result = first & 0x7f
    for (let shift = 7; shift < 28; shift += 7) {
      const byte = this.u8()
      result |= (byte & 0x7f) << shift
      if (byte < 0x80) return result
    }
    const last = this.u8()
    if (last > 0x0f) this.fail("LEB128 does not fit in 32 bits", this.position - 1)
    return (result | (last << 28)) >>> 0
  }

  /** A vector's length: an unsigned LEB128 that cannot exceed the bytes left, since no entry is empty. */
  count(): number {
    const at = this.position
    const count = this.u32()
    if (count > this.end - this.position) this.fail(`a vector of ${count} entries in too few bytes`, at)
    return count
  }

  /** An unsigned LEB128 of at most 64 bits, as a number (exact up to 2^53). */
  u64(): number {
    let result = 0
    let scale = 1
    for (let length = 1; length < 10; length++) {
      const byte = this.u8()
      result += (byte & 0x7f) * scale
      if (byte < 0x80) return result
      scale *= 128
    }
    const last = this.u8()
    if (last > 1) this.fail("LEB128 does not fit in 64 bits", this.position - 1)
    return result + last * scale
  }

  /** A signed LEB128 of at most 32 bits. */
  s32(): number {
    let result = 0
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.u8()
      result |= (byte & 0x7f) << shift
      if (byte < 0x80) return (result << (25 - shift)) >> (25 - shift)
    }
    const last = this.u8()
    const sign = last & 0x78
    if (last >= 0x80 || (sign !== 0 && sign !== 0x78)) {
      this.fail("signed LEB128 does not fit in 32 bits", this.position - 1)
    }
    return result | (last << 28)
  }

  /** A signed LEB128 of at most 33 bits: a block type or a heap type. */
  s33(): number {
    let result = 0
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.u8()
      result |= (byte & 0x7f) << shift
      if (byte < 0x80) return (result << (25 - shift)) >> (25 - shift)
    }
    const last = this.u8()
    const sign = last & 0x70
    if (last >= 0x80 || (sign !== 0 && sign !== 0x70)) {
      this.fail("signed LEB128 does not fit in 33 bits", this.position - 1)
    }
    const low = (result | (last << 28)) >>> 0
    return sign === 0 ? low : low - 0x1_0000_0000
  }

  /** A signed LEB128 of at most 64 bits. */
  s64(): bigint {
    let result = 0n
    for (let shift = 0n; shift < 63n; shift += 7n) {
      const byte = this.u8()
      result |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(Number(shift) + 7, result)
    }
    const last = this.u8()
    if (last !== 0 && last !== 0x7f) this.fail("signed LEB128 does not fit in 64 bits", this.position - 1)
    return BigInt.asIntN(64, result | (BigInt(last) << 63n))
  }

  /** Moves behind one LEB128 of any width up to 64 bits. */
  skipLeb(): void {
    for (let length = 0; length < 10; length++) {
      if (this.u8() < 0x80) return
    }
    this.fail("LEB128 longer than 10 bytes")
  }

  /** A length-prefixed UTF-8 name. */
  name(): string {
    const length = this.u32()
    const at = this.skip(length)
    try {
      return utf8.decode(this.bytes.subarray(at, at + length))
    } catch {
      return this.fail("a name that is not UTF-8", at)
    }
  }
}
