/**
 * An image as a file.
 *
 * ```text
 *   0  "FOLIOIMG"          8 bytes
 *   8  version             4, little endian, as all numbers of the head
 *  12  size of the record  4
 *  16  number of pages     4
 *  20  offset of the pages 4, a multiple of 4096
 *  24  hash of the state   16: of head and record, these sixteen taken as zeros
 *  40  hash of the hashes  16: of all between the record and the pages
 *  56  record              module, fingerprint, memories (sizes and runs of pages), globals, tables, …
 *   h  hashes              16 bytes a page
 *      zeros
 *   p  pages               65,536 bytes each, in the order of the record: whole, aligned, ready to be mapped
 * ```
 *
 * The bytes in front of the pages are the *index*: a chunked image is its index and its pages in files of their own.
 * Every byte is covered by a hash, so a bit that flips anywhere is found; whoever trusts the pages reads no more than
 * head and record with care. Everything is in one order and nothing depends on when or where it was written: the same
 * image has the same bytes.
 *
 * @since 0.1.0
 */
import { ByteReader, ModuleFormatError } from "../binary/reader.ts"
import { ByteWriter } from "../binary/writer.ts"
import type { BitsType } from "../wire/values.ts"
import { hash128 } from "./hash.ts"
import { Mismatch } from "./mismatch.ts"
import {
  type DeltaPage,
  type GlobalImage,
  type Image,
  isZeroPage,
  type MemoryImage,
  PAGE_BYTES,
  pageContent,
  type TableImage
} from "./model.ts"

/** Version of the format. @category constants @since 0.1.0 */
export const FORMAT_VERSION = 2

const MAGIC = [0x46, 0x4f, 0x4c, 0x49, 0x4f, 0x49, 0x4d, 0x47]
const HEAD_BYTES = 56
const HASH_AT = 24
const HASHES_HASH_AT = 40
const HASH_BYTES = 16
const ALIGNMENT = 4096

/** Pages of the largest memory that is read: 64 GiB, more than any engine gives. */
const MAXIMUM_PAGES = 2 ** 20
const TYPES: ReadonlyArray<BitsType> = ["i32", "i64", "f32", "f64", "v128"]

const bytesOfHash = (hash: string): Uint8Array =>
  Uint8Array.from({ length: HASH_BYTES }, (_, at) => Number.parseInt(hash.slice(at * 2, at * 2 + 2), 16))

/**
 * Bytes as hex digits, two a byte. An index has thousands of hashes and is read by code that has not run before, so the
 * engine's own conversion is used where it has one.
 */
const hexOf = (bytes: Uint8Array): string => {
  const own = (bytes as { readonly toHex?: () => string }).toHex
  return own === undefined
    ? Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
    : own.call(bytes)
}

const writeList = (out: ByteWriter, list: ReadonlyArray<number>): void => {
  out.u32(list.length)
  for (const item of list) out.u32(item)
}

/** Writes a list of names. @category encoding @since 0.1.0 */
export const writeNames = (out: ByteWriter, names: ReadonlyArray<string>): void => {
  out.u32(names.length)
  for (const name of names) out.name(name)
}

/** Pages of one kind that follow each other: zeros, or stored ones. */
const writeRuns = (out: ByteWriter, delta: ReadonlyArray<DeltaPage>): void => {
  const runs: Array<{ readonly page: number; readonly zero: boolean; count: number }> = []
  for (const entry of delta) {
    const [last, zero] = [runs.at(-1), isZeroPage(entry)]
    if (last !== undefined && last.zero === zero && last.page + last.count === entry.page) last.count++
    else runs.push({ page: entry.page, zero, count: 1 })
  }
  out.u32(runs.length)
  for (const { count, page, zero } of runs) out.u32(page).u32(count).u8(zero ? 0 : 1)
}

const writeRecord = (image: Image): ByteWriter => {
  const out = new ByteWriter(4096)
  out.name(image.module).name(image.fingerprint)
  out.u32(image.memories.length)
  for (const { delta, pages } of image.memories) writeRuns(out.u32(pages), delta)
  out.u32(image.globals.length)
  for (const { bits, index, mutable, type } of image.globals) {
    out.u32(index).u8(TYPES.indexOf(type)).u8(mutable ? 1 : 0).fixed64(bits).fixed64(bits >> 64n)
  }
  out.u32(image.tables.length)
  for (const { index, slots } of image.tables) {
    out.u32(index)
    writeList(out, slots.map((slot) => slot + 1))
  }
  writeList(out, image.dropped.data)
  writeList(out, image.dropped.elements)
  writeNames(out, image.renew)
  writeNames(out, image.rebind)
  return out
}

/** The pages with bytes of all memories, in the order of the file. @category inspecting @since 0.1.0 */
export const storedPages = (image: Image): ReadonlyArray<DeltaPage & { readonly memory: number }> =>
  image.memories.flatMap(({ delta }, memory) => delta.flatMap((page) => isZeroPage(page) ? [] : [{ ...page, memory }]))

/**
 * The index of an image: its file without the pages.
 *
 * @category encoding
 * @since 0.1.0
 */
export const encodeIndex = (image: Image): Uint8Array<ArrayBuffer> => {
  const record = writeRecord(image)
  const pages = storedPages(image)
  const hashesAt = HEAD_BYTES + record.length
  const offset = Math.ceil((hashesAt + pages.length * HASH_BYTES) / ALIGNMENT) * ALIGNMENT
  const out = new ByteWriter(offset).bytes(Uint8Array.from(MAGIC)).fixed32(FORMAT_VERSION).fixed32(record.length)
    .fixed32(pages.length).fixed32(offset).bytes(new Uint8Array(HASH_BYTES * 2)).append(record)
  for (const page of pages) out.bytes(bytesOfHash(page.hash ?? hash128(pageContent(page)!)))
  const index = out.bytes(new Uint8Array(offset - out.length)).finish()
  index.set(bytesOfHash(hash128(index.subarray(hashesAt))), HASHES_HASH_AT)
  index.set(bytesOfHash(hash128(index.subarray(0, hashesAt))), HASH_AT)
  return index
}

/**
 * The bytes of an image's file.
 *
 * @category encoding
 * @since 0.1.0
 */
export const encodeImage = (image: Image): Uint8Array<ArrayBuffer> => {
  const index = encodeIndex(image)
  const pages = storedPages(image)
  const out = new Uint8Array(index.length + pages.length * PAGE_BYTES)
  out.set(index)
  for (const [at, page] of pages.entries()) out.set(pageContent(page)!, index.length + at * PAGE_BYTES)
  return out
}

const rebuild = "Make the image again, or fetch the whole file."

const truncated = (bytes: number, wanted: number): Mismatch =>
  new Mismatch("truncated", `byte ${bytes}`, `the file ends here, ${wanted} bytes were expected`, rebuild)

/** Reads a list of names. @category decoding @since 0.1.0 */
export const readNames = (reader: ByteReader): Array<string> =>
  Array.from({ length: reader.count() }, () => reader.name())

const readList = (reader: ByteReader): Array<number> => Array.from({ length: reader.count() }, () => reader.u32())

const fixed64 = (reader: ByteReader): bigint => BigInt(reader.fixed32()) | BigInt(reader.fixed32()) << 32n

/** The hash of head and record, its own field taken as zeros. */
const stateHash = (index: Uint8Array, end: number): string => {
  const copy = index.slice(0, end)
  copy.fill(0, HASH_AT, HASH_AT + HASH_BYTES)
  return hash128(copy)
}

/** Hash and bytes of the stored pages, one behind the other. */
type TakePage = () => { readonly bytes: Uint8Array | undefined; readonly hash: string }

const zeros: ReturnType<TakePage> = { bytes: undefined, hash: "" }

const readMemory = (reader: ByteReader, take: TakePage): MemoryImage => {
  const pages = reader.u32()
  if (pages > MAXIMUM_PAGES) reader.fail(`a memory of ${pages} pages`)
  const delta: Array<DeltaPage> = []
  let next = 0
  for (let runs = reader.count(); runs > 0; runs--) {
    const [first, count, stored] = [reader.u32(), reader.u32(), reader.u8()]
    if (first < next || first + count > pages) {
      reader.fail(`pages ${first} to ${first + count} behind ${next} of ${pages}`)
    }
    next = first + count
    for (let page = first; page < next; page++) {
      const { bytes, hash } = stored === 0 ? zeros : take()
      delta.push({ page, bytes, hash })
    }
  }
  return { pages, delta }
}

const readGlobal = (reader: ByteReader): GlobalImage => {
  const index = reader.u32()
  const type = TYPES[reader.u8()]
  if (type === undefined) reader.fail("unknown type of a global")
  const mutable = reader.u8() === 1
  return { index, type, mutable, bits: fixed64(reader) | fixed64(reader) << 64n }
}

const readTable = (reader: ByteReader): TableImage => ({
  index: reader.u32(),
  slots: readList(reader).map((slot) => slot - 1)
})

/**
 * Sizes that the first bytes of a file tell.
 *
 * @category decoding
 * @since 0.1.0
 */
export const imageSizes = (
  bytes: Uint8Array
): { readonly index: number; readonly pages: number; readonly record: number } => {
  if (MAGIC.some((byte, at) => at < bytes.length && bytes[at] !== byte)) {
    throw new Mismatch("malformed", "byte 0", "this is no image", "Pass the file that `folio bake --image` wrote.")
  }
  if (bytes.length < HEAD_BYTES) throw truncated(bytes.length, HEAD_BYTES)
  const head = new DataView(bytes.buffer, bytes.byteOffset, HEAD_BYTES)
  const version = head.getUint32(8, true)
  if (version !== FORMAT_VERSION) {
    throw new Mismatch(
      "version",
      "byte 8",
      `the image is of version ${version}, this reads ${FORMAT_VERSION}`,
      "Make the image again with this version of Folio."
    )
  }
  const record = head.getUint32(12, true)
  const index = head.getUint32(20, true)
  const pages = head.getUint32(16, true)
  const zeros = index - HEAD_BYTES - record - pages * HASH_BYTES
  if (index % ALIGNMENT !== 0 || zeros < 0 || zeros >= ALIGNMENT) {
    throw new Mismatch("malformed", "byte 20", "the pages do not begin behind their hashes", rebuild)
  }
  return { index, pages, record }
}

const checkHash = (found: string, named: string, from: number, to: number): void => {
  if (found === named) return
  throw new Mismatch("corrupt", `bytes ${from} to ${to}`, "they do not have the hash that the index names", rebuild)
}

/**
 * How an index is read.
 *
 * @category options
 * @since 0.1.0
 */
export interface DecodeOptions {
  /** The pages' bytes are ranges of these; undefined: they are to be had from where they lie. */
  readonly pages?: Uint8Array | undefined
  /** The hashes of the pages will not be used, and are not checked either. */
  readonly trusted?: boolean | undefined
}

/**
 * Reads an index, or the index at the begin of an image. Throws a `Mismatch`.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeIndex = (bytes: Uint8Array, { pages, trusted }: DecodeOptions = {}): Image => {
  const sizes = imageSizes(bytes)
  if (bytes.length < sizes.index) throw truncated(bytes.length, sizes.index)
  const index = bytes.subarray(0, sizes.index)
  const hashesAt = HEAD_BYTES + sizes.record
  const head = hexOf(index.subarray(HASH_AT, HEAD_BYTES))
  checkHash(stateHash(index, hashesAt), head.slice(0, HASH_BYTES * 2), 0, hashesAt)
  if (trusted !== true) {
    checkHash(hash128(index.subarray(hashesAt)), head.slice(HASH_BYTES * 2), hashesAt, sizes.index)
  }
  const hashes = hexOf(index.subarray(hashesAt, hashesAt + sizes.pages * HASH_BYTES))
  const reader = new ByteReader(index, HEAD_BYTES, hashesAt)
  let taken = 0
  const take: TakePage = () => {
    const at = taken++
    if (taken > sizes.pages) reader.fail(`more than ${sizes.pages} pages`)
    return {
      hash: hashes.slice(at * HASH_BYTES * 2, (at + 1) * HASH_BYTES * 2),
      bytes: pages?.subarray(at * PAGE_BYTES, (at + 1) * PAGE_BYTES)
    }
  }
  try {
    const image: Image = {
      module: reader.name(),
      fingerprint: reader.name(),
      memories: Array.from({ length: reader.count() }, () => readMemory(reader, take)),
      globals: Array.from({ length: reader.count() }, () => readGlobal(reader)),
      tables: Array.from({ length: reader.count() }, () => readTable(reader)),
      dropped: { data: readList(reader), elements: readList(reader) },
      renew: readNames(reader),
      rebind: readNames(reader)
    }
    if (taken !== sizes.pages) reader.fail(`${taken} of ${sizes.pages} pages named`)
    if (reader.position !== reader.end) reader.fail("bytes left over")
    return image
  } catch (error) {
    if (!(error instanceof ModuleFormatError)) throw error
    throw new Mismatch("malformed", `byte ${error.offset}`, error.reason, rebuild)
  }
}

/**
 * Checks a page against the hash that the index has for it. Throws a `Mismatch`.
 *
 * @category decoding
 * @since 0.1.0
 */
export const checkPage = (place: string, hash: string | undefined, bytes: Uint8Array): void => {
  if (hash128(bytes) === hash) return
  throw new Mismatch("corrupt", place, "its bytes do not have the hash that the index names", rebuild)
}

/**
 * Reads an image from the bytes of its file and checks every page, unless they are `trusted`. Throws a `Mismatch`.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeImage = (bytes: Uint8Array, trusted = false): Image => {
  const sizes = imageSizes(bytes)
  const wanted = sizes.index + sizes.pages * PAGE_BYTES
  if (bytes.length < wanted) throw truncated(bytes.length, wanted)
  if (bytes.length > wanted) throw new Mismatch("malformed", `byte ${wanted}`, "bytes behind the last page", rebuild)
  // Pages are compared word by word, which needs them aligned.
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice()
  const image = decodeIndex(aligned, { pages: aligned.subarray(sizes.index), trusted })
  for (const { bytes, hash, memory, page } of trusted ? [] : storedPages(image)) {
    checkPage(`page ${page} of memory ${memory}`, hash, bytes!)
  }
  return image
}
