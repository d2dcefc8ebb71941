/**
 * `folio-wasm/compiler`: a module's bytes as data, and its plan with the modules that carry it out. No host, no Effect.
 *
 * @since 0.1.0
 */
export * from "../../src/binary/emit.ts"
export * from "../../src/binary/module.ts"
export * from "../../src/plan/prepare.ts"
export * from "../../src/plan/types.ts"
