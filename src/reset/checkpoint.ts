/**
 * The state of an instance at one moment, and the ways back to it.
 *
 * | policy | copies | sound |
 * | --- | --- | --- |
 * | `whole` | every byte | always |
 * | `checkpoint` | the pages that differ, found by comparing every page | always |
 * | `tracked-map` | the pages that the module's own stores marked | while the host writes through {@link Checkpoint.touch} |
 * | `tracked-kernel` | the pages that were written since, which the operating system tells | always |
 * | `pages` | the pages that differed after the first run | only for unchanged code, input and host state |
 *
 * All of them put back every mutable global and every table slot. A memory or table that has grown cannot shrink, and a
 * dropped segment stays dropped: such an instance is not put back, and {@link Checkpoint.reset} says why.
 *
 * @since 0.1.0
 */
import { RESET_PAGE, type ResetLayout } from "./layout.ts"
import { type PageFunctions, pageFunctions } from "./pages.ts"
import { keepGlobals, keepTable, type Kept } from "./registers.ts"

/**
 * How an instance is put back.
 *
 * @category models
 * @since 0.1.0
 */
export type ResetRung = "whole" | "checkpoint" | "pages" | "tracked-map" | "tracked-kernel"

/**
 * Tells which pages of a memory were written. Made by the host; throws where the host refuses.
 *
 * @category models
 * @since 0.1.0
 */
export interface PageTracker {
  /** Begins anew: no page counts as written. */
  arm(): void
  /**
   * Hands over the ranges written since {@link PageTracker.arm}, as byte offset and length, whole pages. Returns how
   * many pages they have. Nothing may write meanwhile but `restore` itself.
   */
  written(restore: (at: number, bytes: number) => void): number
  /** Ends tracking. */
  release(): void
}

/**
 * Makes the tracker of a memory.
 *
 * @category models
 * @since 0.1.0
 */
export type MakeTracker = (memory: WebAssembly.Memory) => PageTracker

/** Resets after which tracking begins anew, so that pages written once do not stay in the set for ever. */
const REARM_RESETS = 256

/** Pages by which the set may outgrow twice its first size before tracking begins anew. */
const REARM_SLACK = 16

const WASM_PAGE = 65536

/** All that 32 bits address: lengths of it do not fit the page functions, and offsets that wrap meet in it. */
const WHOLE_SPACE = 2 ** 32

/** One memory, its image and the way back. */
class MemoryCheckpoint {
  readonly memory: WebAssembly.Memory
  readonly #image: WebAssembly.Memory
  readonly #functions: PageFunctions | undefined
  readonly #map: WebAssembly.Memory | undefined
  readonly #rung: ResetRung
  readonly #tracker: PageTracker | undefined
  readonly bytes: number
  #learned: Array<number> | undefined
  #resets = 0
  #firstPages = -1

  constructor(
    memory: WebAssembly.Memory,
    map: WebAssembly.Memory | undefined,
    rung: ResetRung,
    makeTracker: MakeTracker | undefined
  ) {
    this.memory = memory
    this.#map = map
    this.bytes = memory.buffer.byteLength
    this.#rung = this.bytes < WHOLE_SPACE || rung === "tracked-kernel" ? rung : "whole"
    this.#image = new WebAssembly.Memory({ initial: this.bytes / WASM_PAGE })
    new Uint8Array(this.#image.buffer).set(new Uint8Array(memory.buffer))
    if (this.#rung !== "whole") this.#functions = pageFunctions(memory, this.#image, map)
    if (this.#rung === "tracked-map") new Uint8Array(map!.buffer, 0, this.bytes / RESET_PAGE).fill(0)
    if (rung === "tracked-kernel") {
      this.#tracker = makeTracker!(memory)
      this.#tracker.arm()
    }
  }

  /** Bytes copied. */
  reset(): number {
    switch (this.#rung) {
      case "whole":
        new Uint8Array(this.memory.buffer).set(new Uint8Array(this.#image.buffer))
        return this.bytes
      case "checkpoint":
        return this.#functions!.compare(this.bytes) * RESET_PAGE
      case "pages":
        return this.#restoreLearned()
      case "tracked-map":
        return this.#functions!.sweep!(this.bytes) * RESET_PAGE
      case "tracked-kernel":
        return this.#restoreWritten()
    }
  }

  #restoreLearned(): number {
    const { copy, differs } = this.#functions!
    if (this.#learned === undefined) {
      this.#learned = []
      for (let at = 0; at < this.bytes; at += RESET_PAGE) if (differs(at) !== 0) this.#learned.push(at)
    }
    for (const at of this.#learned) copy(at, RESET_PAGE)
    return this.#learned.length * RESET_PAGE
  }

  /**
   * Copies every page written since tracking began. It does not begin anew each time: protecting a page costs, and so
   * does the fault at its next write, while a page that a run writes is most likely written by the next run too.
   */
  #restoreWritten(): number {
    const tracker = this.#tracker!
    const pages = tracker.written(this.#functions!.copy)
    if (this.#firstPages < 0) this.#firstPages = pages
    if (++this.#resets >= REARM_RESETS || pages > 2 * this.#firstPages + REARM_SLACK) {
      tracker.arm()
      this.#resets = 0
      this.#firstPages = -1
    }
    return pages * RESET_PAGE
  }

  touch(at: number, bytes: number): void {
    if (this.#rung !== "tracked-map" || bytes <= 0) return
    const first = Math.floor(at / RESET_PAGE)
    new Uint8Array(this.#map!.buffer).fill(1, first, Math.floor((at + bytes - 1) / RESET_PAGE) + 1)
  }

  release(): void {
    this.#tracker?.release()
  }
}

/** A table and its length. */
interface TableCheckpoint {
  readonly table: WebAssembly.Table
  readonly length: number
}

/**
 * The state of an instance of a prepared module at the moment of construction. The instance must not be running.
 *
 * @category models
 * @since 0.1.0
 */
export class Checkpoint {
  readonly rung: ResetRung
  readonly #memories: ReadonlyArray<MemoryCheckpoint>
  readonly #tables: ReadonlyArray<TableCheckpoint>
  readonly #kept: ReadonlyArray<Kept>
  readonly #drops: WebAssembly.Global | undefined
  #copied = 0
  #retired: string | undefined

  /**
   * Throws where the engine has no room for the image, no modules of several memories (every rung but `whole` needs
   * them), or where the tracker refuses.
   */
  constructor(exports: WebAssembly.Exports, layout: ResetLayout, rung: ResetRung, makeTracker?: MakeTracker) {
    this.rung = rung
    this.#drops = layout.drops === undefined ? undefined : exports[layout.drops] as WebAssembly.Global
    this.#tables = layout.tables.map(({ name }) => {
      const table = exports[name] as WebAssembly.Table
      return { table, length: table.length }
    })
    this.#kept = [
      ...keepGlobals(exports, layout.globals),
      ...layout.tables.map((slot) => keepTable(exports[slot.name] as WebAssembly.Table, slot))
    ]
    if (this.#drops !== undefined) this.#drops.value = 0
    this.#memories = layout.memories.map(({ name, storeMap }) =>
      new MemoryCheckpoint(
        exports[name] as WebAssembly.Memory,
        storeMap === undefined ? undefined : exports[storeMap] as WebAssembly.Memory,
        rung,
        makeTracker
      )
    )
  }

  /** Bytes of memory that the newest reset copied. */
  get copiedBytes(): number {
    return this.#copied
  }

  /**
   * Puts the instance back. Returns `undefined`, or why it cannot be put back now and never again. Must not be called
   * while the instance runs: a host import that calls it breaks the contract.
   */
  reset(): string | undefined {
    this.#retired ??= this.#cannot()
    if (this.#retired !== undefined) return this.#retired
    let copied = 0
    for (const memory of this.#memories) copied += memory.reset()
    for (const { load } of this.#kept) load()
    this.#copied = copied
    return undefined
  }

  /**
   * Tells of bytes that the host has written, in memory `index`. Needed on the rung `tracked-map` alone, which sees
   * only the module's own stores; the others find them by themselves.
   */
  touch(at: number, bytes: number, index = 0): void {
    this.#memories[index].touch(at, bytes)
  }

  /** Ends what the host keeps for it. The instance lives on. */
  release(): void {
    for (const memory of this.#memories) memory.release()
    this.#retired ??= "the checkpoint was released"
  }

  #cannot(): string | undefined {
    for (const [index, { bytes, memory }] of this.#memories.entries()) {
      const now = memory.buffer.byteLength
      if (now !== bytes) return `memory ${index} has grown from ${bytes} to ${now} bytes`
    }
    for (const { length, table } of this.#tables) {
      if (table.length !== length) return `a table has grown from ${length} to ${table.length} slots`
    }
    return this.#drops !== undefined && this.#drops.value !== 0 ? "a segment was dropped" : undefined
  }
}
