/**
 * Capture: from a live instance to an image.
 *
 * Everything is captured or the capture is refused: every memory, every mutable global by its bits, every slot of every
 * table, and which passive segments are gone. Pages are compared with the module's own initial memory, so a page that
 * became zero is part of the image where the module has other bytes there.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../binary/module.ts"
import { type ImportedGlobals, importedGlobals, memoryBaselines } from "./baseline.ts"
import { readGlobals } from "./globals.ts"
import { Mismatch } from "./mismatch.ts"
import {
  type DeltaPage,
  type Image,
  type MemoryImage,
  PAGE_BYTES,
  sameBytes,
  type TableImage,
  zeroPage
} from "./model.ts"
import { functionIndices, memoryOf, readDropped, tableOf } from "./reach.ts"

/**
 * What an image says besides the state.
 *
 * @category options
 * @since 0.1.0
 */
export interface CaptureOptions {
  /** SHA-256 of the module's original bytes in hex. */
  readonly module: string
  readonly fingerprint?: string | undefined
  readonly renew?: ReadonlyArray<string> | undefined
  readonly rebind?: ReadonlyArray<string> | undefined
}

const captureMemory = (
  m: WasmModule,
  exports: WebAssembly.Exports,
  index: number,
  baseline: ReadonlyMap<number, Uint8Array>
): MemoryImage => {
  const { pageSizeLog2, shared } = m.memories[index]
  if (shared) {
    throw new Mismatch(
      "shared",
      `memory ${index}`,
      "it is shared: other threads may write it during the capture, and their own state is not in it",
      "Build the module without threads."
    )
  }
  if (pageSizeLog2 !== undefined && pageSizeLog2 !== 16) {
    throw new Mismatch("page-size", `memory ${index}`, "its pages are not of 64 KiB", "Build it with pages of 64 KiB.")
  }
  const { buffer } = memoryOf(m, exports, index)
  const pages = buffer.byteLength / PAGE_BYTES
  const delta: Array<DeltaPage> = []
  for (let page = 0; page < pages; page++) {
    const bytes = new Uint8Array(buffer, page * PAGE_BYTES, PAGE_BYTES)
    if (sameBytes(bytes, baseline.get(page) ?? zeroPage)) continue
    if (sameBytes(bytes, zeroPage)) delta.push({ page, bytes: undefined, hash: "" })
    else delta.push({ page, bytes: bytes.slice(), hash: undefined })
  }
  return { pages, delta }
}

const captureTable = (
  m: WasmModule,
  exports: WebAssembly.Exports,
  index: number,
  functions: ReadonlyMap<unknown, number>
): TableImage => {
  if (m.tables[index].is64) {
    throw new Mismatch("table", `table ${index}`, "it is addressed by 64 bits", "Build the module with 32-bit tables.")
  }
  const table = tableOf(m, exports, index)
  const slots: Array<number> = []
  for (let slot = 0; slot < table.length; slot++) {
    const value: unknown = table.get(slot)
    const found = value === null ? -1 : functions.get(value)
    if (found === undefined) {
      throw new Mismatch(
        "table",
        `table ${index}, slot ${slot}`,
        typeof value === "function"
          ? "it holds a function that is not one of this instance"
          : "it holds a reference to something of the host",
        "Capture through the exports of the instance that owns the table, before the host puts anything of its own there."
      )
    }
    slots.push(found)
  }
  return { index, slots }
}

/**
 * Captures the state of an instance, given by its exports. The instance should be one of the module that `instrument`
 * returns; one of the original does where it exports all of its state itself.
 *
 * @category capturing
 * @since 0.1.0
 */
export const capture = (m: WasmModule, exports: WebAssembly.Exports, options: CaptureOptions): Image => {
  if (m.memories.length === 0) {
    throw new Mismatch("no-memory", "the module", "it has no memory", "There is nothing to capture; instantiate it.")
  }
  const globals = readGlobals(m, exports)
  const imported: ImportedGlobals = importedGlobals(m, globals)
  const baselines = memoryBaselines(m, imported)
  const functions = m.tables.length === 0 ? new Map<unknown, number>() : functionIndices(m, exports)
  return {
    module: options.module,
    fingerprint: options.fingerprint ?? "",
    memories: baselines.map((baseline, index) => captureMemory(m, exports, index, baseline)),
    globals,
    tables: m.tables.map((_, index) => captureTable(m, exports, index, functions)),
    dropped: readDropped(m, exports),
    renew: [...options.renew ?? []],
    rebind: [...options.rebind ?? []]
  }
}
