/**
 * Instances that can be put back without any help of a host: by comparing, or by copying the whole memory.
 *
 * @since 0.1.0
 */
import { hiddenPrefix } from "../plan/hidden.ts"
import { Checkpoint } from "./checkpoint.ts"
import { hasPageFunctions } from "./pages.ts"
import { chooseRung, type ResetChoice, type ResetPolicy } from "./policy.ts"
import { type Resettable, resettable } from "./resettable.ts"

/**
 * Makes instances of one module.
 *
 * @category models
 * @since 0.1.0
 */
export interface PlainContexts {
  readonly choice: ResetChoice
  readonly instantiate: (
    imports: WebAssembly.Imports
  ) => { readonly exports: WebAssembly.Exports; readonly checkpoint: () => Checkpoint }
}

const visible = (exports: WebAssembly.Exports): WebAssembly.Exports =>
  Object.freeze(Object.fromEntries(Object.entries(exports).filter(([name]) => !name.startsWith(hiddenPrefix))))

/**
 * Prepares a module, or says why its instances cannot be put back. Throws what the engine says of the bytes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const plainContexts = (
  bytes: Uint8Array,
  policy: ResetPolicy
): PlainContexts | Extract<Resettable, { readonly _tag: "refused" }> => {
  const host = { kernel: "this backend asks no operating system", severalMemories: hasPageFunctions() }
  const choice = chooseRung(policy, host, false)
  const prepared = resettable(bytes, { storeMap: choice.rung === "tracked-map" })
  if (prepared._tag === "refused") return prepared
  const module = new WebAssembly.Module(prepared.bytes)
  return {
    choice,
    instantiate: (imports) => {
      const { exports } = new WebAssembly.Instance(module, imports)
      return { exports: visible(exports), checkpoint: () => new Checkpoint(exports, prepared.layout, choice.rung) }
    }
  }
}
