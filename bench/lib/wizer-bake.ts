/**
 * What `folio bake` does to a module, as one plain function.
 */
import { decodeModule } from "../../src/binary/module.ts"
import { bakeModule } from "../../src/image/bake.ts"
import { capture } from "../../src/image/capture.ts"
import { checkBaked } from "../../src/image/check.ts"
import { instrument } from "../../src/image/instrument.ts"

/** Boots a module by `_initialize`, where it has it, and `init`, and bakes its state into it. Throws what refuses it. */
export const bakeFile = (
  bytes: Uint8Array<ArrayBuffer>,
  init: string,
  imports: WebAssembly.Imports = {}
): Uint8Array<ArrayBuffer> => {
  const m = decodeModule(bytes)
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(instrument(m)), imports)
  for (const name of new Set(["_initialize", init])) (exports[name] as (() => void) | undefined)?.()
  const image = capture(m, exports, { module: "0".repeat(64) })
  const baked = bakeModule(m, image)
  const [difference] = checkBaked(m, decodeModule(baked), image)
  if (difference !== undefined) throw new Error(`${difference.place} ${difference.detail}`)
  return baked
}
