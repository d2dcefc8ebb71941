/**
 * Applying an image: an instance takes over a captured state.
 *
 * All that can be refused is refused before the first byte is written. Afterwards the state is the captured one, bit
 * for bit, whatever a start function or earlier calls had done: pages that the image does not hold are compared with
 * the module's own initial memory and repaired.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../binary/module.ts"
import { importedGlobals, initialGlobal, initialTable, memoryBaselines } from "./baseline.ts"
import { readGlobals, writeGlobals } from "./globals.ts"
import { instrumentedFrom } from "./instrument.ts"
import { Mismatch } from "./mismatch.ts"
import {
  type GlobalImage,
  type Image,
  type MemoryImage,
  PAGE_BYTES,
  pageContent,
  sameBytes,
  type TableImage,
  zeroPage
} from "./model.ts"
import { checkDrops, dropSegments, functionOf, globalOf, memoryOf, reaches, tableOf } from "./reach.ts"
import { checkFingerprint } from "./replay.ts"

/**
 * How an image is applied.
 *
 * @category options
 * @since 0.1.0
 */
export interface ApplyOptions {
  /**
   * Take the memories only, also where the image has other globals or tables than the module is born with. For hosts
   * that set these themselves.
   */
  readonly memoryOnly?: boolean | undefined
  /**
   * Nothing has run in the instance: the pages that the image does not hold need not be looked at. Ignored for a module
   * with a start function or an imported memory.
   */
  readonly fresh?: boolean | undefined
  /**
   * Makes memory `index` larger by so many pages. A program whose glue keeps views of the memory grows it through the
   * glue. Default: `memory.grow`.
   */
  readonly grow?: ((memory: WebAssembly.Memory, pages: number, index: number) => void) | undefined
}

/** Whether a global holds what the module gives it at birth. */
const bornSo = (m: WasmModule, image: Image, { bits, index }: GlobalImage): boolean =>
  initialGlobal(m, index, importedGlobals(m, image.globals)) === bits

const tableBornSo = (m: WasmModule, image: Image, { index, slots }: TableImage): boolean => {
  const born = initialTable(m, index, importedGlobals(m, image.globals))
  return born !== undefined && born.length === slots.length && born.every((slot, at) => slot === slots[at])
}

/**
 * The parts of an image that differ from the module's birth state: globals and tables by index.
 *
 * @category inspecting
 * @since 0.1.0
 */
export const changedState = (
  m: WasmModule,
  image: Image
): { readonly globals: ReadonlyArray<GlobalImage>; readonly tables: ReadonlyArray<TableImage> } => ({
  globals: image.globals.filter((global) => global.mutable && !bornSo(m, image, global)),
  tables: image.tables.filter((table) => !tableBornSo(m, image, table))
})

/** Whether the instance gives access to a table and to all that the image has in it. */
const reachesTable = (m: WasmModule, exports: WebAssembly.Exports, { index, slots }: TableImage): boolean =>
  reaches(m, exports, "table", index) && slots.every((slot) => slot < 0 || functionOf(m, exports, slot) !== undefined)

const checkMemory = (m: WasmModule, memory: WebAssembly.Memory, image: MemoryImage, index: number): void => {
  const pages = memory.buffer.byteLength / PAGE_BYTES
  const { max } = m.memories[index]
  if (max !== undefined && image.pages > max) {
    throw new Mismatch(
      "maximum",
      `memory ${index}`,
      `the image has ${image.pages} pages, the memory may have ${max}`,
      "Use an image of this module with the limits that it has now."
    )
  }
  if (pages > image.pages) {
    throw new Mismatch(
      "larger",
      `memory ${index}`,
      `it has ${pages} pages already, the image has ${image.pages}, and a memory cannot shrink`,
      "Apply the image to a fresh instance."
    )
  }
}

const checkTable = (table: WebAssembly.Table, image: TableImage): void => {
  if (table.length > image.slots.length) {
    throw new Mismatch(
      "larger",
      `table ${image.index}`,
      `it has ${table.length} slots already, the image has ${image.slots.length}, and a table cannot shrink`,
      "Apply the image to a fresh instance."
    )
  }
}

/** Globals, tables and functions that the image names must be ones of this module. */
const checkShape = (m: WasmModule, image: Image): void => {
  const fits = image.globals.every(({ index, mutable, type }) => {
    const global = m.globals[index]
    return global !== undefined && global.mutable === mutable && global.valueType === type
  }) && image.tables.every(({ index, slots }) =>
    m.tables[index] !== undefined && slots.every((slot) =>
      slot < m.functions.length
    )
  )
  if (fits) return
  throw new Mismatch(
    "module",
    "the module",
    "it has other globals or tables than the image",
    "Use the module that the image was made from."
  )
}

/** Immutable imports must be what they were: addresses in the image depend on them. */
const checkImports = (m: WasmModule, exports: WebAssembly.Exports, image: Image): void => {
  const wanted = image.globals.filter(({ mutable }) => !mutable)
  if (wanted.length === 0) return
  const now = new Map(readGlobals(m, exports).map(({ bits, index }) => [index, bits]))
  for (const { bits, index } of wanted) {
    if (now.get(index) === bits) continue
    const from = m.globals[index].import!
    throw new Mismatch(
      "import",
      `global ${index} ("${from.module}" "${from.name}")`,
      now.has(index) ? "the imported value is another one than at the capture" : "the instance does not export it",
      "Give the import the value that it had, or capture again."
    )
  }
}

/**
 * Grows a memory to the image's size. Throws a `Mismatch` where that is refused.
 *
 * @category applying
 * @since 0.1.0
 */
export const growMemory = (
  memory: WebAssembly.Memory,
  image: MemoryImage,
  index: number,
  is64: boolean,
  grow: ApplyOptions["grow"]
): void => {
  const missing = image.pages - memory.buffer.byteLength / PAGE_BYTES
  if (missing === 0) return
  try {
    // A memory that is addressed by 64 bits takes a bigint; the type declarations know the other kind only.
    if (grow === undefined) memory.grow((is64 ? BigInt(missing) : missing) as number)
    else grow(memory, missing, index)
  } catch (error) {
    throw new Mismatch(
      "maximum",
      `memory ${index}`,
      `it cannot grow by ${missing} pages: ${error instanceof Error ? error.message : String(error)}`,
      "Give it a larger maximum, or free memory."
    )
  }
  const pages = memory.buffer.byteLength / PAGE_BYTES
  if (pages === image.pages) return
  throw new Mismatch(
    "maximum",
    `memory ${index}`,
    `after growth it has ${pages} pages instead of ${image.pages}`,
    "Let `grow` add exactly the pages that it is asked for."
  )
}

/**
 * Makes the pages that the image does not hold what the module has there at birth.
 *
 * @category applying
 * @since 0.1.0
 */
export const repairPages = (
  buffer: ArrayBufferLike,
  image: MemoryImage,
  baseline: ReadonlyMap<number, Uint8Array>
): void => {
  let next = 0
  for (let page = 0; page < image.pages; page++) {
    if (image.delta[next]?.page === page) {
      next++
      continue
    }
    const bytes = new Uint8Array(buffer, page * PAGE_BYTES, PAGE_BYTES)
    const born = baseline.get(page) ?? zeroPage
    if (!sameBytes(bytes, born)) bytes.set(born)
  }
}

/**
 * Whether the pages that an image does not hold must be looked at.
 *
 * @category inspecting
 * @since 0.1.0
 */
export const needsRepair = (m: WasmModule, fresh: boolean | undefined): boolean =>
  fresh !== true || m.start !== undefined || m.memories.some((memory) => memory.import !== undefined)

/** What writes the pages of the image into a memory: by copy, or by mapping. @category models @since 0.1.0 */
export type PageWriter = (memory: WebAssembly.Memory, image: MemoryImage, index: number) => void

/**
 * Copies the pages of an image whose bytes are at hand.
 *
 * @category applying
 * @since 0.1.0
 */
export const copyPages: PageWriter = ({ buffer }, { delta }) => {
  const memory = new Uint8Array(buffer)
  for (const entry of delta) {
    const bytes = pageContent(entry)
    const at = entry.page * PAGE_BYTES
    if (bytes === undefined) memory.fill(0, at, at + PAGE_BYTES)
    else memory.set(bytes, at)
  }
}

/**
 * Checks that an image can be applied to an instance, without changing anything. Throws a `Mismatch`.
 *
 * @category applying
 * @since 0.1.0
 */
export const checkTarget = (
  m: WasmModule,
  exports: WebAssembly.Exports,
  image: Image,
  { fresh, memoryOnly }: ApplyOptions = {}
): void => {
  if (m.memories.length === 0 || m.memories.length !== image.memories.length) {
    throw new Mismatch(
      "no-memory",
      "the module",
      `it has ${m.memories.length} memories, the image ${image.memories.length}`,
      "Use the module that the image was made from."
    )
  }
  const original = instrumentedFrom(m)
  if (original !== undefined) checkFingerprint(image, { module: original, fingerprint: undefined })
  checkShape(m, image)
  for (const [index, memory] of image.memories.entries()) {
    checkMemory(m, memoryOf(m, exports, index), memory, index)
  }
  checkImports(m, exports, image)
  if (memoryOnly === true) return
  checkDrops(exports, image.dropped)
  // What cannot be reached is only right where it is as it was born, in the image and in the instance.
  const untouched = fresh === true && m.start === undefined
  const hidden = (code: "global" | "table", index: number, born: boolean): Mismatch =>
    new Mismatch(
      code,
      `${code} ${index}`,
      born
        ? "the instance does not export it, so what earlier calls have made of it cannot be undone"
        : "the image has another state of it than the module is born with, and the instance does not export it",
      born
        ? "Instantiate the module that `instrument` returns, or pass `fresh` where nothing has run in the instance."
        : "Instantiate the module that `instrument` returns, or pass `memoryOnly` and set it yourself."
    )
  for (const global of image.globals) {
    if (!global.mutable || reaches(m, exports, "global", global.index)) continue
    const born = bornSo(m, image, global)
    if (!born || !untouched) throw hidden("global", global.index, born)
  }
  for (const table of image.tables) {
    if (reachesTable(m, exports, table)) {
      checkTable(tableOf(m, exports, table.index), table)
      continue
    }
    const born = tableBornSo(m, image, table)
    if (!born || !untouched) throw hidden("table", table.index, born)
  }
}

/**
 * Makes a table what an image has it to be. Throws a `Mismatch` where it cannot grow.
 *
 * @category applying
 * @since 0.1.0
 */
export const applyTable = (m: WasmModule, exports: WebAssembly.Exports, { index, slots }: TableImage): void => {
  const table = tableOf(m, exports, index)
  if (table.length < slots.length) {
    try {
      table.grow(slots.length - table.length)
    } catch (error) {
      throw new Mismatch(
        "maximum",
        `table ${index}`,
        `it cannot grow to ${slots.length} slots: ${error instanceof Error ? error.message : String(error)}`,
        "Give it a larger maximum."
      )
    }
  }
  for (const [slot, index] of slots.entries()) {
    const wanted = index < 0 ? null : functionOf(m, exports, index)
    if (table.get(slot) !== wanted) table.set(slot, wanted)
  }
}

/**
 * Gives an instance the state of an image. Throws a `Mismatch`, before anything is written except where growing fails.
 *
 * @category applying
 * @since 0.1.0
 */
export const applyImage = (
  m: WasmModule,
  exports: WebAssembly.Exports,
  image: Image,
  options: ApplyOptions = {},
  writePages: PageWriter = copyPages
): void => {
  checkTarget(m, exports, image, options)
  const memories = image.memories.map((_, index) => memoryOf(m, exports, index))
  for (const [index, memory] of image.memories.entries()) {
    growMemory(memories[index], memory, index, m.memories[index].is64, options.grow)
  }
  const repair = needsRepair(m, options.fresh)
  const baselines = repair ? memoryBaselines(m, importedGlobals(m, image.globals)) : []
  for (const [index, memory] of image.memories.entries()) {
    writePages(memories[index], memory, index)
    if (repair) repairPages(memories[index].buffer, memory, baselines[index])
  }
  if (options.memoryOnly === true) return
  writeGlobals(
    exports,
    image.globals
      .filter(({ index, mutable }) => mutable && reaches(m, exports, "global", index))
      .map(({ bits, index, type }) => ({ index, global: globalOf(m, exports, index), type, bits }))
  )
  for (const table of image.tables) if (reachesTable(m, exports, table)) applyTable(m, exports, table)
  dropSegments(exports, image.dropped)
}
