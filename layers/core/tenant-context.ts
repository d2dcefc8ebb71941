/**
 * One context of a program: an instance with its glue, and the way from one state to another.
 *
 * @since 0.1.0
 */
import type { ImageModule } from "../../services/Baking.ts"
import type { MakeInstance } from "../../services/Tenants.ts"
import type { WasmModule } from "../../src/binary/module.ts"
import { applyTable, changedState, checkTarget, growMemory } from "../../src/image/apply.ts"
import type { ApplyOptions } from "../../src/image/apply.ts"
import { writeGlobals } from "../../src/image/globals.ts"
import { droppable } from "../../src/image/instrument.ts"
import { Mismatch } from "../../src/image/mismatch.ts"
import { PAGE_BYTES } from "../../src/image/model.ts"
import { dropSegments, globalOf, memoryOf, readDropped, tableOf } from "../../src/image/reach.ts"
import { keepTable, type Kept } from "../../src/reset/registers.ts"
import { survey } from "../../src/reset/resettable.ts"
import type { HeldImage, TenantMemories, TenantProgramHost } from "./tenant-host.ts"

/**
 * What is known of a program's module.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProgramShape {
  readonly module: ImageModule
  readonly host: TenantProgramHost
  /** Indices of tables that nobody can change: neither code nor a host. */
  readonly fixedTables: ReadonlySet<number>
  /** Indices of mutable globals of references: null in every image. */
  readonly references: ReadonlyArray<number>
  /** Whether there are segments that can be dropped, which nothing takes back. */
  readonly drops: boolean
  /** Whether immutable globals are imported: their values are compared with each image. */
  readonly importsConstants: boolean
}

/**
 * Looks at a module.
 *
 * @category constructors
 * @since 0.1.0
 */
export const programShape = (module: ImageModule, host: TenantProgramHost): ProgramShape => {
  const { exports, globals, tables } = module.decoded
  const exported = new Set(exports.filter(({ kind }) => kind === "table").map(({ index }) => index))
  const inner = tables.flatMap((table, index) => table.import === undefined && !exported.has(index) ? [index] : [])
  const { data, elements } = droppable(module.decoded)
  return {
    module,
    host,
    fixedTables: new Set(inner.length > 0 && !survey(module.decoded).changesTables ? inner : []),
    references: globals.flatMap(({ mutable, valueType }, index) => mutable && valueType === "ref" ? [index] : []),
    drops: data.length + elements.length > 0,
    importsConstants: globals.some((global) => global.import !== undefined && !global.mutable)
  }
}

/**
 * An image with what is only computed once of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface TenantImage {
  readonly held: HeldImage
  /** Whether it was found to fit the program. */
  checked: boolean
  /** Indices of tables whose slots are not those of the module at birth. */
  changedTables: ReadonlySet<number>
}

/** An image that was not compared with its program yet. @category constructors @since 0.1.0 */
export const tenantImage = (held: HeldImage): TenantImage => ({ held, checked: false, changedTables: new Set() })

const visible = (exports: WebAssembly.Exports): WebAssembly.Exports =>
  Object.freeze(Object.fromEntries(Object.entries(exports).filter(([name]) => !name.startsWith("\u0000"))))

/**
 * A context of a program.
 *
 * @category models
 * @since 0.1.0
 */
export class TenantInstance {
  readonly #shape: ProgramShape
  readonly #memories: TenantMemories
  /** Slots at birth of each table, kept when they have first been put there. */
  readonly #born = new Map<number, Kept>()
  readonly #grow: ApplyOptions["grow"]
  /** All exports, hidden ones too. */
  readonly state: WebAssembly.Exports
  readonly exports: WebAssembly.Exports
  readonly host: unknown
  #attached: HeldImage | undefined

  private constructor(shape: ProgramShape, state: WebAssembly.Exports, host: unknown, grow: ApplyOptions["grow"]) {
    this.#shape = shape
    this.#grow = grow
    this.state = state
    this.exports = visible(state)
    this.host = host
    this.#memories = shape.host.openMemories(state)
  }

  /** Opens a context. Rejects with what the engine, the program's `open` or the host throws. */
  static async open(
    shape: ProgramShape,
    open: (instantiate: MakeInstance) => unknown,
    grow: ApplyOptions["grow"]
  ): Promise<TenantInstance> {
    let state: WebAssembly.Exports | undefined
    const host: unknown = await open((imports) => {
      if (state !== undefined) throw new TypeError("`open` makes one instance a context, and this is the second")
      state = new WebAssembly.Instance(shape.module.instrumented, imports).exports
      return { exports: visible(state) }
    })
    if (state === undefined) throw new TypeError("`open` has made no instance: it must call what it is given")
    return new TenantInstance(shape, state, host, grow)
  }

  get #decoded(): WasmModule {
    return this.#shape.module.decoded
  }

  /** The image that it took over last. */
  get attached(): HeldImage | undefined {
    return this.#attached
  }

  /** Bytes of its memories. */
  get bytes(): number {
    return this.#decoded.memories.reduce(
      (sum, _, index) => sum + memoryOf(this.#decoded, this.state, index).buffer.byteLength,
      0
    )
  }

  /** Whether it can take an image over: nothing in it is larger already, or dropped. */
  fits({ held: { image } }: TenantImage): boolean {
    const m = this.#decoded
    if (this.#shape.drops) {
      const { data, elements } = readDropped(m, this.state)
      if (!data.every((segment) => image.dropped.data.includes(segment))) return false
      if (!elements.every((segment) => image.dropped.elements.includes(segment))) return false
    }
    return image.memories.every(({ pages }, index) =>
      memoryOf(m, this.state, index).buffer.byteLength <= pages * PAGE_BYTES
    ) && image.tables.every(({ index, slots }) => tableOf(m, this.state, index).length <= slots.length)
  }

  /** Whether this image was the last one that it took over. */
  has({ held }: TenantImage): boolean {
    return this.#attached === held
  }

  /** Makes its memories those of the image. Throws a `Mismatch` before anything is changed, or what the system throws. */
  attachMemories(image: TenantImage): void {
    const m = this.#decoded
    if (!image.checked || this.#shape.importsConstants) {
      checkTarget(m, this.state, image.held.image)
      image.changedTables = new Set(changedState(m, image.held.image).tables.map(({ index }) => index))
      for (const index of image.changedTables) {
        if (!this.#shape.fixedTables.has(index)) continue
        throw new Mismatch("table", `table ${index}`, "nothing in the module changes it", "Make the image again.")
      }
      image.checked = true
    }
    const same = this.has(image)
    this.#attached = undefined
    for (const [index, memory] of image.held.image.memories.entries()) {
      growMemory(memoryOf(m, this.state, index), memory, index, m.memories[index].is64, this.#grow)
    }
    this.#memories.attach(image.held, same)
    this.#attached = image.held
  }

  /** Makes globals, tables and segments those of the image. */
  attachRegisters({ changedTables, held: { image } }: TenantImage): void {
    const m = this.#decoded
    writeGlobals(
      this.state,
      image.globals
        .filter(({ mutable }) => mutable)
        .map(({ bits, index, type }) => ({ index, global: globalOf(m, this.state, index), type, bits }))
    )
    for (const index of this.#shape.references) globalOf(m, this.state, index).value = null
    for (const table of image.tables) {
      if (this.#shape.fixedTables.has(table.index)) continue
      const born = changedTables.has(table.index) ? undefined : this.#born.get(table.index)
      if (born !== undefined) {
        born.load()
        continue
      }
      applyTable(m, this.state, table)
      if (changedTables.has(table.index)) continue
      const type = m.tables[table.index].elementType === -16 ? "funcref" : "other"
      this.#born.set(table.index, keepTable(tableOf(m, this.state, table.index), { name: "", type }))
    }
    dropSegments(this.state, image.dropped)
  }

  release(): void {
    this.#memories.release()
  }
}
