/**
 * The map of an image as a picture: one square a page, row by row.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../binary/module.ts"
import { importedGlobals, memoryBaselines } from "./baseline.ts"
import { type Image, isZeroPage } from "./model.ts"

/**
 * What a page is: all zero, the module's own, one of the image, or one that differs between two images.
 *
 * @category models
 * @since 0.1.0
 */
export type PageKind = "zero" | "module" | "image" | "differs"

const COLOURS: Readonly<Record<PageKind, string>> = {
  zero: "#eceff1",
  module: "#90a4ae",
  image: "#1e88e5",
  differs: "#e53935"
}

const LABELS: Readonly<Record<PageKind, string>> = {
  zero: "zero",
  module: "the module's own data",
  image: "in the image",
  differs: "differs between the images"
}

/**
 * The kind of every page of every memory. `differing` lists pages by memory, rising, as a verdict has them.
 *
 * @category reading
 * @since 0.1.0
 */
export const pageKinds = (
  m: WasmModule,
  image: Image,
  differing: ReadonlyArray<ReadonlyArray<number>> = []
): ReadonlyArray<ReadonlyArray<PageKind>> => {
  const born = memoryBaselines(m, importedGlobals(m, image.globals))
  return image.memories.map(({ delta, pages }, memory) => {
    const others = differing[memory] ?? []
    // The other image's memory may be larger.
    const length = Math.max(pages, 1 + (others.at(-1) ?? 0))
    const kinds = Array.from({ length }, (_, page): PageKind => born[memory].has(page) ? "module" : "zero")
    for (const entry of delta) kinds[entry.page] = isZeroPage(entry) ? "zero" : "image"
    for (const page of others) kinds[page] = "differs"
    return kinds
  })
}

const COLUMNS = 64
const SIDE = 10

const escape = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

/**
 * Draws the pages of memories as SVG, with the number of pages of each kind.
 *
 * @category formatting
 * @since 0.1.0
 */
export const pageMap = (memories: ReadonlyArray<ReadonlyArray<PageKind>>, title: string): string => {
  const parts: Array<string> = []
  let top = 30
  for (const [memory, kinds] of memories.entries()) {
    parts.push(`<text x="4" y="${top + 8}">memory ${memory}, ${kinds.length} pages of 64 KiB</text>`)
    top += 16
    for (const [page, kind] of kinds.entries()) {
      const [x, y] = [4 + page % COLUMNS * SIDE, top + Math.floor(page / COLUMNS) * SIDE]
      parts.push(
        `<rect x="${x}" y="${y}" width="${SIDE - 1}" height="${SIDE - 1}" fill="${COLOURS[kind]}">` +
          `<title>page ${page}: ${LABELS[kind]}</title></rect>`
      )
    }
    top += Math.ceil(kinds.length / COLUMNS) * SIDE + 8
  }
  for (const kind of Object.keys(COLOURS) as ReadonlyArray<PageKind>) {
    const count = memories.flat().filter((one) => one === kind).length
    parts.push(`<rect x="4" y="${top}" width="9" height="9" fill="${COLOURS[kind]}"/>`)
    parts.push(`<text x="18" y="${top + 8}">${LABELS[kind]}: ${count}</text>`)
    top += 14
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${COLUMNS * SIDE + 8}" height="${top + 6}" ` +
    `font-family="sans-serif" font-size="10">\n<rect width="100%" height="100%" fill="#ffffff"/>\n` +
    `<text x="4" y="16" font-size="13">${escape(title)}</text>\n${parts.join("\n")}\n</svg>\n`
}
