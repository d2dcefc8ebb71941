/**
 * A patched module as its difference from the original: runs of bytes to copy, with bytes to insert between them.
 *
 * A run moves the place in the input by `step`, copies `copy` bytes from there, and appends `insert` bytes. Patching
 * inserts a few bytes here and there and changes the lengths in front of them, so one pass that looks for the next place
 * where both agree finds a small difference. `entry.ts` has the format, and applies what is made here.
 *
 * @since 0.1.0
 */

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
  const parts: Array<Uint8Array> = []
  let step = 0
  let at = 0
  for (let to = 0; to < output.length;) {
    const length = agreeing(input, at, output, to)
    const next = at + length === input.length
      ? { at: input.length, to: output.length }
      : nextAgreement(input, at + length, output, to + length)
    const inserted = output.subarray(to + length, next.to)
    parts.push(new Uint8Array(new Int32Array([step, length, inserted.length]).buffer), inserted)
    step = next.at - (at + length)
    at = next.at
    to = next.to
  }
  return new Uint8Array(Buffer.concat(parts))
}
