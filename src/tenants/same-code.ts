/**
 * Modules of the same code: equal but for what they are born with in memory, and for custom sections. A toolchain that
 * puts a script or a configuration into an interpreter's data makes such modules. An instance of one, with the memory of
 * another, is an instance of the other.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../binary/module.ts"
import { type Section, SectionId } from "../binary/sections.ts"

const equal = (a: Uint8Array, b: Uint8Array): boolean => {
  if (a.length !== b.length) return false
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false
  return true
}

/** The sections that make instances behave as they do, without data. */
const codeSections = ({ sections }: WasmModule): ReadonlyArray<Section> =>
  sections.filter(({ id }) => id !== SectionId.custom && id !== SectionId.data && id !== SectionId.dataCount)

/** Why segments of data are not of the same use to the code: passive ones must be equal. */
const differentSegments = (a: WasmModule, b: WasmModule): string | undefined => {
  const count = Math.max(a.dataSegments.length, b.dataSegments.length)
  for (let index = 0; index < count; index++) {
    const [x, y] = [a.dataSegments[index], b.dataSegments[index]]
    if ((x?.mode ?? "active") !== "passive" && (y?.mode ?? "active") !== "passive") continue
    if (
      x === undefined || y === undefined || x.mode !== y.mode ||
      !equal(a.bytes.subarray(x.start, x.end), b.bytes.subarray(y.start, y.end))
    ) return `passive data segment ${index} differs`
  }
  return undefined
}

/**
 * Why two modules are not of the same code; `undefined` where they are.
 *
 * @category comparing
 * @since 0.1.0
 */
export const differentCode = (a: WasmModule, b: WasmModule): string | undefined => {
  const [first, second] = [codeSections(a), codeSections(b)]
  if (first.length !== second.length) return `it has ${second.length} sections besides data, and not ${first.length}`
  for (const [index, section] of first.entries()) {
    const other = second[index]
    const same = section.id === other.id
      && equal(a.bytes.subarray(section.start, section.end), b.bytes.subarray(other.start, other.end))
    if (!same) return `section ${section.id} differs`
  }
  return differentSegments(a, b)
}
