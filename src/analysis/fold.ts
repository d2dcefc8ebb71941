/**
 * Instructions on constants.
 *
 * @since 0.1.0
 */

/** The value of an i32 instruction on constants, as far as it can be part of an address. @category analysis @since 0.1.0 */
export const foldI32 = (opcode: number, x: number, y: number): number | undefined => {
  switch (opcode) {
    case 0x6a:
      return (x + y) | 0
    case 0x6b:
      return (x - y) | 0
    case 0x6c:
      return Math.imul(x, y)
    case 0x71:
      return x & y
    case 0x72:
      return x | y
    case 0x73:
      return x ^ y
    case 0x74:
      return x << (y & 31)
    case 0x75:
      return x >> (y & 31)
    case 0x76:
      return (x >>> (y & 31)) | 0
    default:
      return undefined
  }
}
