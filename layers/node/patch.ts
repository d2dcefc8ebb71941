/**
 * A patched module as its difference from the original: runs of bytes to copy, with bytes to insert between them.
 *
 * ```text
 * patch  = run*
 * run    = step:s copy:u insert:u byte{insert}     (s, u: LEB128)
 * ```
 *
 * A run moves the place in the input by `step`, copies `copy` bytes from there, and appends `insert` bytes. Patching
 * inserts a few bytes here and there and changes the lengths in front of them, so one pass that looks for the next place
 * where both agree finds a small difference.
 *
 * @since 0.1.0
 */
import { ByteReader } from "../../src/binary/reader.ts"
import { ByteWriter } from "../../src/binary/writer.ts"

/** Bytes that must agree for two places to count as the same. */
const anchor = 16

/** How far the place in the input may move: a length of five bytes re-encoded, and a bit for a wrong guess before. */
const reach = 16

/** Most inserted bytes that are searched through; beyond that the rest is inserted as it is. */
const farthest = 1 << 20

const agreeing = (input: Uint8Array, at: number, output: Uint8Array, to: number): number => {
  const end = Math.min(input.length - at, output.length - to)
  let length = 0
  while (length < end && input[at + length] === output[to + length]) length++
  return length
}

/** The nearest pair of places behind `at` and `to` where both agree again. */
const nextAgreement = (
  input: Uint8Array,
  at: number,
  output: Uint8Array,
  to: number
): { readonly at: number; readonly to: number } => {
  const end = Math.min(output.length, to + farthest)
  for (let there = to; there < end; there++) {
    for (let step = 0; step <= reach; step++) {
      for (const here of step === 0 ? [at] : [at + step, at - step]) {
        if (input[here] !== output[there] || (here === at && there === to)) continue
        const needed = Math.min(anchor, input.length - here, output.length - there)
        if (agreeing(input, here, output, there) >= needed) return { at: here, to: there }
      }
    }
  }
  return { at: input.length, to: output.length }
}

/**
 * The difference that makes `output` out of `input`.
 *
 * @category writing
 * @since 0.1.0
 */
export const makePatch = (input: Uint8Array, output: Uint8Array): Uint8Array<ArrayBuffer> => {
  const patch = new ByteWriter()
  let step = 0
  let at = 0
  for (let to = 0; to < output.length;) {
    const length = agreeing(input, at, output, to)
    const next = at + length === input.length
      ? { at: input.length, to: output.length }
      : nextAgreement(input, at + length, output, to + length)
    const inserted = output.subarray(to + length, next.to)
    patch.s32(step).u32(length).u32(inserted.length).bytes(inserted)
    step = next.at - (at + length)
    at = next.at
    to = next.to
  }
  return patch.finish()
}

/**
 * Makes the output out of the input. Throws `ModuleFormatError` where the patch does not fit it.
 *
 * @param length of the output in bytes
 * @category reading
 * @since 0.1.0
 */
export const applyPatch = (input: Uint8Array, patch: Uint8Array, length: number): Uint8Array<ArrayBuffer> => {
  const output = new Uint8Array(length)
  const reader = new ByteReader(patch, 0, patch.length)
  let at = 0
  let to = 0
  while (reader.position < patch.length) {
    at += reader.s32()
    const copy = reader.u32()
    const insert = reader.u32()
    const inserted = reader.skip(insert)
    if (at < 0 || at + copy > input.length) reader.fail("a run outside the input")
    if (to + copy + insert > length) reader.fail("a run outside the output")
    output.set(input.subarray(at, at + copy), to)
    output.set(patch.subarray(inserted, inserted + insert), to + copy)
    at += copy
    to += copy + insert
  }
  if (to !== length) reader.fail(`${to} bytes where ${length} were expected`)
  return output
}
