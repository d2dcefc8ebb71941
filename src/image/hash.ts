/**
 * MurmurHash3, the 128-bit variant for 32-bit arithmetic (Austin Appleby, public domain): finds bits that changed by
 * accident at about 1 GB/s in plain JavaScript. It is no defence against someone who wants two pages to agree; whoever
 * serves images to others signs them or serves them from where only he can write.
 *
 * @since 0.1.0
 */

const C1 = 0x239b961b
const C2 = 0xab0e9789 | 0
const C3 = 0x38b34ae5
const C4 = 0xa1e38b93 | 0

const rotate = (value: number, by: number): number => (value << by) | (value >>> (32 - by))

const mix = (value: number): number => {
  let h = value
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

/** The bytes as little-endian words, padded with zeros to whole blocks of four. */
const wordsOf = (bytes: Uint8Array): Int32Array => {
  if (bytes.byteOffset % 4 === 0 && bytes.length % 16 === 0) {
    return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  }
  const padded = new Uint8Array(Math.ceil(bytes.length / 16) * 16)
  padded.set(bytes)
  return new Int32Array(padded.buffer)
}

/**
 * The hash of a range of bytes as 32 hex digits, four words of eight.
 *
 * @category hashing
 * @since 0.1.0
 */
export const hash128 = (bytes: Uint8Array): string => {
  const words = wordsOf(bytes)
  const length = bytes.length
  const whole = (length >>> 4) << 2
  let [h1, h2, h3, h4] = [0, 0, 0, 0]
  for (let at = 0; at < whole; at += 4) {
    h1 ^= Math.imul(rotate(Math.imul(words[at], C1), 15), C2)
    h1 = (Math.imul((rotate(h1, 19) + h2) | 0, 5) + 0x561ccd1b) | 0
    h2 ^= Math.imul(rotate(Math.imul(words[at + 1], C2), 16), C3)
    h2 = (Math.imul((rotate(h2, 17) + h3) | 0, 5) + 0x0bcaa747) | 0
    h3 ^= Math.imul(rotate(Math.imul(words[at + 2], C3), 17), C4)
    h3 = (Math.imul((rotate(h3, 15) + h4) | 0, 5) + 0x96cd1c35) | 0
    h4 ^= Math.imul(rotate(Math.imul(words[at + 3], C4), 18), C1)
    h4 = (Math.imul((rotate(h4, 13) + h1) | 0, 5) + 0x32ac3b17) | 0
  }
  if (length % 16 !== 0) {
    // Words of zero leave their half of the state as it is, so padding takes no part.
    h4 ^= Math.imul(rotate(Math.imul(words[whole + 3], C4), 18), C1)
    h3 ^= Math.imul(rotate(Math.imul(words[whole + 2], C3), 17), C4)
    h2 ^= Math.imul(rotate(Math.imul(words[whole + 1], C2), 16), C3)
    h1 ^= Math.imul(rotate(Math.imul(words[whole], C1), 15), C2)
  }
  h1 ^= length
  h2 ^= length
  h3 ^= length
  h4 ^= length
  h1 = (h1 + h2 + h3 + h4) | 0
  h2 = (h2 + h1) | 0
  h3 = (h3 + h1) | 0
  h4 = (h4 + h1) | 0
  h1 = mix(h1)
  h2 = mix(h2)
  h3 = mix(h3)
  h4 = mix(h4)
  h1 = (h1 + h2 + h3 + h4) | 0
  h2 = (h2 + h1) | 0
  h3 = (h3 + h1) | 0
  h4 = (h4 + h1) | 0
  return [h1, h2, h3, h4].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("")
}
