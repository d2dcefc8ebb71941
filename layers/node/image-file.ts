/**
 * An image opened from its file by mapping: its pages are the file's own, until the guest writes them.
 *
 *     memory ──── page ──┐                    page ── (written) ── a page of its own
 *                        └── image file ──┘
 *
 * `mmap` with `MAP_PRIVATE | MAP_FIXED` puts the pages of the file over the address range of `memory.buffer`. Nothing
 * is read before it is touched, processes share what they do not write, and a write makes a private copy of 4 KiB. The
 * memory grows as ever, and the mapping goes with it.
 *
 * The file must stay as it is while a memory maps it: replace it by renaming a new one over it, never by writing into
 * it. Where mapping is refused (no `node:ffi`, a memory that lanes see already), the pages are read into the memory.
 *
 * Pages are compared with their hashes where they then are, so an instance whose image turns out to be damaged is of no
 * use any more.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import type { WasmModule } from "../../src/binary/module.ts"
import { applyImage, type PageWriter } from "../../src/image/apply.ts"
import type { ApplyOptions } from "../../src/image/apply.ts"
import { checkPage, decodeIndex, imageSizes } from "../../src/image/format.ts"
import { Mismatch } from "../../src/image/mismatch.ts"
import { type Image, isZeroPage, type MemoryImage, PAGE_BYTES } from "../../src/image/model.ts"
import { isSharedBuffer } from "../../src/wire/realm.ts"
import { aliasMapping } from "./alias.ts"
import { Linux, type NativeCalls, probeNative } from "./ffi.ts"

/** Bytes of the first read: most indices whole, that of 4,000 pages for instance. */
const FIRST_READ = 65_536
const SYSTEM_PAGE = 4096n

/**
 * How a file was opened.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenedFile {
  readonly image: Image
  readonly how: "mapped" | "copied"
  readonly reason: string | undefined
}

/** Reads into a range of bytes; tells how many there were. */
const readInto = (fd: number, target: Uint8Array, position: number): number => {
  let length = 0
  while (length < target.length) {
    const got = Fs.readSync(fd, target, length, target.length - length, position + length)
    if (got === 0) break
    length += got
  }
  return length
}

/**
 * Bytes of a file; fewer where it ends before.
 *
 * @category reading
 * @since 0.1.0
 */
export const readAt = (fd: number, bytes: number, position: number): Uint8Array<ArrayBuffer> => {
  const buffer = new Uint8Array(bytes)
  return buffer.subarray(0, readInto(fd, buffer, position))
}

/**
 * The index of an image's file, and where its pages begin. Throws a `Mismatch`.
 *
 * @category reading
 * @since 0.1.0
 */
export const readIndex = (
  fd: number,
  trusted: boolean | undefined
): { readonly image: Image; readonly pagesAt: number } => {
  const head = readAt(fd, FIRST_READ, 0)
  const sizes = imageSizes(head)
  const index = sizes.index <= head.length ? head : readAt(fd, sizes.index, 0)
  const image = decodeIndex(index, { trusted })
  const wanted = sizes.index + sizes.pages * PAGE_BYTES
  const { size } = Fs.fstatSync(fd)
  if (size !== wanted) {
    throw new Mismatch(
      size < wanted ? "truncated" : "malformed",
      `byte ${Math.min(size, wanted)}`,
      `the file has ${size} bytes instead of ${wanted}`,
      "Make the image again, or copy the whole file."
    )
  }
  return { image, pagesAt: sizes.index }
}

/** Pages that follow each other in the memory and in the file. */
interface Stretch {
  readonly page: number
  readonly position: number
  count: number
}

const stretchesOf = (image: MemoryImage, position: number): ReadonlyArray<Stretch> => {
  const found: Array<Stretch> = []
  let at = position
  for (const { page } of image.delta.filter((page) => !isZeroPage(page))) {
    const last = found.at(-1)
    if (last !== undefined && last.page + last.count === page) last.count++
    else found.push({ page, position: at, count: 1 })
    at += PAGE_BYTES
  }
  return found
}

/** Why this memory cannot be mapped; undefined when it can. */
const refusal = (memory: WebAssembly.Memory, calls: NativeCalls | string): string | undefined => {
  if (typeof calls === "string") return calls
  if (isSharedBuffer(memory.buffer)) return "the memory is shared"
  if (aliasMapping(memory, calls).mappedBytes > 0) return "lanes see the memory already"
  return calls.address(memory.buffer) % SYSTEM_PAGE === 0n ? undefined : "the memory is not aligned to a page"
}

const mapStretch = (calls: NativeCalls, base: bigint, fd: number, { count, page, position }: Stretch): boolean => {
  const [target, bytes] = [base + BigInt(page * PAGE_BYTES), count * PAGE_BYTES]
  const flags = Linux.MAP_PRIVATE | Linux.MAP_FIXED
  if (calls.mmap(target, bytes, Linux.PROT_READ_WRITE, flags, fd, position) === target) return true
  // A failed MAP_FIXED may have taken away what was mapped there.
  if (calls.mmap(target, bytes, Linux.PROT_READ_WRITE, flags | Linux.MAP_ANONYMOUS, -1, 0) !== target) {
    throw new Error(`pages ${page} to ${page + count} of a memory are lost (error ${calls.errno()})`)
  }
  return false
}

/** Maps the pages of one memory, and reads those that are refused. Returns why any were. */
const writeMemory = (
  calls: NativeCalls | string,
  fd: number,
  memory: WebAssembly.Memory,
  image: MemoryImage,
  position: number
): string | undefined => {
  const bytes = new Uint8Array(memory.buffer)
  let reason = refusal(memory, calls)
  const native = reason === undefined && typeof calls !== "string" ? calls : undefined
  const base = native?.address(memory.buffer) ?? 0n
  for (const stretch of stretchesOf(image, position)) {
    if (native !== undefined) {
      if (mapStretch(native, base, fd, stretch)) continue
      reason ??= `mmap refuses (error ${native.errno()})`
    }
    const from = stretch.page * PAGE_BYTES
    readInto(fd, bytes.subarray(from, from + stretch.count * PAGE_BYTES), stretch.position)
  }
  for (const { page } of image.delta.filter(isZeroPage)) bytes.fill(0, page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
  return reason
}

/** Compares what is there with the hashes of the index, which reads every page once. */
const verify = ({ buffer }: WebAssembly.Memory, image: MemoryImage, memory: number): void => {
  for (const { hash, page } of image.delta.filter((page) => !isZeroPage(page))) {
    checkPage(`page ${page} of memory ${memory}`, hash, new Uint8Array(buffer, page * PAGE_BYTES, PAGE_BYTES))
  }
}

/**
 * Applies the image in a file. Throws a `Mismatch`, and the error of the system where the file cannot be read. `calls`
 * are the system's calls, or the reason why there are none.
 *
 * @category opening
 * @since 0.1.0
 */
export const openImageFile = (
  m: WasmModule,
  exports: WebAssembly.Exports,
  place: URL | string,
  options: ApplyOptions & { readonly trusted?: boolean | undefined },
  check: (image: Image) => void,
  calls: NativeCalls | string = probeNative()
): OpenedFile => {
  const fd = Fs.openSync(place, "r")
  try {
    const { image, pagesAt } = readIndex(fd, options.trusted)
    check(image)
    let reason: string | undefined
    let position = pagesAt
    const write: PageWriter = (memory, pages, index) => {
      reason = writeMemory(calls, fd, memory, pages, position) ?? reason
      position += pages.delta.filter((page) => !isZeroPage(page)).length * PAGE_BYTES
      if (options.trusted !== true) verify(memory, pages, index)
    }
    applyImage(m, exports, image, options, write)
    return { image, how: reason === undefined ? "mapped" : "copied", reason }
  } finally {
    // A mapping keeps its file.
    Fs.closeSync(fd)
  }
}
