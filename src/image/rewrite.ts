/**
 * Section-level rewriting: whole sections of a module replaced, removed or inserted, everything else byte for byte.
 *
 * ```text
 * before  type import function memory global export start element code data
 * edits   global → new bytes, start → none, data → new bytes
 * after   type import function memory GLOBAL export element code DATA
 * ```
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../binary/module.ts"
import { SectionId, sectionOrder } from "../binary/sections.ts"
import { ByteWriter } from "../binary/writer.ts"

/**
 * The module with sections replaced by new contents; `undefined` removes one. A section that the module does not have
 * is inserted in its place.
 *
 * @category encoding
 * @since 0.1.0
 */
export const replaceSections = (
  m: WasmModule,
  edits: ReadonlyMap<number, ByteWriter | undefined>
): Uint8Array<ArrayBuffer> => {
  const pending = new Map([...edits].filter(([id]) => m.sections.every((section) => section.id !== id)))
  const out = new ByteWriter(m.bytes.length + 4096).bytes(m.bytes, 0, 8)
  const insertBefore = (rank: number): void => {
    for (const id of sectionOrder) {
      const content = pending.get(id)
      if (content === undefined || sectionOrder.indexOf(id) >= rank) continue
      out.section(id, content)
      pending.delete(id)
    }
  }
  for (const { end, headerStart, id } of m.sections) {
    if (id !== SectionId.custom) insertBefore(sectionOrder.indexOf(id))
    if (!edits.has(id)) out.bytes(m.bytes, headerStart, end)
    else {
      const content = edits.get(id)
      if (content !== undefined) out.section(id, content)
    }
  }
  insertBefore(sectionOrder.length)
  return out.finish()
}
