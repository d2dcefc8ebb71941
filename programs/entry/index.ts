/**
 * `folio-wasm`: the services with their errors, and the backend that runs everywhere.
 *
 * @since 0.1.0
 */
export * as MemoryFolio from "../../layers/memory/MemoryFolio.ts"
export * from "../../services/Admission.ts"
export * from "../../services/Arena.ts"
export * from "../../services/Credits.ts"
export * from "../../services/Errors.ts"
export * from "../../services/Extraction.ts"
export * from "../../services/Folio.ts"
export * from "../../services/Scheduling.ts"
export * from "../../services/Transport.ts"
