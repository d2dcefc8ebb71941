/**
 * `folio-wasm/bake`: images of booted programs on any host, a page or a worker included, and the plain code beneath.
 * `NodeBaking`, which reads and maps files, is in `folio-wasm/node`.
 *
 * @since 0.1.0
 */
export * as MemoryBaking from "../../layers/memory/MemoryBaking.ts"
export * from "../../services/Baking.ts"
export * from "../../services/ImageErrors.ts"
export { decodeModule, type WasmModule } from "../../src/binary/module.ts"
export * from "../../src/image/apply.ts"
export * from "../../src/image/bake.ts"
export * from "../../src/image/capture.ts"
export * from "../../src/image/check.ts"
export * from "../../src/image/chunks.ts"
export { decodeImage, encodeImage } from "../../src/image/format.ts"
export { instrument } from "../../src/image/instrument.ts"
export * from "../../src/image/mismatch.ts"
export * from "../../src/image/model.ts"
export * from "../../src/image/picture.ts"
export * from "../../src/image/replay.ts"
export * from "../../src/image/scan.ts"
export * from "../../src/image/verdict.ts"
