/**
 * Imports and exports.
 *
 * @since 0.1.0
 */
import { readGlobalType, readLimits, readTableType, readTagType } from "./declarations.ts"
import type { ExportEntry, ExternalKind, ImportEntry, MemoryEntry } from "./module.ts"
import type { ByteReader } from "./reader.ts"

/**
 * Kinds of externals by their number in the binary format.
 *
 * @category constants
 * @since 0.1.0
 */
export const externalKinds: ReadonlyArray<ExternalKind> = ["function", "table", "memory", "global", "tag"]

const readKind = (reader: ByteReader): ExternalKind => {
  const byte = reader.u8()
  return externalKinds[byte] ?? reader.fail(`unknown external kind ${byte}`, reader.position - 1)
}

/** What an import declares behind its names and kind. */
const readImport = (reader: ByteReader, module: string, name: string, kind: ExternalKind): ImportEntry => {
  switch (kind) {
    case "function":
      return { module, name, kind, typeIndex: reader.u32() }
    case "table":
      return { module, name, kind, ...readTableType(reader) }
    case "memory":
      return { module, name, kind, limits: readLimits(reader) }
    case "global":
      return { module, name, kind, ...readGlobalType(reader) }
    case "tag":
      return { module, name, kind, typeIndex: readTagType(reader) }
  }
}

/**
 * Reads the import section's content; for memories also where their limits are.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeImports = (reader: ByteReader): { imports: ImportEntry[]; memories: MemoryEntry[] } => {
  const count = reader.count()
  const imports: ImportEntry[] = []
  const memories: MemoryEntry[] = []
  for (let i = 0; i < count; i++) {
    const module = reader.name()
    const name = reader.name()
    const kind = readKind(reader)
    const limitsStart = reader.position
    const entry = readImport(reader, module, name, kind)
    imports.push(entry)
    if (entry.kind === "memory") {
      memories.push({ ...entry.limits, import: entry, limitsStart, limitsEnd: reader.position })
    }
  }
  return { imports, memories }
}

/**
 * Reads the export section's content.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeExports = (reader: ByteReader): ExportEntry[] => {
  const count = reader.count()
  const exports: ExportEntry[] = []
  for (let i = 0; i < count; i++) exports.push({ name: reader.name(), kind: readKind(reader), index: reader.u32() })
  return exports
}
