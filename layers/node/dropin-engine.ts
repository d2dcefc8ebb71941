/**
 * The engine of the drop-in, loaded when planned loops do enough. Published as one file with all that it needs.
 *
 * @since 0.1.0
 */
import { cpuBudget } from "./cpu.ts"
import { NodeEngine } from "./engine.ts"

/**
 * An engine with as many threads as asked for, or as many as the process may run at once.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeEngine = (workers: number | undefined): NodeEngine =>
  new NodeEngine({ workers: workers ?? cpuBudget().width })
