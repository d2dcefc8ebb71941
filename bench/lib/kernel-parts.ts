/**
 * How the kernels of the catalogue are cut by hand: the arguments of a call that does elements `from` … `to` − 1 of `n`.
 */
import type { KernelCall } from "../fixtures/kernels/catalogue.ts"

/**
 * A kernel of `n` elements (or rows), with arguments at given addresses.
 *
 * @category models
 * @since 0.1.0
 */
export interface TimedKernel {
  /** Bytes of each range, for `n` elements; 0 for arguments that are no range. */
  readonly bytes: (n: number) => ReadonlyArray<number>
  /** Arguments for a part. `at` has an address for each range. */
  readonly part: (at: ReadonlyArray<number>, from: number, to: number, n: number) => ReadonlyArray<number>
  /** What the results of two parts are together. */
  readonly combine?: (own: number, theirs: number) => number
  /** True where an element's value depends on its position, which begins at 0 in each part: other bytes, the same work. */
  readonly positional?: true
}

/** Pixels a row, side of a square matrix. */
const WIDTH = 256
const SIDE = 96

/** Ranges of which an element takes so many bytes each; 0: all of it belongs to every part. */
const linear =
  (strides: ReadonlyArray<number>, rest: (count: number) => ReadonlyArray<number>): TimedKernel["part"] =>
  (at, from, to) => [...strides.map((stride, k) => at[k] + stride * from), ...rest(to - from)]

const POSITIONAL = ["mix_i64", "strided"]

const simple = (call: KernelCall): TimedKernel => ({
  bytes: (n) =>
    call.arguments.map((argument) => argument.kind === "indices" ? 4 * n : "bytes" in argument ? argument.bytes(n) : 0),
  part: (at, from, to) =>
    call.arguments.map((argument, k) =>
      argument.kind === "count"
        ? to - from
        : argument.kind === "value"
        ? argument.value
        : argument.kind === "indices"
        ? at[k] + 4 * from
        : at[k] + argument.bytes(from)
    ),
  ...(POSITIONAL.includes(call.name) ? { positional: true } : {})
})

/** Kernels that are not cut by moving every range along. */
const SPECIAL: Readonly<Record<string, TimedKernel | undefined>> = {
  // One element less on either side.
  stencil: { bytes: (n) => [4 * n + 8, 4 * n + 8, 0], part: linear([4, 4], (count) => [count + 2]) },
  stencil_rows: {
    bytes: (n) => [4 * WIDTH * (n + 2), 4 * WIDTH * (n + 2), 0, 0],
    part: linear([4 * WIDTH, 4 * WIDTH], (count) => [WIDTH, count + 2])
  },
  gather: {
    bytes: (n) => [4 * n, 4 * n, 4 * n, 0],
    part: (at, from, to) => [at[0] + 4 * from, at[1], at[2] + 4 * from, to - from]
  },
  blur: { bytes: (n) => [WIDTH * n, WIDTH * n, 0, 0, 0], part: linear([WIDTH, WIDTH], (count) => [WIDTH, count, 2]) },
  matmul: {
    bytes: (n) => [4 * SIDE * n, 4 * SIDE * n, 4 * SIDE * SIDE, 0, 0],
    part: linear([4 * SIDE, 4 * SIDE, 0], (count) => [count, SIDE])
  },
  chacha: {
    bytes: (n) => [64 * n, 64 * n, 32, 12, 0, 0],
    part: (at, from, to) => [at[0] + 64 * from, at[1] + 64 * from, at[2], at[3], 7 + from, to - from]
  },
  aes: {
    bytes: (n) => [16 * n, 16 * n, 176, 1024, 16, 0, 0],
    part: (at, from, to) => [at[0] + 16 * from, at[1] + 16 * from, at[2], at[3], at[4], from, to - from]
  },
  sha256: { bytes: (n) => [32 * n, 64 * n, 256, 0], part: linear([32, 64, 0], (count) => [count]) },
  sum: {
    bytes: (n) => [4 * n, 0],
    part: linear([4], (count) => [count]),
    combine: (own, theirs) => (own + theirs) | 0
  },
  max: {
    bytes: (n) => [4 * n, 0],
    part: linear([4], (count) => [count]),
    combine: (own, theirs) => Math.max(own >>> 0, theirs >>> 0) | 0
  },
  mandelbrot: {
    bytes: (n) => [4 * WIDTH * n, 0, 0, 0, 0, 0],
    part: (at, from, to, n) => [at[0] + 4 * WIDTH * from, WIDTH, n, from, to - from, 40]
  },
  // It works on both ends at once.
  reverse: undefined
}

/**
 * How a kernel is cut; `undefined` where the same kernel, called twice, cannot do the same work.
 *
 * @category queries
 * @since 0.1.0
 */
export const timedKernel = (call: KernelCall): TimedKernel | undefined =>
  call.kind !== "parallel" && call.kind !== "reduction"
    ? undefined
    : call.name in SPECIAL
    ? SPECIAL[call.name]
    : simple(call)
