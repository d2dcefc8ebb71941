/**
 * Memories of a context that become those of an image.
 *
 * ```text
 * memory   ├──── cold ────┤├ hot ┤├──────── cold ────────┤
 * opened    mapped from     copied  mapped, zeros anonymous
 *           the image       in place
 * reset     pages that were written: copied back from the image
 * ```
 *
 * Opening puts the pages of the image's file over the cold ranges (`MAP_PRIVATE | MAP_FIXED`), which drops whatever was
 * written there, and copies the hot ones, which nearly every request writes and which would each cost a fault. A reset to
 * the same image asks the kernel which pages are not the file's any more: a written page of a private mapping is
 * anonymous, so nothing has to be tracked. Either way every byte is the image's afterwards.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../../src/binary/module.ts"
import { memoryOf } from "../../src/image/reach.ts"
import { RESET_PAGE } from "../../src/reset/layout.ts"
import type { ByteRange, HotPages } from "../../src/tenants/hot.ts"
import type { HeldImage, TenantMemories } from "../core/tenant-host.ts"
import { aliasMapping } from "./alias.ts"
import { Linux, type NativeCalls } from "./ffi.ts"
import { type PageFilter, PageIs, PageScan } from "./page-scan.ts"
import type { MappedImage, Segment } from "./tenant-images.ts"

/** Pages that are the memory's own: not those of a file, and not the page of zeros. */
const OWN: PageFilter = {
  inverted: PageIs.file | PageIs.zero,
  required: PageIs.file | PageIs.zero,
  any: PageIs.present | PageIs.swapped,
  told: PageIs.file
}

/**
 * A reset copies every page that was ever written since the image was mapped. When they are so many more than after the
 * first request, it is mapped anew.
 */
const REMAP_FACTOR = 3
const REMAP_SLACK = 64

const ANONYMOUS = Linux.MAP_PRIVATE | Linux.MAP_FIXED | Linux.MAP_ANONYMOUS
const FILE = Linux.MAP_PRIVATE | Linux.MAP_FIXED

/** What opening does with the segments of one memory, for given hot ranges. */
interface OpeningPlan {
  readonly hot: ReadonlyArray<ByteRange>
  readonly maps: ReadonlyArray<Segment>
  readonly copies: ReadonlyArray<Segment>
}

/** The parts of segments that lie in a range. */
const within = (segments: ReadonlyArray<Segment>, at: number, bytes: number): Array<Segment> => {
  let low = 0
  let high = segments.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (segments[middle].at <= at) low = middle
    else high = middle - 1
  }
  const parts: Array<Segment> = []
  for (let index = low; index < segments.length && segments[index].at < at + bytes; index++) {
    const { at: start, bytes: length, fd, position } = segments[index]
    const from = Math.max(start, at)
    const to = Math.min(start + length, at + bytes)
    if (to > from) parts.push({ at: from, bytes: to - from, fd, position: position + from - start })
  }
  return parts
}

const planOf = (segments: ReadonlyArray<Segment>, hot: ReadonlyArray<ByteRange>): OpeningPlan => {
  const last = segments.at(-1)
  const end = last === undefined ? 0 : last.at + last.bytes
  const maps: Array<Segment> = []
  const copies: Array<Segment> = []
  let at = 0
  for (const range of hot) {
    // A page that is hot may lie behind the end of a smaller memory.
    const from = Math.min(range.at, end)
    const to = Math.min(range.at + range.bytes, end)
    maps.push(...within(segments, at, from - at))
    copies.push(...within(segments, from, to - from))
    at = to
  }
  maps.push(...within(segments, at, end - at))
  return { hot, maps, copies }
}

/** Plans by image and memory. */
const plans = new WeakMap<ReadonlyArray<Segment>, OpeningPlan>()

const planFor = (segments: ReadonlyArray<Segment>, hot: ReadonlyArray<ByteRange>): OpeningPlan => {
  const known = plans.get(segments)
  if (known?.hot === hot) return known
  const plan = planOf(segments, hot)
  plans.set(segments, plan)
  return plan
}

class MappedMemory {
  readonly #memory: WebAssembly.Memory
  readonly #calls: NativeCalls
  readonly #pagemap: number
  readonly #hot: HotPages
  #bytes = -1
  #base = 0n
  #scan: PageScan | undefined
  /** The hot ranges that are the memory's own pages already. */
  #own: ReadonlyArray<ByteRange> = []
  /** Pages written by the first request since the image was mapped; -1 before it has ended. */
  #firstPages = -1
  #mapped = false

  constructor(memory: WebAssembly.Memory, calls: NativeCalls, pagemap: number, hot: HotPages) {
    this.#memory = memory
    this.#calls = calls
    this.#pagemap = pagemap
    this.#hot = hot
  }

  open(segments: ReadonlyArray<Segment>): void {
    if (this.#hot.learning && this.#mapped && this.#firstPages < 0) this.#learn()
    this.#locate()
    if (this.#isAliased()) {
      for (const part of segments) this.#copy(part)
      return
    }
    const { copies, hot, maps } = planFor(segments, this.#hot.ranges)
    if (this.#own !== hot) {
      for (const { at, bytes } of hot) if (at + bytes <= this.#bytes) this.#map(at, bytes, -1, 0)
      this.#own = hot
    }
    for (const { at, bytes, fd, position } of maps) this.#map(at, bytes, fd, position)
    for (const part of copies) this.#copy(part)
    this.#firstPages = -1
    this.#mapped = true
  }

  reset(segments: ReadonlyArray<Segment>): void {
    this.#locate()
    if (this.#isAliased()) {
      this.open(segments)
      return
    }
    const learned: Array<ByteRange> = []
    const learns = this.#hot.learning && this.#firstPages < 0
    const pages = this.#scan!.each(OWN, (at, bytes) => {
      if (learns) learned.push({ at, bytes })
      for (const part of within(segments, at, bytes)) this.#copy(part)
    })
    if (learns && pages >= 0) this.#hot.learn(learned)
    if (this.#firstPages < 0) this.#firstPages = pages
    // A request may also come to an image whose hot ranges were learned after it was mapped.
    if (pages < 0 || pages > REMAP_FACTOR * this.#firstPages + REMAP_SLACK || this.#own !== this.#hot.ranges) {
      this.open(segments)
    }
  }

  release(): void {
    this.#locate()
    if (this.#bytes > 0 && !this.#isAliased()) this.#map(0, this.#bytes, -1, 0)
  }

  /**
   * Whether lanes see this memory: the drop-in has handed out a loop of the program. Its pages must stay those that the
   * lanes have, and the kernel tells nothing of what was written, so every byte is copied from then on.
   */
  #isAliased(): boolean {
    if (aliasMapping(this.#memory, this.#calls).mappedBytes === 0) return false
    this.#mapped = false
    this.#own = []
    return true
  }

  #learn(): void {
    const written: Array<ByteRange> = []
    if (this.#scan!.each(OWN, (at, bytes) => void written.push({ at, bytes })) >= 0) this.#hot.learn(written)
  }

  #locate(): void {
    const { buffer } = this.#memory
    const base = this.#calls.address(buffer)
    if (base === this.#base && buffer.byteLength === this.#bytes) return
    if (base % BigInt(RESET_PAGE) !== 0n) throw new Error("a memory is not aligned to a page")
    if (base !== this.#base) this.#own = []
    this.#base = base
    this.#bytes = buffer.byteLength
    this.#scan = new PageScan(this.#calls, this.#pagemap, base, buffer.byteLength)
  }

  #map(at: number, bytes: number, fd: number, position: number): void {
    const target = this.#base + BigInt(at)
    const flags = fd < 0 ? ANONYMOUS : FILE
    if (this.#calls.mmap(target, bytes, Linux.PROT_READ_WRITE, flags, fd, position) === target) return
    throw new Error(`mapping ${bytes} bytes of a memory is refused (error ${this.#calls.errno()})`)
  }

  #copy({ at, bytes, fd, position }: Segment): void {
    if (fd < 0) {
      new Uint8Array(this.#memory.buffer, at, bytes).fill(0)
      return
    }
    let done = 0
    while (done < bytes) {
      const got = this.#calls.pread(fd, this.#base + BigInt(at + done), bytes - done, position + done)
      if (got <= 0) throw new Error(`reading ${bytes} bytes of an image is refused (error ${this.#calls.errno()})`)
      done += got
    }
  }
}

/**
 * The memories of one context. `hot` has what was learned of each memory of the program.
 *
 * @category constructors
 * @since 0.1.0
 */
export const mappedMemories = (
  m: WasmModule,
  exports: WebAssembly.Exports,
  calls: NativeCalls,
  pagemap: number,
  hot: ReadonlyArray<HotPages>
): TenantMemories => {
  const memories = hot.map((pages, index) => new MappedMemory(memoryOf(m, exports, index), calls, pagemap, pages))
  return {
    attach: (held: HeldImage, same: boolean) => {
      const { segments } = held as MappedImage
      for (const [index, memory] of memories.entries()) {
        if (same) memory.reset(segments[index])
        else memory.open(segments[index])
      }
    },
    release: () => {
      for (const memory of memories) memory.release()
    }
  }
}
