/**
 * A module whose instances can be put back: everything that changes is exported under a hidden name.
 *
 * ```wat
 * before   (module (memory 1) (global $sp (mut i32) (i32.const 65536)) …)
 * after    (module (memory 1) (global $sp (mut i32) (i32.const 65536)) …
 *            (export "\00folio:reset:memory:0" (memory 0)) (export "\00folio:reset:global:0" (global $sp)))
 * ```
 *
 * With `storeMap` each memory also gets a map with a byte for each of its pages, and stores mark their pages there
 * (`instrument.ts`).
 *
 * @since 0.1.0
 */
import { emitModule, type ModuleEdits } from "../binary/emit.ts"
import { InstructionReader } from "../binary/instruction.ts"
import { decodeModule, localTypes, type WasmModule } from "../binary/module.ts"
import { hiddenPrefix } from "../plan/hidden.ts"
import { instrumentBody, markRangeBody, type Marks } from "./instrument.ts"
import * as Layout from "./layout.ts"
import { dropsSegment, writesTable } from "./writes.ts"

/**
 * Why instances of a module cannot be put back.
 *
 * - `collected-heap`: it has structs or arrays, whose fields no reset reaches
 * - `shared-memory`: other threads may write while a reset runs
 * - `address-space`: a memory addressed by 64 bits, or with pages of an unusual size
 * - `hidden-names`: it already exports names that Folio uses
 *
 * @category models
 * @since 0.1.0
 */
export type ResetRefusalCode = "collected-heap" | "shared-memory" | "address-space" | "hidden-names"

/**
 * A module prepared for resets, or why there is none.
 *
 * @category models
 * @since 0.1.0
 */
export type Resettable =
  | { readonly _tag: "resettable"; readonly bytes: Uint8Array<ArrayBuffer>; readonly layout: Layout.ResetLayout }
  | { readonly _tag: "refused"; readonly code: ResetRefusalCode; readonly detail: string }

/**
 * How to prepare a module.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResettableOptions {
  /** Let stores mark their pages. Needs an engine with several memories a module. */
  readonly storeMap: boolean
}

/** Pages of a store map: a byte for each 4 KiB of 4 GiB. Pages that are never marked take no room. */
const MAP_PAGES = 16

const refusal = (m: WasmModule): Resettable | undefined => {
  const refuse = (code: ResetRefusalCode, detail: string): Resettable => ({ _tag: "refused", code, detail })
  const collected = m.types.findIndex((type) => type === undefined)
  if (collected >= 0) return refuse("collected-heap", `type ${collected} is a struct or an array`)
  for (const [index, { is64, pageSizeLog2, shared }] of m.memories.entries()) {
    if (shared) return refuse("shared-memory", `memory ${index} is shared`)
    if (is64) return refuse("address-space", `memory ${index} is addressed by 64 bits`)
    if (pageSizeLog2 !== undefined && pageSizeLog2 !== 16) {
      return refuse("address-space", `memory ${index} has pages of ${2 ** pageSizeLog2} bytes`)
    }
  }
  const hidden = m.exports.find(({ name }) => name.startsWith(hiddenPrefix))
  return hidden === undefined
    ? undefined
    : refuse("hidden-names", `the module exports ${JSON.stringify(hidden.name)}`)
}

/**
 * What the code of a module does to tables and segments. Reads all of it: some 10 ms a megabyte.
 *
 * @category queries
 * @since 0.1.0
 */
export const survey = (m: WasmModule): { readonly changesTables: boolean; readonly drops: boolean } => {
  let changesTables = false
  let drops = false
  const reader = new InstructionReader(m.bytes, 0, 0)
  for (let index = m.importedFunctions; index < m.functions.length; index++) {
    reader.reset(localTypes(m, index).codeStart, m.functions[index].body!.end)
    while (reader.next()) {
      changesTables ||= writesTable(reader.opcode)
      drops ||= dropsSegment(reader.opcode)
    }
  }
  return { changesTables, drops }
}

/**
 * Tables whose slots may change: all where code changes tables, else those that a host can reach.
 *
 * @category queries
 * @since 0.1.0
 */
export const tableSlots = (
  m: WasmModule,
  changed: boolean
): ReadonlyArray<Layout.TableSlot & { readonly index: number }> => {
  const exported = new Set(m.exports.filter(({ kind }) => kind === "table").map(({ index }) => index))
  return m.tables.flatMap(({ elementType, import: imported }, index) => {
    // Nobody else can reach a table that is neither imported nor exported.
    if (!changed && imported === undefined && !exported.has(index)) return []
    const type = elementType === -16 ? "funcref" : elementType === -17 ? "externref" : "other"
    return [{ index, name: Layout.tableExport(index), type }]
  })
}

/** The edits that give every memory a store map. */
const storeMaps = (m: WasmModule): { readonly edits: ModuleEdits; readonly maps: Marks["maps"] } => {
  const maps = m.memories.map((_, index) => ({
    memory: m.memories.length + index,
    mark: m.functions.length + index
  }))
  return {
    maps,
    edits: {
      types: [{ params: ["i32", "i32"], results: [] }],
      memories: maps.map(() => ({ min: MAP_PAGES, max: MAP_PAGES, shared: false, is64: false })),
      functions: maps.map(({ memory }) => ({ typeIndex: m.types.length, body: markRangeBody(memory) })),
      exports: maps.map(({ memory }, index) => ({ name: Layout.storeMapExport(index), kind: "memory", index: memory }))
    }
  }
}

/**
 * Prepares a module. Throws a `ModuleFormatError` where the bytes are not a module; what cannot be put back is refused
 * as data.
 *
 * @category transforms
 * @since 0.1.0
 */
export const resettable = (bytes: Uint8Array, { storeMap }: ResettableOptions): Resettable => {
  const m = decodeModule(bytes)
  const refused = refusal(m)
  if (refused !== undefined) return refused
  const { changesTables, drops } = survey(m)
  const mapped = storeMap && m.memories.length > 0 ? storeMaps(m) : undefined
  const marks: Marks = { drops: drops ? m.globals.length : undefined, maps: mapped?.maps ?? [] }
  const bodies = new Map<number, Uint8Array>()
  const unlikely = new Map<number, ReadonlyArray<number>>()
  if (drops || mapped !== undefined) {
    for (let index = m.importedFunctions; index < m.functions.length; index++) {
      const body = instrumentBody(m, index, marks)
      if (body === undefined) continue
      bodies.set(index, body.bytes)
      if (body.unlikely.length > 0) unlikely.set(index, body.unlikely)
    }
  }
  const globals = m.globals.flatMap(({ mutable, valueType }, index) =>
    mutable ? [{ index, name: Layout.globalExport(index), valueType }] : []
  )
  const tables = tableSlots(m, changesTables)
  const exports: NonNullable<ModuleEdits["exports"]> = [
    ...m.memories.map((_, index) => ({ name: Layout.memoryExport(index), kind: "memory" as const, index })),
    ...globals.map(({ index, name }) => ({ name, kind: "global" as const, index })),
    ...tables.map(({ index, name }) => ({ name, kind: "table" as const, index })),
    ...(drops ? [{ name: Layout.dropsExport, kind: "global" as const, index: m.globals.length }] : []),
    ...(mapped?.edits.exports ?? [])
  ]
  return {
    _tag: "resettable",
    bytes: emitModule(m, {
      ...mapped?.edits,
      ...(drops ? { globals: [{ valueType: "i32", mutable: true, init: 0 }] } : {}),
      exports,
      bodies,
      unlikely
    }),
    layout: {
      memories: m.memories.map((_, index) => ({
        name: Layout.memoryExport(index),
        storeMap: mapped === undefined ? undefined : Layout.storeMapExport(index)
      })),
      globals: globals.map(({ name, valueType }) => ({ name, valueType })),
      tables: tables.map(({ name, type }) => ({ name, type })),
      drops: drops ? Layout.dropsExport : undefined
    }
  }
}
