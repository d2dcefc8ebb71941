/**
 * `folio-wasm/node`: the backend of Node.js, with lanes as threads and images in files.
 *
 * @since 0.1.0
 */
export * as NodeBaking from "../../layers/node/NodeBaking.ts"
export * as NodeFolio from "../../layers/node/NodeFolio.ts"
