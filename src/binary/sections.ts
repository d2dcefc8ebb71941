/**
 * The frame of a module: magic, version, and sections with their order.
 *
 * @since 0.1.0
 */
import { ByteReader } from "./reader.ts"

/**
 * Section ids of the binary format.
 *
 * @category constants
 * @since 0.1.0
 */
export const SectionId = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  table: 4,
  memory: 5,
  global: 6,
  export: 7,
  start: 8,
  element: 9,
  code: 10,
  data: 11,
  dataCount: 12,
  tag: 13
} as const

/**
 * The ids of sections that are not custom, in the order in which they must appear.
 *
 * @category constants
 * @since 0.1.0
 */
export const sectionOrder: ReadonlyArray<number> = [
  SectionId.type,
  SectionId.import,
  SectionId.function,
  SectionId.table,
  SectionId.memory,
  SectionId.tag,
  SectionId.global,
  SectionId.export,
  SectionId.start,
  SectionId.element,
  SectionId.dataCount,
  SectionId.code,
  SectionId.data
]

const sectionNames = new Map<number, string>(Object.entries(SectionId).map(([name, id]) => [id, name]))

/**
 * A section as a range of the module's bytes.
 *
 * @category types
 * @since 0.1.0
 */
export interface Section {
  readonly id: number
  /** A custom section's own name, otherwise the kind's. */
  readonly name: string
  /** Offset of the id. */
  readonly headerStart: number
  /** Offset of the content; for a custom section, behind its name. */
  readonly start: number
  /** Offset behind the content. */
  readonly end: number
}

/**
 * Splits a module into its sections, which must be known, in order and at most one of each kind.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeSections = (bytes: Uint8Array): ReadonlyArray<Section> => {
  const reader = new ByteReader(bytes, 0, bytes.length)
  if (reader.fixed32() !== 0x6d736100) reader.fail("not a WebAssembly module", 0)
  if (reader.fixed32() !== 1) reader.fail("not a core module of version 1", 4)
  const sections: Section[] = []
  let lastRank = -1
  while (reader.position < bytes.length) {
    const headerStart = reader.position
    const id = reader.u8()
    const size = reader.u32()
    const start = reader.skip(size)
    const end = start + size
    if (id === SectionId.custom) {
      const content = new ByteReader(bytes, start, end)
      const name = content.name()
      sections.push({ id, name, headerStart, start: content.position, end })
      continue
    }
    const rank = sectionOrder.indexOf(id)
    if (rank < 0) reader.fail(`unknown section ${id}`, headerStart)
    if (rank <= lastRank) reader.fail(`section ${id} out of order`, headerStart)
    lastRank = rank
    sections.push({ id, name: sectionNames.get(id)!, headerStart, start, end })
  }
  return sections
}
