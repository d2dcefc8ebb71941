/**
 * `folio-wasm/node`: the backend of Node.js, with lanes as threads.
 *
 * @since 0.1.0
 */
export * as NodeFolio from "../../layers/node/NodeFolio.ts"
