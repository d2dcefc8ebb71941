/**
 * Tables whose contents are known: nobody but the module's own segments has ever written them.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import type { FunctionType, WasmModule } from "../binary/module.ts"
import { localTypes, ModuleFormatError } from "../binary/module.ts"
import { ByteReader } from "../binary/reader.ts"
import { SectionId } from "../binary/sections.ts"

/**
 * A function that a `call_indirect` may reach.
 *
 * @category models
 * @since 0.1.0
 */
export interface IndirectTarget {
  readonly functionIndex: number
  /** Elements of the table that hold it. */
  readonly elements: ReadonlyArray<number>
}

/** Most functions that one call may reach, and elements that hold them. */
const MAXIMUM_TARGETS = 4
const MAXIMUM_ELEMENTS = 16

/**
 * The tables of one module, looked at when they are first asked for.
 *
 * @category analysis
 * @since 0.1.0
 */
export class Tables {
  readonly #module: WasmModule
  readonly #contents = new Map<number, ReadonlyMap<number, number> | undefined>()
  readonly #targets = new Map<string, ReadonlyArray<IndirectTarget> | undefined>()
  /** True when two types are equal exactly if they look alike: none is part of a recursion group or has subtypes. */
  readonly #plain: boolean
  #written: ReadonlySet<number> | undefined

  constructor(module: WasmModule) {
    this.#module = module
    this.#plain = hasPlainTypes(module)
  }

  /**
   * The functions that satisfy `isUsable` among those that a call of a type through a table may reach; `undefined` when
   * nobody knows, or when there are none or too many. Whatever else is called traps in a chunk.
   */
  targets(
    typeIndex: number,
    table: number,
    isUsable: (functionIndex: number) => boolean
  ): ReadonlyArray<IndirectTarget> | undefined {
    const key = `${typeIndex} ${table}`
    if (!this.#targets.has(key)) this.#targets.set(key, this.#find(typeIndex, table, isUsable))
    return this.#targets.get(key)
  }

  #find(
    typeIndex: number,
    table: number,
    isUsable: (functionIndex: number) => boolean
  ): ReadonlyArray<IndirectTarget> | undefined {
    const { functions, types } = this.#module
    const type = types[typeIndex]
    if (type === undefined || type.results.length > 1) return undefined
    const found = new Map<number, Array<number>>()
    let count = 0
    for (const [element, functionIndex] of this.#contentsOf(table) ?? []) {
      const own = types[functions[functionIndex].typeIndex]
      if (own === undefined || !isUsable(functionIndex)) continue
      if (functions[functionIndex].typeIndex !== typeIndex && !(this.#plain && isSame(own, type))) continue
      const elements = found.get(functionIndex)
      if (elements === undefined) found.set(functionIndex, [element])
      else elements.push(element)
      count++
    }
    if (count === 0 || count > MAXIMUM_ELEMENTS || found.size > MAXIMUM_TARGETS) return undefined
    return [...found].map(([functionIndex, elements]) => ({ functionIndex, elements }))
  }

  /** Functions of a table by element, or `undefined` when others may write it. */
  #contentsOf(table: number): ReadonlyMap<number, number> | undefined {
    if (!this.#contents.has(table)) this.#contents.set(table, this.#read(table))
    return this.#contents.get(table)
  }

  #read(table: number): ReadonlyMap<number, number> | undefined {
    const { bytes, elementSegments, exports, tables } = this.#module
    if (tables[table]?.import !== undefined || tables[table] === undefined) return undefined
    if (exports.some(({ index, kind }) => kind === "table" && index === table)) return undefined
    if ((this.#written ??= this.#writes()).has(table)) return undefined
    const contents = new Map<number, number>()
    for (const segment of elementSegments) {
      if (segment.mode !== "active" || segment.tableIndex !== table) continue
      if (segment.expressions || segment.offset?.opcode !== 0x41 || segment.offset.i32 === undefined) return undefined
      const reader = new ByteReader(bytes, segment.start, segment.end)
      for (let k = 0; k < segment.count; k++) contents.set(segment.offset.i32 + k, reader.u32())
    }
    return contents
  }

  /** Tables that some function writes; all of them where a function cannot be read. */
  #writes(): ReadonlySet<number> {
    const { bytes, functions, tables } = this.#module
    const written = new Set<number>()
    try {
      functions.forEach(({ body }, index) => {
        if (body === undefined) return
        const reader = new InstructionReader(bytes, localTypes(this.#module, index).codeStart, body.end)
        while (reader.next()) {
          const { opcode } = reader
          if (opcode === 0x26 || opcode === 0xfc00f || opcode === 0xfc011 || opcode === 0xfc00e) {
            written.add(reader.index)
          }
          if (opcode === 0xfc00c) written.add(reader.index2)
        }
      })
    } catch (error) {
      if (!(error instanceof ModuleFormatError)) throw error
      tables.forEach((_, index) => written.add(index))
    }
    return written
  }
}

/** True when the type section is a list of function types of numbers and vectors alone. */
const hasPlainTypes = ({ bytes, sections, types }: WasmModule): boolean => {
  const section = sections.find(({ id }) => id === SectionId.type)
  if (section === undefined) return true
  const reader = new ByteReader(bytes, section.start, section.end)
  if (reader.u32() !== types.length) return false
  for (let k = 0; k < types.length; k++) {
    if (reader.u8() !== 0x60) return false
    for (let side = 0; side < 2; side++) {
      for (let left = reader.u32(); left > 0; left--) {
        const type = reader.u8()
        if (type < 0x6f || type > 0x7f) return false
      }
    }
  }
  return true
}

const isSame = (x: FunctionType, y: FunctionType): boolean =>
  x.params.join() === y.params.join() && x.results.join() === y.results.join()
