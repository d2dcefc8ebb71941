/**
 * Gives a patched module its number.
 *
 * ```wat
 * (global (export "\00folio:identity") i64 (i64.const …))
 * ```
 *
 * @since 0.1.0
 */
import { emitModule } from "../../src/binary/emit.ts"
import { decodeModule } from "../../src/binary/module.ts"
import { IDENTITY_EXPORT } from "./marker.ts"

/**
 * The module with the global behind its own globals and exports.
 *
 * @category emission
 * @since 0.1.0
 */
export const withIdentity = (module: Uint8Array, identity: bigint): Uint8Array => {
  const decoded = decodeModule(module)
  return emitModule(decoded, {
    globals: [{ valueType: "i64", mutable: false, init: identity }],
    exports: [{ name: IDENTITY_EXPORT, kind: "global", index: decoded.globals.length }]
  })
}
