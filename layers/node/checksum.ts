/**
 * A checksum that is fast from its first byte on: a start of a program has no time to warm a function up, and
 * `node:crypto` or `node:zlib` take longer to load than all that is summed here. So it is a module of a hundred bytes,
 * which the engine compiles in a fraction of a millisecond:
 *
 * ```wat
 * (module
 *   (memory (export "window") 1)
 *   (func (export "mix") (param $sum i64) (param $end i32) (result i64) (local $at i32)
 *     (loop $next
 *       (local.set $sum (i64.mul
 *         (i64.rotl (i64.xor (local.get $sum) (i64.load (local.get $at))) (i64.const 29))
 *         (i64.const 0x9e3779b97f4a7c15)))
 *       (br_if $next (i32.lt_u
 *         (local.tee $at (i32.add (local.get $at) (i32.const 8)))
 *         (local.get $end))))
 *     (local.get $sum)))
 * ```
 *
 * A step is a bijection of the sum for each word and of the word for each sum (the factor is odd: 2⁶⁴ divided by the
 * golden ratio), so no change of a single word goes unnoticed. It tells apart what nobody made alike on purpose.
 *
 * @since 0.1.0
 */
import { original } from "./original.ts"

/** The module above, byte for byte; a test assembles the text and compares. */
const code =
  "AGFzbQEAAAABBwFgAn5/AX4DAgEABQMBAAEHEAIGd2luZG93AgADbWl4AAAKMAEuAQF/A0AgACACKQMAhUIdiUKV+Kn6l7fem55/fiEAIAJBCGoiAiABSQ0ACyAACw=="

/** Bytes that are summed by one call: the memory of the module. */
const windowBytes = 65_536

interface Mixer {
  readonly window: Uint8Array
  readonly mix: (sum: bigint, end: number) => bigint
}

let mixer: Mixer | undefined

const makeMixer = (): Mixer => {
  const { mix, window } = new original.Instance(new original.Module(Buffer.from(code, "base64"))).exports
  return {
    window: new Uint8Array((window as WebAssembly.Memory).buffer),
    mix: mix as Mixer["mix"]
  }
}

/**
 * The sum of bytes that come in parts, as an unsigned number of 64 bits. How they are cut makes no difference.
 *
 * @param seed sums that start from different numbers have nothing to do with each other
 * @category constructors
 * @since 0.1.0
 */
export const checksum = (parts: Iterable<Uint8Array>, seed = 0n): bigint => {
  const { mix, window } = mixer ??= makeMixer()
  let sum = seed
  let filled = 0
  let total = 0
  for (const part of parts) {
    for (let at = 0; at < part.length;) {
      const length = Math.min(part.length - at, windowBytes - filled)
      window.set(part.subarray(at, at + length), filled)
      at += length
      filled += length
      if (filled === windowBytes) {
        sum = mix(sum, windowBytes)
        filled = 0
      }
    }
    total += part.length
  }
  if (filled > 0) {
    const end = filled + 7 & ~7
    window.fill(0, filled, end)
    sum = mix(sum, end)
  }
  // The length, so that zeros behind the end count.
  window.set(new Uint8Array(new BigUint64Array([BigInt(total)]).buffer))
  return BigInt.asUintN(64, mix(sum, 8))
}

/**
 * A sum as sixteen hexadecimal digits.
 *
 * @category encoding
 * @since 0.1.0
 */
export const hexadecimal = (sum: bigint): string => sum.toString(16).padStart(16, "0")
