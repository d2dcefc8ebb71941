/**
 * A module's bytes as data.
 *
 * {@link decodeModule} reads what surrounds the code: types, imports, declarations, exports and the extent of each
 * function body. Sections and bodies are offsets into the bytes that were given, and nothing is copied; code is
 * decoded by whoever walks it (`instruction.ts`), segments and names when asked for.
 *
 * The decoder checks the encoding, not validity: an engine has accepted the module, or will refuse it in its own words.
 *
 * @since 0.1.0
 */
import type { ConstantExpression } from "./constant.ts"
import { decodeGlobals, decodeMemories, decodeTables, decodeTags } from "./declarations.ts"
import { decodeExports, decodeImports } from "./externals.ts"
import { decodeFunctionNames } from "./names.ts"
import { ByteReader, ModuleFormatError } from "./reader.ts"
import type { Section } from "./sections.ts"
import { decodeSections, SectionId } from "./sections.ts"
import type { DataSegment, ElementSegment } from "./segments.ts"
import { decodeDataSegments, decodeElementSegments } from "./segments.ts"
import { decodeTypes, readValueType } from "./types.ts"

export { ModuleFormatError } from "./reader.ts"

/**
 * A value's type. All references, nullable or not, are `"ref"`.
 *
 * @category types
 * @since 0.1.0
 */
export type ValueType = "i32" | "i64" | "f32" | "f64" | "v128" | "ref"

/**
 * Parameters and results of a function.
 *
 * @category types
 * @since 0.1.0
 */
export interface FunctionType {
  readonly params: ReadonlyArray<ValueType>
  readonly results: ReadonlyArray<ValueType>
}

/**
 * Size of a memory (in pages) or table (in elements). Numbers are exact up to 2^53.
 *
 * @category types
 * @since 0.1.0
 */
export interface Limits {
  readonly min: number
  readonly max: number | undefined
  readonly shared: boolean
  /** Addressed by i64. */
  readonly is64: boolean
  /** Logarithm of the page size, where it is given (custom page sizes); otherwise a page is 2^16 bytes. */
  readonly pageSizeLog2?: number | undefined
}

/**
 * What can be imported and exported.
 *
 * @category types
 * @since 0.1.0
 */
export type ExternalKind = "function" | "table" | "memory" | "global" | "tag"

interface ImportName {
  readonly module: string
  readonly name: string
}

/**
 * An imported function.
 *
 * @category types
 * @since 0.1.0
 */
export interface FunctionImport extends ImportName {
  readonly kind: "function"
  readonly typeIndex: number
}

/**
 * An imported table.
 *
 * @category types
 * @since 0.1.0
 */
export interface TableImport extends ImportName {
  readonly kind: "table"
  readonly elementType: number
  readonly limits: Limits
}

/**
 * An imported memory.
 *
 * @category types
 * @since 0.1.0
 */
export interface MemoryImport extends ImportName {
  readonly kind: "memory"
  readonly limits: Limits
}

/**
 * An imported global.
 *
 * @category types
 * @since 0.1.0
 */
export interface GlobalImport extends ImportName {
  readonly kind: "global"
  readonly valueType: ValueType
  readonly mutable: boolean
}

/**
 * An imported tag.
 *
 * @category types
 * @since 0.1.0
 */
export interface TagImport extends ImportName {
  readonly kind: "tag"
  readonly typeIndex: number
}

/**
 * An import, with what its kind declares.
 *
 * @category types
 * @since 0.1.0
 */
export type ImportEntry = FunctionImport | TableImport | MemoryImport | GlobalImport | TagImport

/**
 * Extent of a defined function's body: its local declarations, code and final `end`.
 *
 * @category types
 * @since 0.1.0
 */
export interface CodeBody {
  /** Offset of the first byte behind the size. */
  readonly start: number
  /** Offset behind the last byte. */
  readonly end: number
  /** Offset of the size. */
  readonly sizeStart: number
}

/**
 * A function of the index space: imported (no body) or defined.
 *
 * @category types
 * @since 0.1.0
 */
export interface FunctionEntry {
  readonly typeIndex: number
  readonly import: FunctionImport | undefined
  readonly body: CodeBody | undefined
}

/**
 * A table of the index space.
 *
 * @category types
 * @since 0.1.0
 */
export interface TableEntry extends Limits {
  /** First integer of the element type: -16 funcref, -17 externref, other negative numbers other references. */
  readonly elementType: number
  readonly import: TableImport | undefined
}

/**
 * A memory of the index space.
 *
 * @category types
 * @since 0.1.0
 */
export interface MemoryEntry extends Limits {
  readonly import: MemoryImport | undefined
  /** Offsets of the limits in the module, so that they can be rewritten. */
  readonly limitsStart: number
  readonly limitsEnd: number
}

/**
 * A global of the index space.
 *
 * @category types
 * @since 0.1.0
 */
export interface GlobalEntry {
  readonly valueType: ValueType
  readonly mutable: boolean
  readonly import: GlobalImport | undefined
  /** Initial value of a defined global. */
  readonly init: ConstantExpression | undefined
}

/**
 * A tag of the index space.
 *
 * @category types
 * @since 0.1.0
 */
export interface TagEntry {
  readonly typeIndex: number
  readonly import: TagImport | undefined
}

/**
 * An export.
 *
 * @category types
 * @since 0.1.0
 */
export interface ExportEntry {
  readonly name: string
  readonly kind: ExternalKind
  readonly index: number
}

/**
 * A decoded module. Every index space lists what is imported before what is defined.
 *
 * @category types
 * @since 0.1.0
 */
export interface WasmModule {
  readonly bytes: Uint8Array
  /** Sections in the order of the bytes, custom ones with their name. */
  readonly sections: ReadonlyArray<Section>
  /** Types by index, recursion groups flattened; undefined where a type is not a function (struct, array). */
  readonly types: ReadonlyArray<FunctionType | undefined>
  readonly imports: ReadonlyArray<ImportEntry>
  readonly functions: ReadonlyArray<FunctionEntry>
  readonly importedFunctions: number
  readonly tables: ReadonlyArray<TableEntry>
  readonly memories: ReadonlyArray<MemoryEntry>
  readonly globals: ReadonlyArray<GlobalEntry>
  readonly tags: ReadonlyArray<TagEntry>
  readonly exports: ReadonlyArray<ExportEntry>
  /** Index of the start function. */
  readonly start: number | undefined
  /** Decoded when first asked for (a large module has 100,000), which throws where they are malformed. */
  readonly elementSegments: ReadonlyArray<ElementSegment>
  readonly elementCount: number
  /** Decoded when first asked for, which throws where they are malformed. */
  readonly dataSegments: ReadonlyArray<DataSegment>
  /** What the data count section declares, where there is one. */
  readonly dataCount: number | undefined
  /** Function names of the `name` section by function index; read when first asked for, empty where malformed. */
  readonly functionNames: ReadonlyMap<number, string>
}

const decodeFunctionIndices = (reader: ByteReader): number[] => {
  const count = reader.count()
  const indices: number[] = []
  for (let i = 0; i < count; i++) indices.push(reader.u32())
  return indices
}

const decodeBodies = (reader: ByteReader): CodeBody[] => {
  const count = reader.count()
  const bodies: CodeBody[] = []
  for (let i = 0; i < count; i++) {
    const sizeStart = reader.position
    const size = reader.u32()
    const start = reader.skip(size)
    bodies.push({ start, end: start + size, sizeStart })
  }
  return bodies
}

/** The number that the start and the data count section hold. */
const readNumber = (reader: ByteReader): number => reader.u32()

/** The imports of one kind. */
const imported = <K extends ExternalKind>(
  imports: ReadonlyArray<ImportEntry>,
  kind: K
): ReadonlyArray<Extract<ImportEntry, { kind: K }>> =>
  imports.filter((entry): entry is Extract<ImportEntry, { kind: K }> => entry.kind === kind)

/**
 * Decodes everything but code. Throws a {@link ModuleFormatError} when the bytes are not a core module of version 1 or
 * use an unknown encoding.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeModule = (bytes: Uint8Array): WasmModule => {
  const sections = decodeSections(bytes)
  const decode = <A>(id: number, absent: A, read: (reader: ByteReader) => A): A => {
    const section = sections.find((candidate) => candidate.id === id)
    if (section === undefined) return absent
    const reader = new ByteReader(bytes, section.start, section.end)
    const value = read(reader)
    if (reader.position !== section.end) reader.fail(`bytes left over in the ${section.name} section`)
    return value
  }

  const types = decode(SectionId.type, [], decodeTypes)
  const { imports, memories: importedMemories } = decode(SectionId.import, { imports: [], memories: [] }, decodeImports)
  const functionIndices = decode(SectionId.function, [], decodeFunctionIndices)
  const tables = decode(SectionId.table, [], decodeTables)
  const memories = decode(SectionId.memory, [], decodeMemories)
  const tags = decode(SectionId.tag, [], decodeTags)
  const globals = decode(SectionId.global, [], decodeGlobals)
  const exports = decode(SectionId.export, [], decodeExports)
  const start = decode<number | undefined>(SectionId.start, undefined, readNumber)
  const elements = sections.find(({ id }) => id === SectionId.element)
  const elementCount = elements === undefined ? 0 : new ByteReader(bytes, elements.start, elements.end).u32()
  const dataCount = decode<number | undefined>(SectionId.dataCount, undefined, readNumber)
  const bodies = decode(SectionId.code, [], decodeBodies)
  if (bodies.length !== functionIndices.length) {
    throw new ModuleFormatError(bytes.length, `${functionIndices.length} functions with ${bodies.length} bodies`)
  }

  const functions: FunctionEntry[] = imported(imports, "function")
    .map((entry) => ({ typeIndex: entry.typeIndex, import: entry, body: undefined }))
  const importedFunctions = functions.length
  for (const [i, typeIndex] of functionIndices.entries()) {
    functions.push({ typeIndex, import: undefined, body: bodies[i] })
  }

  let elementSegments: ReadonlyArray<ElementSegment> | undefined
  let dataSegments: ReadonlyArray<DataSegment> | undefined
  let functionNames: ReadonlyMap<number, string> | undefined
  return {
    bytes,
    sections,
    types,
    imports,
    functions,
    importedFunctions,
    tables: [
      ...imported(imports, "table").map((entry) => ({
        ...entry.limits,
        elementType: entry.elementType,
        import: entry
      })),
      ...tables
    ],
    memories: [...importedMemories, ...memories],
    globals: [
      ...imported(imports, "global")
        .map((entry) => ({ valueType: entry.valueType, mutable: entry.mutable, import: entry, init: undefined })),
      ...globals
    ],
    tags: [...imported(imports, "tag").map((entry) => ({ typeIndex: entry.typeIndex, import: entry })), ...tags],
    exports,
    start,
    get elementSegments() {
      return elementSegments ??= decode(SectionId.element, [], decodeElementSegments)
    },
    elementCount,
    get dataSegments() {
      return dataSegments ??= decode(SectionId.data, [], decodeDataSegments)
    },
    dataCount,
    get functionNames() {
      return functionNames ??= decodeFunctionNames(bytes, sections)
    }
  }
}

/**
 * More locals than any engine takes in one function.
 *
 * @category limits
 * @since 0.1.0
 */
export const maximumLocals = 50_000

/**
 * Types of a defined function's locals, parameters first, and the offset of its first instruction. Throws a
 * {@link ModuleFormatError} when the function is imported, its type unknown, or its locals more than
 * {@link maximumLocals}.
 *
 * @category decoding
 * @since 0.1.0
 */
export const localTypes = (
  m: WasmModule,
  functionIndex: number
): { types: ReadonlyArray<ValueType>; codeStart: number } => {
  const entry = m.functions[functionIndex]
  if (entry?.body === undefined) throw new ModuleFormatError(0, `function ${functionIndex} has no body`)
  const { end, start } = entry.body
  const type = m.types[entry.typeIndex]
  if (type === undefined) throw new ModuleFormatError(start, `function ${functionIndex} has no function type`)
  const types: ValueType[] = [...type.params]
  const reader = new ByteReader(m.bytes, start, end)
  const groups = reader.count()
  for (let i = 0; i < groups; i++) {
    const count = reader.u32()
    if (types.length + count > maximumLocals) reader.fail(`more than ${maximumLocals} locals`)
    const valueType = readValueType(reader)
    for (let k = 0; k < count; k++) types.push(valueType)
  }
  return { types, codeStart: reader.position }
}
