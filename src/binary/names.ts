/**
 * The `name` section.
 *
 * @since 0.1.0
 */
import { ByteReader, ModuleFormatError } from "./reader.ts"
import type { Section } from "./sections.ts"
import { SectionId } from "./sections.ts"

const FUNCTION_NAMES = 1

/**
 * Function names by function index. The section is not part of a module's validity, so a malformed one gives the names
 * that could be read before the fault.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeFunctionNames = (bytes: Uint8Array, sections: ReadonlyArray<Section>): Map<number, string> => {
  const names = new Map<number, string>()
  const section = sections.find((candidate) => candidate.id === SectionId.custom && candidate.name === "name")
  if (section === undefined) return names
  const reader = new ByteReader(bytes, section.start, section.end)
  try {
    while (reader.position < section.end) {
      const id = reader.u8()
      const size = reader.u32()
      const start = reader.skip(size)
      if (id !== FUNCTION_NAMES) continue
      const content = new ByteReader(bytes, start, start + size)
      const count = content.count()
      for (let i = 0; i < count; i++) names.set(content.u32(), content.name())
    }
  } catch (error) {
    if (!(error instanceof ModuleFormatError)) throw error
  }
  return names
}
