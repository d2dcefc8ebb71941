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

/** Bytes in pieces, one behind the other, so that large ones are copied once. @category models @since 0.1.0 */
export type Pieces = ReadonlyArray<Uint8Array>

const join = (pieces: Pieces): Uint8Array<ArrayBuffer> => {
  const out = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    out.set(piece, at)
    at += piece.length
  }
  return out
}

/**
 * The module with sections replaced by new contents; `undefined` removes one. A section that the module does not have
 * is inserted in its place.
 *
 * @category encoding
 * @since 0.1.0
 */
export const replaceSections = (
  m: WasmModule,
  edits: ReadonlyMap<number, Pieces | undefined>
): Uint8Array<ArrayBuffer> => {
  const pending = new Map([...edits].filter(([id]) => m.sections.every((section) => section.id !== id)))
  const out: Array<Uint8Array> = [m.bytes.subarray(0, 8)]
  const write = (id: number, content: Pieces): void => {
    const length = content.reduce((sum, piece) => sum + piece.length, 0)
    out.push(new ByteWriter(16).u8(id).u32(length).finish())
    for (const piece of content) out.push(piece)
  }
  const insertBefore = (rank: number): void => {
    for (const id of sectionOrder) {
      const content = pending.get(id)
      if (content === undefined || sectionOrder.indexOf(id) >= rank) continue
      write(id, content)
      pending.delete(id)
    }
  }
  for (const { end, headerStart, id } of m.sections) {
    if (id !== SectionId.custom) insertBefore(sectionOrder.indexOf(id))
    const content = edits.get(id)
    if (content !== undefined) write(id, content)
    else if (!edits.has(id)) out.push(m.bytes.subarray(headerStart, end))
  }
  insertBefore(sectionOrder.length)
  return join(out)
}
