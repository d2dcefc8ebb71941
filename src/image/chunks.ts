/**
 * The chunked form of an image, for hosts that serve static files of limited size.
 *
 * ```text
 * image.index       the image's file up to its pages: page numbers and hashes
 * image.000         the first 64 pages, 4 MiB
 * image.001         the next 64
 * image.wasm        the module to instantiate: the original with its state exported, made beforehand
 * ```
 *
 * A loader has some fetches in flight and writes each file's pages where they belong as it arrives, so no second copy
 * of the image is ever there: at most `inFlight` files of 4 MiB. Plain JavaScript: it runs in a page, in a worker, and on
 * hosts that compile no code at run time, such as workerd.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../binary/module.ts"
import { applyImage, type ApplyOptions, checkTarget, growMemory } from "./apply.ts"
import { checkPage, decodeIndex, encodeIndex, storedPages } from "./format.ts"
import { instrument } from "./instrument.ts"
import { Mismatch } from "./mismatch.ts"
import { type Image, isZeroPage, PAGE_BYTES, pageContent } from "./model.ts"
import { memoryOf } from "./reach.ts"
import { checkFingerprint, checkHooks, type ReplayHooks, runHooks } from "./replay.ts"

/** Pages of a file: 4 MiB. @category constants @since 0.1.0 */
export const PAGES_PER_CHUNK = 64

/** Name of a chunk's file. @category constants @since 0.1.0 */
export const chunkName = (chunk: number): string => `image.${String(chunk).padStart(3, "0")}`

/** Name of the index's file. @category constants @since 0.1.0 */
export const INDEX_NAME = "image.index"

/** Name of the module's file. @category constants @since 0.1.0 */
export const MODULE_NAME = "image.wasm"

/**
 * Cuts an image into files, by name, in the order in which they are fetched. With the module that it was made from,
 * the one to instantiate is among them; it says which image is its own.
 *
 * @category encoding
 * @since 0.1.0
 */
export const chunkImage = (image: Image, original?: WasmModule): ReadonlyMap<string, Uint8Array<ArrayBuffer>> => {
  const files = new Map([[INDEX_NAME, encodeIndex(image)]])
  const pages = storedPages(image)
  for (let first = 0; first < pages.length; first += PAGES_PER_CHUNK) {
    const group = pages.slice(first, first + PAGES_PER_CHUNK)
    const bytes = new Uint8Array(group.length * PAGE_BYTES)
    for (const [at, page] of group.entries()) bytes.set(pageContent(page)!, at * PAGE_BYTES)
    files.set(chunkName(first / PAGES_PER_CHUNK), bytes)
  }
  if (original !== undefined) files.set(MODULE_NAME, instrument(original, image.module))
  return files
}

/**
 * Gets a file's bytes by name. Rejections pass through, once all files that are under way have come or failed: give
 * each a deadline (`AbortSignal.timeout`).
 *
 * @category models
 * @since 0.1.0
 */
export type FetchFile = (name: string) => Promise<ArrayBuffer | Uint8Array>

/**
 * How a chunked image is loaded.
 *
 * @category options
 * @since 0.1.0
 */
export interface LoadOptions extends ApplyOptions {
  /** Files that are fetched at a time: each takes 4 MiB until it is written. Default: 4. */
  readonly inFlight?: number | undefined
}

const view = (bytes: ArrayBuffer | Uint8Array): Uint8Array =>
  bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)

/**
 * Reads the index of a chunked image. The pages' bytes are still to come.
 *
 * @category decoding
 * @since 0.1.0
 */
export const loadIndex = async (fetchFile: FetchFile): Promise<Image> => decodeIndex(view(await fetchFile(INDEX_NAME)))

/**
 * Loads the pages of a chunked image straight into an instance's memory, then the rest of its state. Throws a
 * `Mismatch` for a file of another length or a page of another hash; the instance is then of no use any more.
 *
 * @category applying
 * @since 0.1.0
 */
export const loadChunks = async (
  m: WasmModule,
  exports: WebAssembly.Exports,
  index: Image,
  fetchFile: FetchFile,
  options: LoadOptions = {}
): Promise<void> => {
  checkTarget(m, exports, index, options)
  const pages = storedPages(index)
  const memories = index.memories.map((_, memory) => memoryOf(m, exports, memory))
  for (const [memory, image] of index.memories.entries()) {
    growMemory(memories[memory], image, memory, m.memories[memory].is64, options.grow)
  }
  const chunks = Math.ceil(pages.length / PAGES_PER_CHUNK)
  let next = 0
  const loadOne = async (chunk: number): Promise<void> => {
    const group = pages.slice(chunk * PAGES_PER_CHUNK, (chunk + 1) * PAGES_PER_CHUNK)
    const bytes = view(await fetchFile(chunkName(chunk)))
    if (bytes.length !== group.length * PAGE_BYTES) {
      throw new Mismatch(
        "truncated",
        chunkName(chunk),
        `it has ${bytes.length} bytes instead of ${group.length * PAGE_BYTES}`,
        "Deploy all files of the image again."
      )
    }
    for (const [at, { hash, memory, page }] of group.entries()) {
      const content = bytes.subarray(at * PAGE_BYTES, (at + 1) * PAGE_BYTES)
      checkPage(`${chunkName(chunk)}, page ${page} of memory ${memory}`, hash, content)
      new Uint8Array(memories[memory].buffer).set(content, page * PAGE_BYTES)
    }
  }
  const worker = async (): Promise<void> => {
    while (next < chunks) {
      const chunk = next++
      try {
        await loadOne(chunk)
      } catch (error) {
        // The other workers end with what they have in flight.
        next = chunks
        throw error
      }
    }
  }
  const workers = Math.max(1, Math.min(options.inFlight ?? 4, chunks))
  const ended = await Promise.allSettled(Array.from({ length: workers }, worker))
  const failed = ended.find((one) => one.status === "rejected")
  if (failed !== undefined) throw failed.reason
  // The pages with bytes are there already; pages of zeros, repairs, globals and tables are as with any image.
  applyImage(m, exports, index, options, ({ buffer }, { delta }) => {
    for (const { page } of delta.filter(isZeroPage)) {
      new Uint8Array(buffer).fill(0, page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
    }
  })
}

/**
 * How a chunked image is opened.
 *
 * @category options
 * @since 0.1.0
 */
export interface OpenChunksOptions extends LoadOptions {
  /** SHA-256 of the original module in hex, where the loaded one does not say it itself; undefined: not compared. */
  readonly module?: string | undefined
  /** Refuses an image that was made for another one; undefined: any will do. */
  readonly fingerprint?: string | undefined
  readonly hooks?: ReplayHooks | undefined
}

/**
 * Opens a chunked image: compares what it was made for, loads it into an instance, and runs the hooks. `m` is the
 * decoded module, as it is instantiated or the original. Throws a `Mismatch`; failed fetches pass through.
 *
 * ```ts
 * const deadline = () => ({ signal: AbortSignal.timeout(30_000) })
 * const fetchFile = async (name: string) => await (await fetch(`/app/${name}`, deadline())).arrayBuffer()
 * const bytes = new Uint8Array(await fetchFile(MODULE_NAME))
 * const { instance } = await WebAssembly.instantiate(bytes, imports)
 * await openChunks(decodeModule(bytes), instance.exports, fetchFile, { fingerprint: "v3" })
 * ```
 *
 * @category applying
 * @since 0.1.0
 */
export const openChunks = async (
  m: WasmModule,
  exports: WebAssembly.Exports,
  fetchFile: FetchFile,
  options: OpenChunksOptions = {}
): Promise<Image> => {
  const image = await loadIndex(fetchFile)
  const { fingerprint, hooks = {}, module = image.module } = options
  checkFingerprint(image, { module, fingerprint })
  checkHooks(image, hooks)
  await loadChunks(m, exports, image, fetchFile, options)
  runHooks(exports, image, hooks)
  return image
}
