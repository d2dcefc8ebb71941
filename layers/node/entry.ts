/**
 * What the cache keeps of a module, as bytes. Read at every start that meets the module, so that its costs are those of
 * reading the file: the patched module stands in it as the engine is to compile it, and nothing is loaded, copied or
 * hashed as a whole.
 *
 * ```text
 * entry = magic:u32 length:u32 summary:u32 runs:u32 gaps:u32 module:u32 bundle:u32 sum:u64 own:u64 all:u64
 *         summary:byte{} run{} gap{} module:byte{}
 * run   = at:u32 to:u32 length:u32       bytes that the original has at `at` and the patched module at `to`
 * gap   = at:u32 length:u32 byte{}       bytes that only the original has
 * ```
 *
 * `length` and `sum` are those of the original, `bundle` is the place of the bundle in the module. Runs and gaps cover the original, so
 * comparing both with a module's bytes shows whether it is the very same one, at the speed of memory. `own` sums what
 * stands nowhere else (the head with `all`, the summary, runs, gaps, and what only the patched module has), `all` everything; the
 * latter is needed only where a comparison fails, to tell another module from a damaged file.
 *
 * @since 0.1.0
 */
import { sameBytes, textBytes, viewOf } from "./bytes.ts"
import { checksum } from "./checksum.ts"

/** "FOL2" in little-endian bytes. */
const magic = 0x324c4f46

/** Bytes of the head: seven words and three sums. */
const headBytes = 52
const sumAt = 28
const ownAt = 36
const allAt = 44

/** Words of a run. */
const runWords = 3

/**
 * A patched module, with its bundle behind it.
 *
 * @category models
 * @since 0.1.0
 */
export interface PatchedModule {
  readonly module: Uint8Array
  /** Where in `module` the bundle begins; it ends with it. */
  readonly bundle: number
}

/**
 * What is known of a module.
 *
 * @category models
 * @since 0.1.0
 */
export interface CacheEntry {
  /** Facts for the report, as JSON. */
  readonly summary: string
  /** `undefined`: there is nothing to patch. */
  readonly patched: PatchedModule | undefined
}

/** What of the original no run covers, in rising order. */
const gapsOf = (length: number, runs: Uint32Array): ReadonlyArray<readonly [from: number, to: number]> => {
  const covered = Array.from({ length: runs.length / runWords }, (_, run) => {
    const from = runs[runWords * run]
    return [from, from + runs[runWords * run + 2]] as const
  }).sort(([a], [b]) => a - b)
  const gaps: Array<readonly [number, number]> = []
  let at = 0
  for (const [from, to] of covered) {
    if (from > at) gaps.push([at, from])
    at = Math.max(at, to)
  }
  if (length > at) gaps.push([at, length])
  return gaps
}

interface Parts {
  readonly length: number
  readonly summary: Uint8Array
  readonly runs: DataView
  readonly gaps: Uint8Array
  readonly module: Uint8Array
  readonly bundle: number
}

/** Parts of an entry. Throws a `RangeError` where they do not fit into each other. */
const partsOf = (entry: Uint8Array): Parts => {
  const head = viewOf(entry)
  if (entry.length < headBytes || head.getUint32(0, true) !== magic) throw new RangeError("it is not an entry")
  const [length, summary, runs, gaps, module, bundle] = [4, 8, 12, 16, 20, 24].map((at) => head.getUint32(at, true))
  const runsAt = headBytes + summary
  const gapsAt = runsAt + 4 * runWords * runs
  const moduleAt = gapsAt + gaps
  if (moduleAt + module !== entry.length || bundle > module) throw new RangeError("its lengths do not add up")
  return {
    length,
    summary: entry.subarray(headBytes, runsAt),
    runs: viewOf(entry.subarray(runsAt, gapsAt)),
    gaps: entry.subarray(gapsAt, moduleAt),
    module: entry.subarray(moduleAt),
    bundle
  }
}

/** What of the patched module its runs do not cover. */
const insertionsOf = function*(runs: DataView, module: Uint8Array): Generator<Uint8Array> {
  let done = 0
  for (let run = 0; run < runs.byteLength; run += 4 * runWords) {
    const to = runs.getUint32(run + 4, true)
    const end = to + runs.getUint32(run + 8, true)
    if (to < done || end > module.length) throw new RangeError("a run outside the module")
    yield module.subarray(done, to)
    done = end
  }
  yield module.subarray(done)
}

/** The sum of what stands nowhere else. */
const ownSum = (entry: Uint8Array, { gaps, module, runs }: Parts): bigint => {
  const parts = function*(): Generator<Uint8Array> {
    yield entry.subarray(0, ownAt)
    yield entry.subarray(allAt, entry.length - module.length - gaps.length)
    yield gaps
    yield* insertionsOf(runs, module)
  }
  return checksum(parts())
}

/** The sum of everything but the two sums. */
const wholeSum = (entry: Uint8Array): bigint => checksum([entry.subarray(0, ownAt), entry.subarray(headBytes)])

/**
 * Writes the entry of a module.
 *
 * @param runs of {@link PatchedModule.module} in `original` (see `patch.ts`)
 * @category encoding
 * @since 0.1.0
 */
export const encodeEntry = (
  original: Uint8Array,
  { patched, summary }: CacheEntry,
  runs: Uint32Array = new Uint32Array()
): Uint8Array<ArrayBuffer> => {
  const summaryBytes = textBytes(summary)
  const gaps = patched === undefined ? [] : gapsOf(original.length, runs)
  const gapBytes = gaps.reduce((sum, [from, to]) => sum + 8 + to - from, 0)
  const moduleAt = headBytes + summaryBytes.length + 4 * runs.length + gapBytes
  const entry = new Uint8Array(moduleAt + (patched?.module.length ?? 0))
  const view = viewOf(entry)
  const words = [
    magic,
    original.length,
    summaryBytes.length,
    runs.length / runWords,
    gapBytes,
    patched?.module.length ?? 0,
    patched?.bundle ?? 0
  ]
  for (const [word, value] of words.entries()) view.setUint32(4 * word, value, true)
  entry.set(summaryBytes, headBytes)
  let at = headBytes + summaryBytes.length
  for (const value of runs) {
    view.setUint32(at, value, true)
    at += 4
  }
  for (const [from, to] of gaps) {
    view.setUint32(at, from, true)
    view.setUint32(at + 4, to - from, true)
    entry.set(original.subarray(from, to), at + 8)
    at += 8 + to - from
  }
  if (patched !== undefined) entry.set(patched.module, moduleAt)
  view.setBigUint64(sumAt, checksum([original]), true)
  view.setBigUint64(allAt, wholeSum(entry), true)
  view.setBigUint64(ownAt, ownSum(entry, partsOf(entry)), true)
  return entry
}

/** What is said of the module; nothing is copied. */
const contentOf = ({ bundle, module, summary }: Parts): CacheEntry => ({
  summary: new TextDecoder().decode(summary),
  patched: module.length === 0 ? undefined : { module, bundle }
})

/** Whether a module is the one that an entry's patched module was made of. */
const isOriginal = (original: Uint8Array, { gaps, module, runs }: Parts): boolean => {
  const bytes = Buffer.from(original.buffer, original.byteOffset, original.byteLength)
  for (let run = 0; run < runs.byteLength; run += 4 * runWords) {
    const at = runs.getUint32(run, true)
    const to = runs.getUint32(run + 4, true)
    const length = runs.getUint32(run + 8, true)
    if (at + length > bytes.length) throw new RangeError("a run outside the original")
    if (bytes.compare(module, to, to + length, at, at + length) !== 0) return false
  }
  const view = viewOf(gaps)
  for (let gap = 0; gap < gaps.length;) {
    const at = view.getUint32(gap, true)
    const length = view.getUint32(gap + 4, true)
    gap += 8
    if (!sameBytes(gaps.subarray(gap, gap + length), bytes.subarray(at, at + length))) return false
    gap += length
  }
  return true
}

/**
 * Reads an entry. `undefined`: it is that of another module. Throws where it is not exactly what {@link encodeEntry}
 * wrote. The patched module is not copied.
 *
 * That there is nothing to patch is said of every module of the same length whose entry is asked for: running another
 * one natively does no harm.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeEntry = (entry: Uint8Array, original: Uint8Array): CacheEntry | undefined => {
  const parts = partsOf(entry)
  const { length, module } = parts
  const view = viewOf(entry)
  if (view.getBigUint64(ownAt, true) !== ownSum(entry, parts)) throw new RangeError("its sum differs")
  const isIt = length === original.length && (module.length === 0 || isOriginal(original, parts))
  if (isIt) return contentOf(parts)
  if (view.getBigUint64(allAt, true) !== wholeSum(entry)) throw new RangeError("its sum differs")
  return undefined
}

/**
 * What an entry holds, whatever module it is asked for.
 *
 * @category models
 * @since 0.1.0
 */
export interface EntryFacts extends CacheEntry {
  /** Bytes and {@link checksum} of the original. */
  readonly length: number
  readonly sum: bigint
}

/**
 * Reads an entry without its module, and all of it. Throws where it is not exactly what {@link encodeEntry} wrote.
 *
 * @category decoding
 * @since 0.1.0
 */
export const entryFacts = (entry: Uint8Array): EntryFacts => {
  const parts = partsOf(entry)
  const view = viewOf(entry)
  const intact = view.getBigUint64(allAt, true) === wholeSum(entry) &&
    view.getBigUint64(ownAt, true) === ownSum(entry, parts)
  if (!intact) throw new RangeError("its sum differs")
  return { length: parts.length, sum: view.getBigUint64(sumAt, true), ...contentOf(parts) }
}
