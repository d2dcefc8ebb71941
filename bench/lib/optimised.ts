/**
 * Compiles a module at V8's highest tier at once, so that a control is not measured while it warms up.
 */
export { compileOptimised } from "../../layers/node/optimised.ts"
