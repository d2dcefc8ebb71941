/**
 * `folio-wasm/tenants`: many users of a program with states of their own under one budget of memory, on Node.js, where
 * images are mapped, and on any host, where they are copied.
 *
 * @since 0.1.0
 */
export * as MemoryTenants from "../../layers/memory/MemoryTenants.ts"
export * as NodeTenants from "../../layers/node/NodeTenants.ts"
export * from "../../services/TenantErrors.ts"
export * from "../../services/Tenants.ts"
