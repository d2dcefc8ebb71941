/**
 * What is kept of a prepared module, as bytes, and the hashes that go with it: an entry in the cache, with the bundle
 * that instances are bound with, which goes into the patched module as well, for its clones. Read at every start that
 * meets the module, so nothing is loaded for it: `node:crypto` alone takes longer than all of this.
 *
 * ```text
 * blobs  = count:u32 length:u32{count} byte…           all numbers in little-endian bytes
 * entry  = magic:u32 hash:byte{16} body                hash: over the body
 * body   = blobs(module, summary [, length, patch, bundle])
 * module = length:u32 hash:byte{16}                    of the original
 * patch  = run*
 * run    = step:i32 copy:u32 insert:u32 byte{insert}   `patch.ts` makes them
 * bundle = blobs(build, identity:i64, plan as JSON, guard, chunk*)
 * ```
 *
 * @since 0.1.0
 */
import type { Plan } from "../../src/plan/types.ts"
import { CLONE_SECTION } from "./marker.ts"

/** "FOLC" in little-endian bytes. */
const magic = 0x434c4f46
const hashBytes = 16

const text = (value: string): Uint8Array => new TextEncoder().encode(value)

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Bytes that are mixed by one call: a function that is called again is soon optimised, a long loop only some time. */
const stretch = 4096

/** Mixes whole blocks of sixteen bytes into the four words of a hash. */
const mixBlocks = (view: DataView, from: number, to: number, hash: Int32Array): void => {
  const { imul } = Math
  let h1 = hash[0]
  let h2 = hash[1]
  let h3 = hash[2]
  let h4 = hash[3]
  for (let at = from; at < to; at += 16) {
    const k1 = imul(view.getInt32(at, true), 0x239b961b)
    h1 ^= imul(k1 << 15 | k1 >>> 17, 0xab0e9789)
    h1 = imul((h1 << 19 | h1 >>> 13) + h2 | 0, 5) + 0x561ccd1b | 0
    const k2 = imul(view.getInt32(at + 4, true), 0xab0e9789)
    h2 ^= imul(k2 << 16 | k2 >>> 16, 0x38b34ae5)
    h2 = imul((h2 << 17 | h2 >>> 15) + h3 | 0, 5) + 0x0bcaa747 | 0
    const k3 = imul(view.getInt32(at + 8, true), 0x38b34ae5)
    h3 ^= imul(k3 << 17 | k3 >>> 15, 0xa1e38b93)
    h3 = imul((h3 << 15 | h3 >>> 17) + h4 | 0, 5) + 0x96cd1c35 | 0
    const k4 = imul(view.getInt32(at + 12, true), 0xa1e38b93)
    h4 ^= imul(k4 << 18 | k4 >>> 14, 0x239b961b)
    h4 = imul((h4 << 13 | h4 >>> 19) + h1 | 0, 5) + 0x32ac3b17 | 0
  }
  hash[0] = h1
  hash[1] = h2
  hash[2] = h3
  hash[3] = h4
}

/** Mixes what is left behind the last whole block, filled up with zeros. */
const mixTail = (tail: Uint8Array, length: number, hash: Int32Array): void => {
  const block = new Uint8Array(16)
  block.set(tail)
  const words = viewOf(block)
  const { imul } = Math
  const k1 = imul(words.getInt32(0, true), 0x239b961b)
  hash[0] ^= imul(k1 << 15 | k1 >>> 17, 0xab0e9789) ^ length
  const k2 = imul(words.getInt32(4, true), 0xab0e9789)
  hash[1] ^= imul(k2 << 16 | k2 >>> 16, 0x38b34ae5) ^ length
  const k3 = imul(words.getInt32(8, true), 0x38b34ae5)
  hash[2] ^= imul(k3 << 17 | k3 >>> 15, 0xa1e38b93) ^ length
  const k4 = imul(words.getInt32(12, true), 0xa1e38b93)
  hash[3] ^= imul(k4 << 18 | k4 >>> 14, 0x239b961b) ^ length
}

/** Adds to each word the sum of the others. */
const spread = (hash: Int32Array): void => {
  hash[0] += hash[1] + hash[2] + hash[3]
  for (let word = 1; word < 4; word++) hash[word] += hash[0]
}

const mixed = (word: number): number => {
  const once = Math.imul(word ^ word >>> 16, 0x85ebca6b)
  const twice = Math.imul(once ^ once >>> 13, 0xc2b2ae35)
  return twice ^ twice >>> 16
}

/**
 * MurmurHash3 of 128 bits in its 32-bit form (Austin Appleby, public domain), as sixteen bytes. It tells modules apart
 * that nobody made alike on purpose; whoever can choose modules can choose what runs anyway.
 *
 * @category hashes
 * @since 0.1.0
 */
export const hash128 = (bytes: Uint8Array, seed = 0): Uint8Array<ArrayBuffer> => {
  const hash = new Int32Array(4).fill(seed)
  const view = viewOf(bytes)
  const whole = bytes.length & ~15
  for (let at = 0; at < whole; at += stretch) mixBlocks(view, at, Math.min(whole, at + stretch), hash)
  mixTail(bytes.subarray(whole), bytes.length, hash)
  spread(hash)
  for (let word = 0; word < 4; word++) hash[word] = mixed(hash[word])
  spread(hash)
  return new Uint8Array(hash.buffer)
}

/**
 * The number that instances of a module are known by, out of its hash.
 *
 * @category hashes
 * @since 0.1.0
 */
export const identityIn = (hash: Uint8Array): bigint => viewOf(hash).getBigInt64(0, true)

/**
 * Bytes as hexadecimal digits.
 *
 * @category hashes
 * @since 0.1.0
 */
export const hexadecimal = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

/**
 * Whether both are the same bytes.
 *
 * @category bytes
 * @since 0.1.0
 */
export const sameBytes = (left: Uint8Array, right: Uint8Array): boolean =>
  left.length === right.length && Buffer.compare(left, right) === 0

/**
 * Joins arrays of bytes so that {@link splitBlobs} finds them again.
 *
 * @category bytes
 * @since 0.1.0
 */
export const joinBlobs = (blobs: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => {
  const head = 4 + 4 * blobs.length
  const joined = new Uint8Array(blobs.reduce((length, blob) => length + blob.length, head))
  const view = viewOf(joined)
  view.setUint32(0, blobs.length, true)
  let at = head
  for (const [index, blob] of blobs.entries()) {
    view.setUint32(4 + 4 * index, blob.length, true)
    joined.set(blob, at)
    at += blob.length
  }
  return joined
}

/**
 * The arrays that were joined, without copying them. Throws a `RangeError` where lengths do not add up.
 *
 * @category bytes
 * @since 0.1.0
 */
export const splitBlobs = (joined: Uint8Array): ReadonlyArray<Uint8Array> => {
  const view = viewOf(joined)
  const count = view.getUint32(0, true)
  if (count > joined.length) throw new RangeError("more parts than bytes")
  let at = 4 + 4 * count
  const blobs = Array.from({ length: count }, (_, index) => {
    const length = view.getUint32(4 + 4 * index, true)
    at += length
    return joined.subarray(at - length, at)
  })
  if (at !== joined.length) throw new RangeError("the lengths do not add up")
  return blobs
}

/**
 * How a module is patched.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModulePatch {
  /** {@link hash128} of the original. */
  readonly hash: Uint8Array
  readonly patch: Uint8Array
  /** Bytes of the patched module. */
  readonly length: number
  readonly bundle: Uint8Array
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
  readonly patch: ModulePatch | undefined
}

const word = (value: number): Uint8Array => {
  const bytes = new Uint8Array(4)
  viewOf(bytes).setUint32(0, value, true)
  return bytes
}

/**
 * Writes the entry of a module.
 *
 * @category entries
 * @since 0.1.0
 */
export const encodeEntry = (module: Uint8Array, { patch, summary }: CacheEntry): Uint8Array<ArrayBuffer> => {
  const moduleBlob = new Uint8Array([...word(module.length), ...(patch?.hash ?? hash128(module))])
  const blobs: Array<Uint8Array> = [moduleBlob, text(summary)]
  if (patch !== undefined) blobs.push(word(patch.length), patch.patch, patch.bundle)
  const body = joinBlobs(blobs)
  const entry = new Uint8Array(4 + hashBytes + body.length)
  entry.set(word(magic))
  entry.set(hash128(body), 4)
  entry.set(body, 4 + hashBytes)
  return entry
}

/**
 * The parts of an entry's body. Throws where it is not exactly what {@link encodeEntry} wrote.
 *
 * @category entries
 * @since 0.1.0
 */
export const entryParts = (entry: Uint8Array): ReadonlyArray<Uint8Array> => {
  const head = 4 + hashBytes
  if (entry.length < head || viewOf(entry).getUint32(0, true) !== magic) throw new RangeError("it is not an entry")
  const body = entry.subarray(head)
  if (!sameBytes(hash128(body), entry.subarray(4, head))) throw new RangeError("its hash differs")
  return splitBlobs(body)
}

/**
 * Reads an entry. `undefined`: it is that of another module. Throws where it is not exactly what {@link encodeEntry}
 * wrote.
 *
 * @category entries
 * @since 0.1.0
 */
export const decodeEntry = (entry: Uint8Array, module: Uint8Array): CacheEntry | undefined => {
  const [of, summaryBlob, length, patch, bundle] = entryParts(entry)
  if (viewOf(of).getUint32(0, true) !== module.length) return undefined
  const summary = new TextDecoder().decode(summaryBlob)
  if (bundle === undefined) return { summary, patch: undefined }
  // Only what is to be patched must be the very same module: running another one natively does no harm.
  const hash = hash128(module)
  if (!sameBytes(hash, of.subarray(4))) return undefined
  return { summary, patch: { hash, patch, length: viewOf(length).getUint32(0, true), bundle } }
}

/**
 * Makes the patched module out of the original one. Throws a `RangeError` where the patch does not fit.
 *
 * @param output for all of the patched module
 * @category patches
 * @since 0.1.0
 */
export const applyPatch = (input: Uint8Array, patch: Uint8Array, output: Uint8Array): void => {
  const view = viewOf(patch)
  let at = 0
  let to = 0
  for (let run = 0; run < patch.length;) {
    at += view.getInt32(run, true)
    const copy = view.getUint32(run + 4, true)
    const insert = view.getUint32(run + 8, true)
    run += 12
    if (at < 0 || at + copy > input.length) throw new RangeError("a run outside the module")
    if (run + insert > patch.length) throw new RangeError("a run outside the patch")
    output.set(input.subarray(at, at + copy), to)
    output.set(patch.subarray(run, run + insert), to + copy)
    run += insert
    at += copy
    to += copy + insert
  }
  if (to !== output.length) throw new RangeError(`${to} bytes where ${output.length} were expected`)
}

/**
 * What belongs to one patched module.
 *
 * @category models
 * @since 0.1.0
 */
export interface Bundle {
  /** Build of Folio that made it; no other one can use it. */
  readonly build: string
  /** Number under which instances are known. */
  readonly identity: bigint
  /** The plan, as far as running it needs it: planned loops only, without what they rest on. */
  readonly plan: Plan
  readonly guard: Uint8Array
  readonly chunks: ReadonlyArray<Uint8Array>
}

/**
 * Writes a bundle.
 *
 * @category writing
 * @since 0.1.0
 */
export const encodeBundle = ({ build, chunks, guard, identity, plan }: Bundle): Uint8Array<ArrayBuffer> => {
  const loops = plan.loops.flatMap((loop) => loop._tag === "planned" ? [{ ...loop, groups: [], obligations: [] }] : [])
  const number = new Uint8Array(new BigInt64Array([identity]).buffer)
  return joinBlobs([text(build), number, text(JSON.stringify({ ...plan, loops })), guard, ...chunks])
}

/**
 * The number in a bundle; `undefined` where another build made it. Throws where it is damaged.
 *
 * @category reading
 * @since 0.1.0
 */
export const bundleIdentity = (bytes: Uint8Array, build: string): bigint | undefined => {
  const [of, number] = splitBlobs(bytes)
  return new TextDecoder().decode(of) === build ? identityIn(number) : undefined
}

/**
 * Reads a bundle. `undefined` where another build made it; throws where it is damaged.
 *
 * @category reading
 * @since 0.1.0
 */
export const decodeBundle = (bytes: Uint8Array, build: string): Bundle | undefined => {
  const identity = bundleIdentity(bytes, build)
  if (identity === undefined) return undefined
  const [, , plan, guard, ...chunks] = splitBlobs(bytes)
  return { build, identity, plan: JSON.parse(new TextDecoder().decode(plan)) as Plan, guard, chunks }
}

/** LEB128 of an unsigned number below 2³². */
const leb = (value: number): ReadonlyArray<number> =>
  value < 128 ? [value] : [value % 128 | 128, ...leb(Math.floor(value / 128))]

/**
 * The module to compile: the original as it is patched, with the bundle behind it as a custom section. Throws a
 * `RangeError` where the patch does not fit.
 *
 * @category patches
 * @since 0.1.0
 */
export const patchedModule = (input: Uint8Array, { bundle, length, patch }: ModulePatch): Uint8Array<ArrayBuffer> => {
  const name = text(CLONE_SECTION)
  const nameLength = leb(name.length)
  const head = [0, ...leb(nameLength.length + name.length + bundle.length), ...nameLength, ...name]
  const module = new Uint8Array(length + head.length + bundle.length)
  applyPatch(input, patch, module.subarray(0, length))
  module.set(head, length)
  module.set(bundle, length + head.length)
  return module
}
