/**
 * An image as data: the state of an instance, apart from the code that runs on it.
 *
 * @since 0.1.0
 */
import type { BitsType } from "../wire/values.ts"
import { Mismatch } from "./mismatch.ts"

/**
 * Bytes of a page of memory, the unit in which an image holds it.
 *
 * @category constants
 * @since 0.1.0
 */
export const PAGE_BYTES = 65536

/**
 * A page that differs from the module's own initial memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeltaPage {
  readonly page: number
  /** Undefined for a page of zeros, and in an index, whose pages lie elsewhere. */
  readonly bytes: Uint8Array | undefined
  /**
   * `hash128` of the bytes as an index names it; empty for a page of zeros, where the module's own memory has others;
   * undefined for a page that was captured and not yet written.
   */
  readonly hash: string | undefined
}

/** Whether every byte of the page is zero. @category inspecting @since 0.1.0 */
export const isZeroPage = ({ hash }: DeltaPage): boolean => hash === ""

/**
 * The bytes of a page; undefined for one of zeros. Throws a `Mismatch` for a page of an index alone.
 *
 * @category reading
 * @since 0.1.0
 */
export const pageContent = (page: DeltaPage): Uint8Array | undefined => {
  if (page.bytes !== undefined || isZeroPage(page)) return page.bytes
  throw new Mismatch("truncated", `page ${page.page}`, "its bytes are not at hand", "Read the whole image.")
}

/**
 * @category models
 * @since 0.1.0
 */
export interface MemoryImage {
  /** Size of the memory in pages. */
  readonly pages: number
  /** In rising order. */
  readonly delta: ReadonlyArray<DeltaPage>
}

/**
 * A global: every mutable one, and every imported one so that it can be compared.
 *
 * @category models
 * @since 0.1.0
 */
export interface GlobalImage {
  readonly index: number
  readonly type: BitsType
  readonly mutable: boolean
  readonly bits: bigint
}

/**
 * A table, slot for slot.
 *
 * @category models
 * @since 0.1.0
 */
export interface TableImage {
  readonly index: number
  /** The function of each slot by its index; -1 for null. */
  readonly slots: ReadonlyArray<number>
}

/**
 * Segments that `data.drop` and `elem.drop` have emptied.
 *
 * @category models
 * @since 0.1.0
 */
export interface DroppedSegments {
  readonly data: ReadonlyArray<number>
  readonly elements: ReadonlyArray<number>
}

/**
 * The state of an instance. Same state, same image, same bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Image {
  /** SHA-256 of the module's original bytes in hex. */
  readonly module: string
  /** What the caller says that the state depends on besides the module; compared before use. */
  readonly fingerprint: string
  readonly memories: ReadonlyArray<MemoryImage>
  readonly globals: ReadonlyArray<GlobalImage>
  readonly tables: ReadonlyArray<TableImage>
  readonly dropped: DroppedSegments
  /** What must be made new before the state is used (seeds, keys, identifiers), by the caller's names. */
  readonly renew: ReadonlyArray<string>
  /** What must be opened again (files, streams, handles), by the caller's names. */
  readonly rebind: ReadonlyArray<string>
}

/** As many bytes of zero as a page has. @category constants @since 0.1.0 */
export const zeroPage: Uint8Array<ArrayBuffer> = new Uint8Array(PAGE_BYTES)

/**
 * Whether two ranges of equal length, a multiple of four at an offset that is one, hold the same bytes.
 *
 * @category comparing
 * @since 0.1.0
 */
export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => {
  const [x, y] = [a, b].map((bytes) => new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2))
  for (let at = 0; at < x.length; at++) if (x[at] !== y[at]) return false
  return true
}
