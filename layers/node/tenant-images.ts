/**
 * Images of tenants as files that can be mapped: those on disk, and those in memory as files without a name.
 *
 * Every byte of a memory has a source: a page of the image, a page of the module's own initial memory, or zeros.
 *
 * ```text
 * memory    ├─ data ─┤├──── state ────┤├──────── zeros ────────┤├ state ┤
 * segments  │baseline││ image, page 0 ││          -1           ││ page 3│
 * ```
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import type { ImageModule, ImageSource } from "../../services/Baking.ts"
import { importedGlobals, memoryBaselines } from "../../src/image/baseline.ts"
import { decodeImage, encodeImage, imageSizes } from "../../src/image/format.ts"
import { Mismatch } from "../../src/image/mismatch.ts"
import { type Image, isZeroPage, type MemoryImage, PAGE_BYTES } from "../../src/image/model.ts"
import type { HeldImage, OwnModule } from "../core/tenant-host.ts"
import { Linux, type NativeCalls } from "./ffi.ts"
import { readAt, readIndex } from "./image-file.ts"

/**
 * Bytes of a memory and where they come from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Segment {
  readonly at: number
  readonly bytes: number
  /** Descriptor of a file; -1 for zeros. */
  readonly fd: number
  readonly position: number
}

/**
 * An image whose pages are in a file.
 *
 * @category models
 * @since 0.1.0
 */
export interface MappedImage extends HeldImage {
  /** Of each memory, rising and without gaps. */
  readonly segments: ReadonlyArray<ReadonlyArray<Segment>>
}

/** Pages that memories are born with: of each memory, by page, the position in a file. */
interface Baseline {
  readonly fd: number
  readonly positions: ReadonlyArray<ReadonlyMap<number, number>>
}

/** Memory that the index of an image takes, about: an object a page, numbers a slot. */
const indexBytes = (image: Image): number =>
  4_096 + image.memories.reduce((sum, { delta }) => sum + 200 * delta.length, 0) +
  image.tables.reduce((sum, { slots }) => sum + 8 * slots.length, 0)

/** A file without a name that holds the bytes. */
const memoryFile = (calls: NativeCalls, name: string, parts: ReadonlyArray<Uint8Array>): number => {
  const fd = calls.memfdCreate(name, Linux.MFD_CLOEXEC)
  if (fd < 0) throw new Error(`a file in memory is refused (error ${calls.errno()})`)
  let position = 0
  for (const part of parts) position += Fs.writeSync(fd, part, 0, part.length, position)
  return fd
}

const writeBaseline = (
  calls: NativeCalls,
  memories: ReadonlyArray<ReadonlyMap<number, Uint8Array>>
): Baseline => {
  const parts: Array<Uint8Array> = []
  const positions = memories.map((pages) =>
    new Map(Array.from(pages, ([page, bytes]) => [page, (parts.push(bytes) - 1) * PAGE_BYTES] as const))
  )
  return { fd: memoryFile(calls, "folio-baseline", parts), positions }
}

/** Segments of memory `index`, whose pages begin at `first` in the image's file. The first baseline with a page wins. */
const segmentsOf = (
  memory: MemoryImage,
  index: number,
  fd: number,
  first: number,
  baselines: ReadonlyArray<Baseline>
): { readonly segments: ReadonlyArray<Segment>; readonly next: number } => {
  const segments: Array<{ at: number; bytes: number; fd: number; position: number }> = []
  const add = (page: number, from: number, position: number): void => {
    const last = segments.at(-1)
    if (last !== undefined && last.fd === from && (from < 0 || last.position + last.bytes === position)) {
      last.bytes += PAGE_BYTES
    } else segments.push({ at: page * PAGE_BYTES, bytes: PAGE_BYTES, fd: from, position })
  }
  let next = first
  let entry = 0
  for (let page = 0; page < memory.pages; page++) {
    const changed = memory.delta[entry]?.page === page ? memory.delta[entry++] : undefined
    if (changed === undefined) {
      const born = baselines.find(({ positions }) => positions[index].has(page))
      add(page, born?.fd ?? -1, born?.positions[index].get(page) ?? 0)
    } else if (isZeroPage(changed)) add(page, -1, 0)
    else {
      add(page, fd, next)
      next += PAGE_BYTES
    }
  }
  return { segments, next }
}

/**
 * The images of one program.
 *
 * @category models
 * @since 0.1.0
 */
export class ProgramImages {
  readonly #module: ImageModule
  readonly #calls: NativeCalls
  /** By the bits of imported globals, on which places of data may depend. */
  readonly #baselines = new Map<string, Baseline>()

  constructor(module: ImageModule, calls: NativeCalls) {
    this.#module = module
    this.#calls = calls
  }

  /** Opens an image. Throws a `Mismatch`, or where the system refuses a file in memory. */
  open(source: ImageSource, trusted: boolean, own: OwnModule | undefined): MappedImage {
    if (typeof source === "string" || source instanceof URL) return this.#openFile(source, trusted, own)
    const bytes = source instanceof Uint8Array ? source : encodeImage(source)
    const image = source instanceof Uint8Array ? decodeImage(source, trusted) : source
    const fd = memoryFile(this.#calls, "folio-tenant", [bytes])
    return this.#mapped(image, fd, imageSizes(bytes).index, bytes.length + indexBytes(image), own)
  }

  close(): void {
    for (const { fd } of this.#baselines.values()) Fs.closeSync(fd)
    this.#baselines.clear()
  }

  #openFile(place: URL | string, trusted: boolean, own: OwnModule | undefined): MappedImage {
    let fd: number
    try {
      fd = Fs.openSync(place, "r")
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      throw new Mismatch("unreadable", "the file", detail, "Check the path and its permissions.")
    }
    try {
      if (!trusted) decodeImage(readAt(fd, Fs.fstatSync(fd).size, 0))
      const { image, pagesAt } = readIndex(fd, trusted)
      // Read in one piece while the rest is prepared, instead of a page at each fault.
      this.#calls.fadvise(fd, pagesAt, 0, Linux.FADV_WILLNEED)
      return this.#mapped(image, fd, pagesAt, indexBytes(image), own)
    } catch (error) {
      Fs.closeSync(fd)
      throw error
    }
  }

  #mapped(image: Image, fd: number, pagesAt: number, bytes: number, own: OwnModule | undefined): MappedImage {
    const baseline = this.#baseline(image)
    const born = own?.pages.some(({ size }) => size > 0) === true ? writeBaseline(this.#calls, own.pages) : undefined
    let position = pagesAt
    const segments = image.memories.map((memory, index) => {
      const found = segmentsOf(memory, index, fd, position, born === undefined ? [baseline] : [born, baseline])
      position = found.next
      return found.segments
    })
    const close = (): void => {
      Fs.closeSync(fd)
      if (born !== undefined) Fs.closeSync(born.fd)
    }
    return { image, bytes, segments, close }
  }

  #baseline(image: Image): Baseline {
    const m = this.#module.decoded
    const imported = importedGlobals(m, image.globals)
    const key = [...imported].join(";")
    const known = this.#baselines.get(key)
    if (known !== undefined) return known
    const baseline = writeBaseline(this.#calls, memoryBaselines(m, imported))
    this.#baselines.set(key, baseline)
    return baseline
  }
}
