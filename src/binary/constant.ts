/**
 * Constant expressions: initial values of globals and tables, offsets of segments.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "./instruction.ts"
import type { ByteReader } from "./reader.ts"

/**
 * A constant expression. One that is a single instruction is described; a longer one (extended constants, garbage
 * collection) is only a range of bytes.
 *
 * @category types
 * @since 0.1.0
 */
export interface ConstantExpression {
  /** Offset of the first instruction. */
  readonly start: number
  /** Offset behind the final `end`. */
  readonly end: number
  /** The opcode where there is one instruction before `end`, otherwise undefined. */
  readonly opcode: number | undefined
  /** `i32.const`; the bits of `f32.const`. */
  readonly i32?: number | undefined
  /** `i64.const`; the bits of `f64.const`. */
  readonly i64?: bigint | undefined
  /** `global.get`. */
  readonly globalIndex?: number | undefined
  /** `ref.func`. */
  readonly funcIndex?: number | undefined
}

const I32_CONST = 0x41
const I64_CONST = 0x42
const F32_CONST = 0x43
const F64_CONST = 0x44
const GLOBAL_GET = 0x23
const REF_FUNC = 0xd2
const END = 0x0b

/**
 * Reads constant expressions at a cursor. One object serves a whole section: a module may have 100,000 segments.
 *
 * @category decoding
 * @since 0.1.0
 */
export class ConstantReader {
  readonly #reader: ByteReader
  readonly #code: InstructionReader

  constructor(reader: ByteReader) {
    this.#reader = reader
    this.#code = new InstructionReader(reader.bytes, reader.position, reader.end)
  }

  /** Moves behind a constant expression, which ends at its first `end`: it has no blocks. */
  skip(): void {
    const code = this.#code
    code.position = this.#reader.position
    do {
      if (!code.next()) this.#reader.fail("a constant expression without end")
    } while (code.opcode !== END)
    this.#reader.position = code.position
  }

  /** Reads a constant expression. */
  read(): ConstantExpression {
    const code = this.#code
    const start = this.#reader.position
    code.position = start
    if (!code.next()) this.#reader.fail("a constant expression without end")
    const { i32, index, opcode } = code
    const i64 = opcode === I64_CONST || opcode === F64_CONST ? code.i64 : 0n
    const second = code.position
    this.#reader.position = start
    this.skip()
    const end = this.#reader.position
    if (second !== end - 1) return { start, end, opcode: undefined }
    switch (opcode) {
      case I32_CONST:
      case F32_CONST:
        return { start, end, opcode, i32 }
      case I64_CONST:
      case F64_CONST:
        return { start, end, opcode, i64 }
      case GLOBAL_GET:
        return { start, end, opcode, globalIndex: index }
      case REF_FUNC:
        return { start, end, opcode, funcIndex: index }
      default:
        return { start, end, opcode }
    }
  }
}
