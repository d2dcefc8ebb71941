/**
 * Emission by appending: a module's own bytes with entries added at the end of its sections.
 *
 * What is added takes the next free index of its space, so no index of the original changes and everything untouched is
 * copied byte for byte, unusual LEB128 encodings and custom sections included:
 *
 * ```text
 * before  type(2) function(1) export(1) code(1) "name"
 * edits   a type, a global, a function, an export
 * after   type(3) function(2) global(1) export(2) code(2) "name"
 *              └ count and size re-encoded, old entries copied, new entry appended
 * ```
 *
 * @since 0.1.0
 */
import { externalKinds } from "./externals.ts"
import type { ExternalKind, FunctionType, Limits, ValueType, WasmModule } from "./module.ts"
import { ByteReader } from "./reader.ts"
import type { Section } from "./sections.ts"
import { SectionId, sectionOrder } from "./sections.ts"
import { ByteWriter } from "./writer.ts"

/**
 * What to add to a module, and the few things that may be replaced.
 *
 * @category types
 * @since 0.1.0
 */
export interface ModuleEdits {
  readonly types?: ReadonlyArray<FunctionType>
  /** Defined functions: local declarations, code and final `end` as one body, without its size. */
  readonly functions?: ReadonlyArray<{ readonly typeIndex: number; readonly body: Uint8Array }>
  readonly tables?: ReadonlyArray<
    { readonly min: number; readonly max: number | undefined; readonly type: "funcref" | "externref" }
  >
  readonly memories?: ReadonlyArray<Limits>
  readonly globals?: ReadonlyArray<
    {
      readonly valueType: Exclude<ValueType, "v128" | "ref">
      readonly mutable: boolean
      readonly init: number | bigint
    }
  >
  readonly exports?: ReadonlyArray<{ readonly name: string; readonly kind: ExternalKind; readonly index: number }>
  /** New bodies of defined functions by function index, in the form of {@link ModuleEdits.functions}. */
  readonly bodies?: ReadonlyMap<number, Uint8Array>
  /** Branches of replaced bodies that are hardly ever taken: offsets of their instructions in the new bodies, rising. */
  readonly unlikely?: ReadonlyMap<number, ReadonlyArray<number>>
  /** Custom sections to add at the end. */
  readonly customs?: ReadonlyArray<{ readonly name: string; readonly data: Uint8Array }>
  /** New limits of memories by memory index, imported or defined. */
  readonly memoryLimits?: ReadonlyMap<number, Limits>
}

const valueTypes: Readonly<Record<ValueType, number>> = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
  ref: 0x70
}

const FUNCREF = 0x70
const EXTERNREF = 0x6f
const END = 0x0b

const writeTypes = (out: ByteWriter, types: ReadonlyArray<ValueType>): void => {
  out.u32(types.length)
  for (const type of types) {
    // Which reference it was is not kept: a new type is one of numbers.
    if (type === "ref") throw new RangeError("a reference in an added function type")
    out.u8(valueTypes[type])
  }
}

const writeFunctionType = (out: ByteWriter, type: FunctionType): void => {
  out.u8(0x60)
  writeTypes(out, type.params)
  writeTypes(out, type.results)
}

const writeLimits = (out: ByteWriter, limits: Limits): void => {
  const { is64, max, min, pageSizeLog2, shared } = limits
  out.u8((max === undefined ? 0 : 1) | (shared ? 2 : 0) | (is64 ? 4 : 0) | (pageSizeLog2 === undefined ? 0 : 8))
  for (const size of max === undefined ? [min] : [min, max]) {
    if (is64) out.u64(size)
    else out.u32(size)
  }
  if (pageSizeLog2 !== undefined) out.u32(pageSizeLog2)
}

const writeGlobal = (out: ByteWriter, global: NonNullable<ModuleEdits["globals"]>[number]): void => {
  const { init, mutable, valueType } = global
  out.u8(valueTypes[valueType]).u8(mutable ? 1 : 0)
  switch (valueType) {
    case "i32":
      out.u8(0x41).s32(Number(init))
      break
    case "i64":
      out.u8(0x42).s64(BigInt(init))
      break
    case "f32":
      out.u8(0x43).f32(Number(init))
      break
    case "f64":
      out.u8(0x44).f64(Number(init))
      break
  }
  out.u8(END)
}

const writeBody = (out: ByteWriter, body: Uint8Array): void => {
  out.u32(body.length).bytes(body)
}

/** Replacements inside a section: [from, to) of the module's bytes become `bytes`, in rising order. */
interface Patch {
  readonly from: number
  readonly to: number
  readonly bytes: Uint8Array
}

/** What happens to one section: entries behind its last one, and replacements inside. */
interface SectionEdit {
  readonly count: number
  readonly entries: ByteWriter
  readonly patches: ReadonlyArray<Patch>
}

const entriesOf = <A>(items: ReadonlyArray<A> | undefined, write: (out: ByteWriter, item: A) => void): SectionEdit => {
  const entries = new ByteWriter()
  for (const item of items ?? []) write(entries, item)
  return { count: items?.length ?? 0, entries, patches: [] }
}

const bodyPatches = (m: WasmModule, bodies: ReadonlyMap<number, Uint8Array> | undefined): Patch[] =>
  Array.from(bodies ?? [], ([index, body]) => {
    const old = m.functions[index]?.body
    if (old === undefined) throw new RangeError(`function ${index} has no body to replace`)
    const out = new ByteWriter(body.length + 5)
    writeBody(out, body)
    return { from: old.sizeStart, to: old.end, bytes: out.finish() }
  }).sort((a, b) => a.from - b.from)

/** New limits, of the imported memories or of the defined ones. */
const limitPatches = (m: WasmModule, edits: ModuleEdits, importedOnes: boolean): Patch[] =>
  Array.from(edits.memoryLimits ?? [])
    .flatMap(([index, limits]) => {
      const memory = m.memories[index]
      if (memory === undefined) throw new RangeError(`memory ${index} does not exist`)
      if ((memory.import !== undefined) !== importedOnes) return []
      const out = new ByteWriter()
      writeLimits(out, limits)
      return [{ from: memory.limitsStart, to: memory.limitsEnd, bytes: out.finish() }]
    })
    .sort((a, b) => a.from - b.from)

/** The edits as additions to sections. */
const sectionEdits = (m: WasmModule, edits: ModuleEdits): Map<number, SectionEdit> => {
  const all: ReadonlyArray<readonly [number, SectionEdit]> = [
    [SectionId.type, entriesOf(edits.types, writeFunctionType)],
    [SectionId.import, { count: 0, entries: new ByteWriter(), patches: limitPatches(m, edits, true) }],
    [SectionId.function, entriesOf(edits.functions, (out, { typeIndex }) => out.u32(typeIndex))],
    [
      SectionId.table,
      entriesOf(edits.tables, (out, { max, min, type }) => {
        out.u8(type === "funcref" ? FUNCREF : EXTERNREF)
        writeLimits(out, { min, max, shared: false, is64: false })
      })
    ],
    [SectionId.memory, { ...entriesOf(edits.memories, writeLimits), patches: limitPatches(m, edits, false) }],
    [SectionId.global, entriesOf(edits.globals, writeGlobal)],
    [
      SectionId.export,
      entriesOf(
        edits.exports,
        (out, { index, kind, name }) => out.name(name).u8(externalKinds.indexOf(kind)).u32(index)
      )
    ],
    [
      SectionId.code,
      {
        ...entriesOf(edits.functions, (out, { body }) => writeBody(out, body)),
        patches: bodyPatches(m, edits.bodies)
      }
    ]
  ]
  return new Map(all.filter(([, edit]) => edit.count > 0 || edit.patches.length > 0))
}

/** An existing section with its edit applied; what is not patched is copied as it is. */
const writeEdited = (out: ByteWriter, bytes: Uint8Array, section: Section, edit: SectionEdit): void => {
  const reader = new ByteReader(bytes, section.start, section.end)
  const count = reader.u32()
  const body = new ByteWriter(section.end - section.start + edit.entries.length + 1024)
  if (edit.count === 0) body.bytes(bytes, section.start, reader.position)
  else body.u32(count + edit.count)
  let copied = reader.position
  for (const patch of edit.patches) {
    body.bytes(bytes, copied, patch.from).bytes(patch.bytes)
    copied = patch.to
  }
  body.bytes(bytes, copied, section.end).append(edit.entries)
  out.section(section.id, body)
}

const writeNew = (out: ByteWriter, id: number, edit: SectionEdit): void => {
  out.section(id, new ByteWriter(edit.entries.length + 5).u32(edit.count).append(edit.entries))
}

/**
 * Where a section that the module does not have is inserted: in front of which existing section (or behind the last
 * one). Directly behind the last section of lower order, so that a `name` section stays behind all others; where there
 * is none, in front of the first section that is not custom, so that a leading `dylink.0` stays first.
 */
const placeOf = (sections: ReadonlyArray<Section>, id: number): number => {
  const rank = sectionOrder.indexOf(id)
  const before = sections.findLastIndex((section) => {
    const other = sectionOrder.indexOf(section.id)
    return other >= 0 && other < rank
  })
  if (before >= 0) return before + 1
  const first = sections.findIndex((section) => section.id !== SectionId.custom)
  return first >= 0 ? first : sections.length
}

const BRANCH_HINTS = "metadata.code.branch_hint"

/** The section of the branch hinting proposal; `undefined` without hints, or where the module has one of its own. */
const branchHints = (m: WasmModule, edits: ModuleEdits): ByteWriter | undefined => {
  const functions = [...edits.unlikely ?? []].sort(([a], [b]) => a - b)
  if (functions.length === 0 || m.sections.some(({ name }) => name === BRANCH_HINTS)) return undefined
  const out = new ByteWriter().name(BRANCH_HINTS).u32(functions.length)
  for (const [index, offsets] of functions) {
    out.u32(index).u32(offsets.length)
    for (const offset of offsets) out.u32(offset).u8(1).u8(0)
  }
  return out
}

/**
 * The module's bytes with the edits applied. Without edits they are equal to `m.bytes`.
 *
 * Throws a `RangeError` for an edit of something that does not exist; that the result is valid is the caller's to
 * ensure.
 *
 * @category encoding
 * @since 0.1.0
 */
export const emitModule = (m: WasmModule, edits: ModuleEdits): Uint8Array<ArrayBuffer> => {
  const pending = sectionEdits(m, edits)
  const existing = new Set(m.sections.map((section) => section.id))
  const insertions = sectionOrder
    .filter((id) => pending.has(id) && !existing.has(id))
    .map((id) => ({ id, place: placeOf(m.sections, id) }))

  const hints = branchHints(m, edits)
  const out = new ByteWriter(m.bytes.length + 4096)
  let copied = 0
  for (let i = 0; i <= m.sections.length; i++) {
    const here = insertions.filter(({ place }) => place === i)
    const section = m.sections[i]
    const edit = section === undefined ? undefined : pending.get(section.id)
    if (here.length === 0 && edit === undefined) continue
    const headerStart = section?.headerStart ?? m.bytes.length
    out.bytes(m.bytes, copied, headerStart)
    copied = headerStart
    for (const { id } of here) writeNew(out, id, pending.get(id)!)
    if (section?.id === SectionId.code && hints !== undefined) out.section(SectionId.custom, hints)
    if (section !== undefined && edit !== undefined) {
      writeEdited(out, m.bytes, section, edit)
      copied = section.end
    }
  }
  out.bytes(m.bytes, copied, m.bytes.length)
  for (const { data, name } of edits.customs ?? []) {
    out.section(SectionId.custom, new ByteWriter(data.length + name.length + 8).name(name).bytes(data))
  }
  return out.finish()
}
