/**
 * `folio-wasm/image-file`: opening an image from its file on Node.js, as a plain function that loads nothing of Effect.
 *
 * @since 0.1.0
 */
export type { OpenedFile } from "../../layers/node/image-file.ts"
export * from "../../layers/node/open-image.ts"
export { decodeModule, type WasmModule } from "../../src/binary/module.ts"
export { instrument } from "../../src/image/instrument.ts"
export * from "../../src/image/mismatch.ts"
export type { ReplayHook, ReplayHooks } from "../../src/image/replay.ts"
