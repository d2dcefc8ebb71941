/**
 * Baking: a new module that is born with the state of an image.
 *
 * ```wat
 * before  (memory 2) (global $n (mut i32) (i32.const 0)) (start $init) (data (i32.const 8) "abc")
 * after   (memory 5) (global $n (mut i32) (i32.const 7)) (data (i32.const 8) "abd") (data (i32.const 4096) "…")
 * ```
 *
 * Data segments are rewritten as the bytes of the memory that are not zero, initial values of globals as their bits,
 * and slots of tables that changed get element segments behind the module's own. Code is copied as it is. A start
 * section goes, because the image holds what its function did; run again, it would do it twice. The state of imported
 * globals belongs to the host: those that are mutable are set by a start function made for that, and those that are not
 * are compared by it (a difference traps), since addresses in the image depend on them.
 *
 * An imported memory must be given with zeros in it, as a host gives a new one.
 *
 * @since 0.1.0
 */
import { emitModule } from "../binary/emit.ts"
import { decodeModule, type Limits, type WasmModule } from "../binary/module.ts"
import { ByteReader } from "../binary/reader.ts"
import { SectionId } from "../binary/sections.ts"
import { ByteWriter } from "../binary/writer.ts"
import { changedState } from "./apply.ts"
import { importedGlobals, initialTable } from "./baseline.ts"
import { memoryContents } from "./content.ts"
import { readNames, writeNames } from "./format.ts"
import { writeConstant } from "./globals.ts"
import { Mismatch } from "./mismatch.ts"
import type { Image, TableImage } from "./model.ts"
import { type Pieces, replaceSections } from "./rewrite.ts"
import { piecesOf, runsOf } from "./runs.ts"

/** Custom section that says what a baked module was baked from. @category constants @since 0.1.0 */
export const BAKED_SECTION = "folio.image"

const END = 0x0b

/** Traps where an immutable import differs, then sets the mutable ones; undefined where there is nothing to do. */
const startBody = (m: WasmModule, image: Image): Uint8Array | undefined => {
  const body = new ByteWriter().u32(0)
  let any = false
  for (const { bits, index, mutable, type } of image.globals) {
    if (m.globals[index].import === undefined) continue
    if (mutable) {
      writeConstant(body, type, bits).u8(0x24).u32(index)
      any = true
    } else if (type === "i32" || type === "i64") {
      body.u8(0x23).u32(index)
      writeConstant(body, type, bits).u8(type === "i32" ? 0x47 : 0x52).u8(0x04).u8(0x40).u8(0x00).u8(END)
      any = true
    }
  }
  return any ? body.u8(END).finish() : undefined
}

const globalSection = (m: WasmModule, image: Image): ByteWriter | undefined => {
  const section = m.sections.find(({ id }) => id === SectionId.global)
  if (section === undefined) return undefined
  const defined = [...m.globals.entries()].filter(([, global]) => global.import === undefined)
  const held = new Map(image.globals.map((global) => [global.index, global]))
  const out = new ByteWriter().u32(defined.length)
  const last = defined.at(-1)
  // The count may be written in more bytes than it needs: type and mutability lie in front of the first value.
  let from = last === undefined ? section.end : section.start + lebBytes(m.bytes, section.start)
  for (const [index, { init }] of defined) {
    const global = held.get(index)
    if (global === undefined) out.bytes(m.bytes, from, init!.end)
    else {
      out.bytes(m.bytes, from, init!.start)
      writeConstant(out, global.type, global.bits).u8(END)
    }
    from = init!.end
  }
  return out
}

const lebBytes = (bytes: Uint8Array, at: number): number => {
  let length = 1
  while (bytes[at + length - 1] >= 0x80) length++
  return length
}

/** Runs of slots that differ from what the module's own segments put there. */
const changedSlots = (slots: ReadonlyArray<number>, born: ReadonlyArray<number> | undefined) => {
  const runs: Array<{ at: number; slots: Array<number> }> = []
  for (const [at, slot] of slots.entries()) {
    if (born !== undefined && born[at] === slot) continue
    const last = runs.at(-1)
    if (last !== undefined && last.at + last.slots.length === at) last.slots.push(slot)
    else runs.push({ at, slots: [slot] })
  }
  return runs
}

const writeElements = (
  out: ByteWriter,
  table: number,
  is64: boolean,
  at: number,
  slots: ReadonlyArray<number>
): void => {
  const expressions = slots.some((slot) => slot < 0)
  out.u8((expressions ? 4 : 0) | (table === 0 ? 0 : 2))
  if (table !== 0) out.u32(table)
  out.u8(is64 ? 0x42 : 0x41).s64(BigInt(at)).u8(END)
  if (table !== 0) out.u8(expressions ? 0x70 : 0)
  out.u32(slots.length)
  for (const slot of slots) {
    if (!expressions) out.u32(slot)
    else if (slot < 0) out.u8(0xd0).u8(0x70).u8(END)
    else out.u8(0xd2).u32(slot).u8(END)
  }
}

/** Slots of tables that the module's own segments do not fill as the image has them. */
const tableRuns = (m: WasmModule, image: Image, tables: ReadonlyArray<TableImage>) =>
  tables.flatMap(({ index, slots }) => {
    const { elementType, is64, min } = m.tables[index]
    const born = initialTable(m, index, importedGlobals(m, image.globals))
    const changed = changedSlots(slots, born)
    if (changed.length > 0 && elementType !== -16) {
      throw new Mismatch(
        "table",
        `table ${index}`,
        "slots of a table that is not of plain functions have changed",
        "Apply the image by copy."
      )
    }
    if (slots.length !== min && m.tables[index].import === undefined) {
      throw new Mismatch("table", `table ${index}`, `it has grown to ${slots.length} slots`, "Apply the image by copy.")
    }
    return changed.map(({ at, slots }) => ({ index, is64, at, slots }))
  })

const elementSection = (m: WasmModule, image: Image, tables: ReadonlyArray<TableImage>): ByteWriter | undefined => {
  const runs = tableRuns(m, image, tables)
  const dropped = new Set(image.dropped.elements)
  if (runs.length === 0 && dropped.size === 0) return undefined
  const section = m.sections.find(({ id }) => id === SectionId.element)
  const out = new ByteWriter().u32(m.elementCount + runs.length + (dropped.size > 0 ? 1 : 0))
  if (section !== undefined) {
    let from = section.start + lebBytes(m.bytes, section.start)
    for (const [index, { end, expressions }] of m.elementSegments.entries()) {
      if (!dropped.has(index)) out.bytes(m.bytes, from, end)
      else if (expressions) out.u8(5).u8(0x70).u32(0)
      else out.u8(1).u8(0).u32(0)
      from = end
    }
  }
  for (const { at, index, is64, slots } of runs) writeElements(out, index, is64, at, slots)
  if (dropped.size > 0) {
    // Code may refer to a function only where something outside of code names it; a dropped segment did.
    const functions = m.functions.length
    out.u8(3).u8(0).u32(functions)
    for (let index = 0; index < functions; index++) out.u32(index)
  }
  return out
}

/** What memories hold, as active segments: the head of each, and its bytes. */
const stateSegments = (m: WasmModule, image: Image): Array<Pieces> =>
  memoryContents(m, image).flatMap((pages, memory) =>
    runsOf(pages).map((run) => {
      const head = new ByteWriter(32)
      if (memory === 0) head.u8(0)
      else head.u8(2).u32(memory)
      if (m.memories[memory].is64) head.u8(0x42).s64(BigInt(run.at))
      else head.u8(0x41).s32(run.at)
      return [head.u8(END).u32(run.end - run.at).finish(), ...piecesOf(pages, run)]
    })
  )

const dataSection = (m: WasmModule, image: Image): { readonly content: Pieces; readonly count: number } => {
  const dropped = new Set(image.dropped.data)
  const state = stateSegments(m, image).reverse()
  const segments: Array<Pieces> = []
  // Where there is a count, instructions may name segments by their index: each keeps its own. An active one is empty
  // for them once the instance is there, whatever it brought.
  for (const [index, { end, mode, start }] of m.dataCount === undefined ? [] : m.dataSegments.entries()) {
    const kept = mode === "passive" && !dropped.has(index)
    const other = mode === "active" ? state.pop() : undefined
    const head = () => new ByteWriter(16).u8(1).u32(kept ? end - start : 0).finish()
    segments.push(other ?? (kept ? [head(), m.bytes.subarray(start, end)] : [head()]))
  }
  while (state.length > 0) segments.push(state.pop()!)
  return { content: [new ByteWriter(16).u32(segments.length).finish(), ...segments.flat()], count: segments.length }
}

/**
 * Bakes an image into the module that it was made from. Throws a `Mismatch` for what segments cannot express.
 *
 * @category baking
 * @since 0.1.0
 */
export const bakeModule = (original: WasmModule, image: Image): Uint8Array<ArrayBuffer> => {
  const body = startBody(original, image)
  const memoryLimits = new Map<number, Limits>(
    image.memories.map(({ pages }, index) => [index, { ...original.memories[index], min: pages }])
  )
  const note = new ByteWriter().name(image.module).name(image.fingerprint)
  writeNames(note, image.renew)
  writeNames(note, image.rebind)
  const m = decodeModule(emitModule(original, {
    memoryLimits,
    types: body === undefined ? [] : [{ params: [], results: [] }],
    functions: body === undefined ? [] : [{ typeIndex: original.types.length, body }],
    customs: [{ name: BAKED_SECTION, data: note.finish() }]
  }))
  const data = dataSection(m, image)
  const edits = new Map<number, Pieces | undefined>([[SectionId.data, data.content]])
  const edit = (id: number, content: ByteWriter | undefined): void => {
    edits.set(id, content === undefined ? undefined : [content.finish()])
  }
  if (m.sections.some(({ id }) => id === SectionId.global)) edit(SectionId.global, globalSection(m, image))
  edit(SectionId.start, body === undefined ? undefined : new ByteWriter().u32(m.functions.length - 1))
  const elements = elementSection(m, image, changedState(original, image).tables)
  if (elements !== undefined) edit(SectionId.element, elements)
  if (m.dataCount !== undefined) edit(SectionId.dataCount, new ByteWriter().u32(data.count))
  return replaceSections(m, edits)
}

/**
 * What a baked module says of the image in it: what it is for and what its user must do.
 *
 * @category models
 * @since 0.1.0
 */
export type BakedNote = Pick<Image, "module" | "fingerprint" | "renew" | "rebind">

/**
 * The note in a baked module; undefined for a module that is not baked.
 *
 * @category inspecting
 * @since 0.1.0
 */
export const bakedFrom = (m: WasmModule): BakedNote | undefined => {
  const section = m.sections.find(({ id, name }) => id === SectionId.custom && name === BAKED_SECTION)
  if (section === undefined) return undefined
  const reader = new ByteReader(m.bytes, section.start, section.end)
  return { module: reader.name(), fingerprint: reader.name(), renew: readNames(reader), rebind: readNames(reader) }
}
