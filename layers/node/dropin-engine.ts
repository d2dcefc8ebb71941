/**
 * The engine of the drop-in, loaded when planned loops do enough. Published as one file with all that it needs.
 *
 * @since 0.1.0
 */
import { cacheDirectory } from "./cache.ts"
import { readCalibration } from "./calibration.ts"
import { cpuBudget } from "./cpu.ts"
import { NodeEngine } from "./engine.ts"

/**
 * An engine with as many threads as asked for, or as many as the process may run at once, and with the costs that were
 * measured on this machine, where the cache has them.
 *
 * @param cache a directory, `off`, or `undefined` for the usual place
 * @category constructors
 * @since 0.1.0
 */
export const makeEngine = (workers: number | undefined, cache: string | undefined): NodeEngine => {
  const width = workers ?? cpuBudget().width
  return new NodeEngine({ workers: width, calibration: readCalibration(cacheDirectory(cache, process.env), width) })
}
