/**
 * A tenant's own module: looked at once, when the tenant is added.
 *
 * @since 0.1.0
 */
import { decodeModule, type WasmModule } from "../../src/binary/module.ts"
import { memoryBaselines } from "../../src/image/baseline.ts"
import { Mismatch } from "../../src/image/mismatch.ts"
import { sameBytes, zeroPage } from "../../src/image/model.ts"
import { differentCode } from "../../src/tenants/same-code.ts"
import type { ProgramShape } from "./tenant-context.ts"
import type { OwnModule } from "./tenant-host.ts"

const refuse = (detail: string, remedy: string): Mismatch =>
  new Mismatch("module", "the tenant's module", detail, remedy)

const decode = (bytes: Uint8Array): WasmModule => {
  try {
    return decodeModule(bytes)
  } catch (error) {
    throw refuse(
      error instanceof Error ? error.message : String(error),
      "Pass the module that the image was made from."
    )
  }
}

/**
 * Compares a module with its program's, and keeps what memories are born with in it. Throws a `Mismatch` where its code
 * is another one, or where the places of data depend on what is imported.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ownModule = (shape: ProgramShape, bytes: Uint8Array, digest: string): OwnModule => {
  const program = shape.module.decoded
  const own = decode(bytes)
  const difference = differentCode(program, own)
  if (difference !== undefined) throw refuse(difference, "Make a program of it: its code is another one.")
  if (shape.importsConstants) {
    throw refuse("it imports constants, on which the places of its data may depend", "Make a program of it.")
  }
  const [theirs, mine] = [program, own].map((m) => memoryBaselines(m, new Map()))
  const pages = mine.map((baseline, memory) => {
    const different = new Map<number, Uint8Array>()
    for (const page of new Set([...baseline.keys(), ...theirs[memory].keys()])) {
      const born = baseline.get(page) ?? zeroPage
      if (!sameBytes(born, theirs[memory].get(page) ?? zeroPage)) different.set(page, born)
    }
    return different
  })
  return { digest, pages }
}

/** Memory that it takes. @category inspecting @since 0.1.0 */
export const ownBytes = ({ pages }: OwnModule): number => pages.reduce((sum, of) => sum + of.size * zeroPage.length, 0)
