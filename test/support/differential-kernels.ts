/**
 * Calls of the compiled C loops of `bench/fixtures/kernels`: lengths around the borders of pieces, and ranges that are
 * apart, the same, shifted by an element, at the end of memory or around its addresses.
 */
import { readFileSync } from "node:fs"
import { type KernelArgument, type KernelCall } from "../../bench/fixtures/kernels/catalogue.ts"
import { emitModule } from "../../src/binary/emit.ts"
import { decodeModule } from "../../src/binary/module.ts"
import { type GuestCall, randomBits } from "./differential.ts"

const PAGES = 3
const MEMORY_BYTES = PAGES * 65_536
const FIRST = 65_536 + 1_024

/** The module with a memory small enough to be compared after each call; its code is untouched. */
export const kernelModule = (name: string): Uint8Array => {
  const bytes = new Uint8Array(readFileSync(new URL(`../../bench/fixtures/kernels/${name}.wasm`, import.meta.url)))
  const module = decodeModule(bytes)
  const limits = { min: PAGES, max: PAGES, shared: false, is64: false }
  return emitModule(module, { memoryLimits: new Map([[0, limits]]) })
}

/** A call with the memory before it. */
export interface KernelCase {
  readonly label: string
  readonly call: GuestCall
  readonly image: Uint8Array
}

const LENGTHS = [0, 1, 2, 3, 15, 16, 17, 31, 33, 1000, 4097]

/** Where each range begins, given where the one before it begins and how long that is. */
type Layout = (before: number, size: number, element: number) => number

/** Bytes between ranges that are apart. */
const GAP = 64

/** Places of a first range: it ends, or the last one does, with memory; a little further; around 2³². */
const AT_THE_END = -1
const PAST_THE_END = -2
const AROUND = -3

interface Arrangement {
  readonly first: number
  readonly next: Layout
  readonly lengths?: ReadonlyArray<number>
}

const behind: Layout = (before, size) => before + size + GAP

const LAYOUTS: Readonly<Record<string, Arrangement>> = {
  apart: { first: FIRST, next: behind },
  unaligned: { first: FIRST + 3, next: (before, size) => before + size + 1 },
  touching: { first: FIRST, next: (before, size) => before + size },
  "in the same place": { first: FIRST, next: (before) => before },
  "an element further": { first: FIRST, next: (before, _, element) => before + element },
  "an element before": { first: FIRST + 64, next: (before, _, element) => before - element },
  "half over each other": { first: FIRST, next: (before, size) => before + ((size >>> 1) & ~3) },
  "a byte further": { first: FIRST, next: (before) => before + 1, lengths: [3, 17, 33] },
  "up to the end of memory": { first: AT_THE_END, next: behind },
  "past the end of memory": { first: PAST_THE_END, next: (before) => before - 8192, lengths: [3, 17, 33, 1000] },
  "around the last address": { first: AROUND, next: () => FIRST, lengths: [17, 33, 1000] },
  "below the first address": { first: FIRST, next: () => -40, lengths: [17, 33] }
}

const sizeOf = (argument: KernelArgument, n: number): number =>
  argument.kind === "indices"
    ? 4 * n
    : argument.kind === "destination" || argument.kind === "source"
    ? argument.bytes(n)
    : 0

const isRange = (argument: KernelArgument): boolean => argument.kind !== "count" && argument.kind !== "value"

const contents = (argument: KernelArgument, n: number, random: () => number): Uint8Array => {
  if (argument.kind === "indices") {
    return new Uint8Array(
      Uint32Array.from({ length: n }, (_, at) => argument.distinct ? n - 1 - at : random() % n).buffer
    )
  }
  const size = sizeOf(argument, n)
  const holds = argument.kind === "destination" || argument.kind === "source" ? argument.holds : undefined
  if (holds === "f32") {
    return new Uint8Array(Float32Array.from({ length: size / 4 }, () => random() / 2 ** 20 - 2048).buffer)
  }
  if (holds === "f64") {
    return new Uint8Array(Float64Array.from({ length: size / 8 }, () => random() / 2 ** 20 - 2048).buffer)
  }
  return Uint8Array.from({ length: size }, () => random() >>> 24)
}

/** Where the first range begins. Negative places depend on all ranges. */
const firstBase = (first: number, kernel: KernelCall, n: number): number => {
  const sizes = kernel.arguments.filter(isRange).map((argument) => sizeOf(argument, n))
  if (first === AT_THE_END) return MEMORY_BYTES - sizes.reduce((sum, size) => sum + size + GAP, -GAP)
  if (first === PAST_THE_END) return MEMORY_BYTES - Math.max(0, sizes[0] - 5)
  return first === AROUND ? -16 : first
}

const caseOf = (kernel: KernelCall, layout: string, n: number, seed: number, value?: number): KernelCase => {
  const random = randomBits(seed)
  const image = new Uint8Array(MEMORY_BYTES)
  const noise = new Uint32Array(image.buffer)
  for (let at = 0; at < noise.length; at++) noise[at] = Math.imul(at + seed, 0x9e3779b1)
  const { first, next } = LAYOUTS[layout]
  let at = firstBase(first, kernel, n)
  let before: { readonly at: number; readonly size: number } | undefined
  const args = kernel.arguments.map((argument) => {
    if (argument.kind === "count") return argument.of(n)
    if (argument.kind === "value") return value ?? argument.value
    const size = sizeOf(argument, n)
    if (before !== undefined) at = next(before.at, before.size, Math.max(1, Math.round(size / Math.max(1, n))))
    before = { at, size }
    const bytes = contents(argument, n, random)
    if (at >= 0 && at < image.length) image.set(bytes.subarray(0, image.length - at), at)
    return at
  })
  return { label: `${kernel.name}, ${n} elements, ${layout}`, call: { name: kernel.name, args }, image }
}

/** Values that take the place of a kernel's own: divisors, strides and thresholds at their borders. */
const VALUES: Readonly<Record<string, ReadonlyArray<number>>> = {
  divide: [0, 1, -1],
  strided: [0, 1, -1, 0x4000_0000, -0x8000_0000],
  conditional: [0, -1],
  rows: [0, 1, 3],
  search: [256, 0]
}

/** Counts that no memory holds. A loop that touches memory all the way ends by a trap. */
const HUGE = [2 ** 28, 2 ** 30 - 1, 2 ** 30 + 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]

const touches = (kernel: KernelCall): boolean =>
  kernel.arguments.filter((argument) => argument.kind === "count").length === 1 && kernel.name !== "search"

/** Calls of one kernel. */
export function* kernelCases(kernel: KernelCall): Generator<KernelCase> {
  let seed = 1
  for (const layout of Object.keys(LAYOUTS)) {
    for (const n of LAYOUTS[layout].lengths ?? LENGTHS) {
      yield caseOf(kernel, layout, n, ++seed)
    }
  }
  for (const value of VALUES[kernel.name] ?? []) {
    for (const n of [5, 33]) {
      const one = caseOf(kernel, "apart", n, ++seed, value)
      yield { ...one, label: `${one.label}, value ${value}` }
    }
  }
  if (!touches(kernel)) return
  for (const count of HUGE) {
    const one = caseOf(kernel, "apart", 100, ++seed)
    const at = kernel.arguments.findIndex((argument) => argument.kind === "count")
    const args = one.call.args.map((argument, index) => index === at ? count | 0 : argument)
    yield { ...one, label: `${kernel.name}, count ${count}`, call: { name: kernel.name, args } }
  }
}
