/**
 * Tenants without any help of a host: images are held as bytes and copied.
 *
 * @since 0.1.0
 */
import type { ImageModule, ImageSource } from "../../services/Baking.ts"
import type { WasmModule } from "../../src/binary/module.ts"
import { copyPages, repairPages } from "../../src/image/apply.ts"
import { importedGlobals, memoryBaselines } from "../../src/image/baseline.ts"
import { decodeImage } from "../../src/image/format.ts"
import { Mismatch } from "../../src/image/mismatch.ts"
import { type Image, PAGE_BYTES } from "../../src/image/model.ts"
import { memoryOf } from "../../src/image/reach.ts"
import type { HeldImage, OwnModule, TenantHost, TenantMemories } from "./tenant-host.ts"

/** Bytes of the pages that an image holds itself. @category inspecting @since 0.1.0 */
export const pageBytes = (image: Image): number =>
  image.memories.reduce(
    (sum, { delta }) => sum + delta.filter(({ bytes }) => bytes !== undefined).length * PAGE_BYTES,
    0
  )

const noFiles = (place: URL | string): never => {
  throw new Mismatch("unreadable", String(place), "no files are read here", "Pass its bytes.")
}

/**
 * Holds an image that is at hand. Throws a `Mismatch`.
 *
 * @category opening
 * @since 0.1.0
 */
export const holdImage = (source: ImageSource, trusted: boolean): HeldImage => {
  if (typeof source === "string" || source instanceof URL) {
    throw new Mismatch("unreadable", String(source), "no files are read here", "Pass the image, or its bytes.")
  }
  const image = source instanceof Uint8Array ? decodeImage(source, trusted) : source
  return { image, bytes: pageBytes(image), close: () => {} }
}

/**
 * An image that knows what its memories are born with.
 *
 * @category models
 * @since 0.1.0
 */
export interface CopiedImage extends HeldImage {
  readonly own: OwnModule | undefined
}

/**
 * Memories that images are copied into. Every page is written or compared each time.
 *
 * @category opening
 * @since 0.1.0
 */
export const copiedMemories = (m: WasmModule, exports: WebAssembly.Exports): TenantMemories => ({
  attach: (held) => {
    const { image, own } = held as CopiedImage
    const baselines = memoryBaselines(m, importedGlobals(m, image.globals))
    for (const [index, memory] of image.memories.entries()) {
      const target = memoryOf(m, exports, index)
      copyPages(target, memory, index)
      repairPages(target.buffer, memory, new Map([...baselines[index], ...own?.pages[index] ?? []]))
    }
  },
  release: () => {}
})

/**
 * A host that copies.
 *
 * @category constructors
 * @since 0.1.0
 */
export const copyingHost: TenantHost = {
  openProgram: ({ decoded }: ImageModule) => ({
    readModule: noFiles,
    openImage: (source, trusted, own): CopiedImage => ({ ...holdImage(source, trusted), own }),
    openMemories: (exports) => copiedMemories(decoded, exports),
    close: () => {}
  })
}
