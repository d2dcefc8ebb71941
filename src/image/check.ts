/**
 * Checking a baked module against its image, from the bytes alone.
 *
 * @since 0.1.0
 */
import type { WasmModule } from "../binary/module.ts"
import { importedGlobals, initialGlobal, initialTable, memoryBaselines } from "./baseline.ts"
import { memoryContents } from "./content.ts"
import { type Image, sameBytes, zeroPage } from "./model.ts"

/**
 * One place where a baked module is not born with the state of the image.
 *
 * @category models
 * @since 0.1.0
 */
export interface Difference {
  readonly place: string
  readonly detail: string
}

const memoryDifferences = (original: WasmModule, baked: WasmModule, image: Image): ReadonlyArray<Difference> => {
  const wanted = memoryContents(original, image)
  const born = memoryBaselines(baked, importedGlobals(baked, image.globals))
  return image.memories.flatMap(({ pages }, memory) => {
    const found: Array<Difference> = []
    const { min } = baked.memories[memory]
    if (min !== pages) found.push({ place: `memory ${memory}`, detail: `begins with ${min} pages, not ${pages}` })
    const numbers = new Set([...wanted[memory].keys(), ...born[memory].keys()])
    for (const page of [...numbers].sort((a, b) => a - b)) {
      if (sameBytes(born[memory].get(page) ?? zeroPage, wanted[memory].get(page) ?? zeroPage)) continue
      found.push({ place: `page ${page} of memory ${memory}`, detail: "holds other bytes" })
    }
    return found
  })
}

/**
 * Where a baked module is not born with the state of the image: empty when it is.
 *
 * @category checking
 * @since 0.1.0
 */
export const checkBaked = (original: WasmModule, baked: WasmModule, image: Image): ReadonlyArray<Difference> => {
  if (baked.memories.length !== image.memories.length) {
    return [{ place: "the module", detail: `has ${baked.memories.length} memories, not ${image.memories.length}` }]
  }
  const found = [...memoryDifferences(original, baked, image)]
  const imported = importedGlobals(baked, image.globals)
  for (const { bits, index } of image.globals) {
    if (baked.globals[index]?.import !== undefined || initialGlobal(baked, index, imported) === bits) continue
    found.push({ place: `global ${index}`, detail: "begins with another value" })
  }
  for (const { index, slots } of image.tables) {
    const born = initialTable(baked, index, imported)
    if (born === undefined) continue
    const at = slots.findIndex((slot, position) => slot !== born[position])
    if (at >= 0 || born.length !== slots.length) {
      found.push({ place: `table ${index}`, detail: at < 0 ? "has another size" : `slot ${at} holds another function` })
    }
  }
  if (baked.start !== undefined && baked.start < original.functions.length) {
    found.push({ place: "the start section", detail: `function ${baked.start} of the original runs again` })
  }
  return found
}
