/**
 * The whole content of an image's memories: the module's own bytes under the pages of the image.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../binary/module.ts"
import { importedGlobals, memoryBaselines } from "./baseline.ts"
import { Mismatch } from "./mismatch.ts"
import { type Image, pageContent, sameBytes, zeroPage } from "./model.ts"

/**
 * The pages of each memory that are not all zero, by page number.
 *
 * @category reading
 * @since 0.1.0
 */
export const memoryContents = (m: WasmModule, image: Image): ReadonlyArray<ReadonlyMap<number, Uint8Array>> => {
  if (m.memories.length !== image.memories.length) {
    throw new Mismatch(
      "no-memory",
      "the module",
      `it has ${m.memories.length} memories, the image ${image.memories.length}`,
      "Use the module that the image was made from."
    )
  }
  return memoryBaselines(m, importedGlobals(m, image.globals)).map((pages, index) => {
    for (const entry of image.memories[index].delta) {
      const bytes = pageContent(entry)
      if (bytes === undefined) pages.delete(entry.page)
      else pages.set(entry.page, bytes)
    }
    for (const [page, bytes] of pages) if (sameBytes(bytes, zeroPage)) pages.delete(page)
    return pages
  })
}
