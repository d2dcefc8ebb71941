/**
 * `folio-wasm/tasks`: private contexts and tasks, with the backend of Node.js and the one on the caller's own thread.
 *
 * @since 0.1.0
 */
export * as MemoryContexts from "../../layers/memory/MemoryContexts.ts"
export * as MemoryTasks from "../../layers/memory/MemoryTasks.ts"
export * as NodeContexts from "../../layers/node/NodeContexts.ts"
export * as NodeTasks from "../../layers/node/NodeTasks.ts"
export { serveTasks } from "../../layers/node/task-server.ts"
export * from "../../services/Contexts.ts"
export * from "../../services/TaskErrors.ts"
export * from "../../services/Tasks.ts"
export type { Guest, TaskProgram } from "../../src/tasks/context.ts"
