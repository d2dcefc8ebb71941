/**
 * `folio-wasm/bake`: images of booted programs, on Node.js and, without files, on any host; and the plain code beneath,
 * which needs no Effect.
 *
 * @since 0.1.0
 */
export * as MemoryBaking from "../../layers/memory/MemoryBaking.ts"
export * as NodeBaking from "../../layers/node/NodeBaking.ts"
export * from "../../services/Baking.ts"
export * from "../../services/ImageErrors.ts"
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
