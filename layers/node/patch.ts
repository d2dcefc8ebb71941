/**
 * What a patched module has in common with its original: runs of bytes that both have.
 *
 * ```text
 * original  ████████████░░░░░░░░░░░░░░░░▓▓▓▓▓▓▓▓
 * patched   ████████████▒▒░░░░░░░░░░░░░░░░▒▒▒▒▓▓▓▓▓▓▓▓
 * runs      [0, 0, 12] [12, 14, 16] [28, 34, 8]
 * ```
 *
 * Blocks of the original are looked up by their hash, from every place of the patched module that does not go on as the
 * original did; where one is found, both are compared forwards and backwards. So the time is linear whatever was
 * changed, and a change costs its own bytes and a few around them.
 *
 * @since 0.1.0
 */

/** Bytes of a block. What agrees for twice as many is found for certain. */
const block = 16

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const blockHash = (view: DataView, at: number): number => {
  let hash = Math.imul(view.getInt32(at, true), 0x9e3779b1)
  hash = Math.imul(hash ^ view.getInt32(at + 4, true), 0x85ebca6b)
  hash = Math.imul(hash ^ view.getInt32(at + 8, true), 0xc2b2ae35)
  hash = Math.imul(hash ^ view.getInt32(at + 12, true), 0x27d4eb2f)
  return hash ^ hash >>> 15
}

/** Where the blocks of a module are. Of blocks with the same hash the last one is known. */
class Blocks {
  readonly #places: Int32Array
  readonly #mask: number

  constructor(input: Uint8Array) {
    const blocks = Math.floor(input.length / block)
    const size = 1 << Math.max(4, 32 - Math.clz32(blocks * 2))
    this.#places = new Int32Array(size).fill(-1)
    this.#mask = size - 1
    const view = viewOf(input)
    for (let at = 0; at + block <= input.length; at += block) this.#places[blockHash(view, at) & this.#mask] = at
  }

  /** A place of the module that may agree with the sixteen bytes; -1 where there is none. */
  find(view: DataView, at: number): number {
    return this.#places[blockHash(view, at) & this.#mask]
  }
}

/** How many bytes agree from two places on. */
const agreeing = (input: Uint8Array, at: number, output: Uint8Array, to: number): number => {
  const end = Math.min(input.length - at, output.length - to)
  let length = 0
  while (length < end && input[at + length] === output[to + length]) length++
  return length
}

/** How many bytes agree in front of two places, down to a place of the output. */
const agreeingBefore = (input: Uint8Array, at: number, output: Uint8Array, to: number, least: number): number => {
  const end = Math.min(at, to - least)
  let length = 0
  while (length < end && input[at - 1 - length] === output[to - 1 - length]) length++
  return length
}

/** Encoded lengths differ in bytes: how far the input is looked at behind a short change. */
const nearby = 8

/**
 * The next pair of places from which both agree.
 *
 * @param at where the original would go on
 */
const nextAgreement = (
  blocks: Blocks,
  input: Uint8Array,
  at: number,
  output: Uint8Array,
  to: number
): { readonly at: number; readonly to: number } => {
  // A length of some bytes became another one of some bytes.
  for (let length = 1; length <= nearby; length++) {
    for (const [here, there] of [[at + length, to + length], [at, to + length], [at + length - 1, to + length]]) {
      if (agreeing(input, here, output, there) >= block) return { at: here, to: there }
    }
  }
  const view = viewOf(output)
  for (let there = to + 1; there + block <= output.length; there++) {
    const here = blocks.find(view, there)
    if (here < 0 || agreeing(input, here, output, there) < block) continue
    const before = agreeingBefore(input, here, output, there, to)
    return { at: here - before, to: there - before }
  }
  return { at: input.length, to: output.length }
}

/**
 * Runs of bytes that both have, in the order of `output`: place in the input, place in the output and length, three
 * numbers each.
 *
 * @category comparing
 * @since 0.1.0
 */
export const commonRuns = (input: Uint8Array, output: Uint8Array): Uint32Array<ArrayBuffer> => {
  const blocks = new Blocks(input)
  const runs: Array<number> = []
  let at = 0
  for (let to = 0; to < output.length;) {
    const length = agreeing(input, at, output, to)
    if (length > 0) runs.push(at, to, length)
    const next = nextAgreement(blocks, input, at + length, output, to + length)
    at = next.at
    to = next.to
  }
  return new Uint32Array(runs)
}
