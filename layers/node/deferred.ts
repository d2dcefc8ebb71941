/**
 * Binding without the engine: as long as no planned loop does much, the engine is not worth loading.
 *
 * A patched instance is given its guards, with thresholds that let only long executions through, and a `dispatch` that
 * adds up what comes by and answers that nothing was done, so that every loop runs natively. When enough has come by,
 * whoever asked is told, and binds the instance to the engine, which replaces all of this.
 *
 * @since 0.1.0
 */
import { memoryName, tableName, thresholdName } from "../../src/plan/hidden.ts"
import type { PlannedLoop } from "../../src/plan/types.ts"
import type { Bundle } from "./bundle.ts"
import { original } from "./original.ts"

/** Instructions of one execution below which a guard is not asked: some microseconds. */
const leastWork = 5_000

/** Instructions seen in planned loops for which the engine is worth loading, which takes some milliseconds. */
const enoughWork = 1_000_000

/** The work of an inner loop is counted once; it will have run several times. */
const innerFactor = 8

/** A threshold that nothing exceeds. */
const never = 0x7fffffff

/** One page, for guards to write what nobody reads. */
let control: WebAssembly.Memory | undefined

const thresholdOf = ({ hasInner, instructions, step }: PlannedLoop): number =>
  step === 0 || hasInner ? 0 : Math.min(never - 1, Math.floor(leastWork / Math.max(1, instructions)) * step)

/**
 * Connects the guards of an instance.
 *
 * @param exports of the instance, hidden ones included
 * @param enough called once, from inside a running loop, when the planned loops have seen enough work
 * @category binding
 * @since 0.1.0
 */
export const bindDeferred = (exports: WebAssembly.Exports, { guard, plan }: Bundle, enough: () => void): void => {
  const loops = plan.loops.filter((loop): loop is PlannedLoop => loop._tag === "planned")
  const setThresholds = (value: (loop: PlannedLoop) => number): void => {
    for (const loop of loops) (exports[thresholdName(loop.index)] as WebAssembly.Global).value = value(loop)
  }
  let work = 0
  const dispatch = (index: number, iterations: number, units: number): number => {
    work += iterations * units * (loops[index].hasInner ? innerFactor : 1)
    if (work >= enoughWork) {
      work = Number.NEGATIVE_INFINITY
      setThresholds(() => never)
      try {
        enough()
      } catch {
        // There is no engine to be had: the loops stay native.
      }
    }
    return 0
  }
  control ??= new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
  const module = new original.Module(guard as Uint8Array<ArrayBuffer>)
  const memory = exports[memoryName] as WebAssembly.Memory
  const enter = new original.Instance(module, { folio: { memory, control, dispatch } }).exports
  const table = exports[tableName] as WebAssembly.Table
  for (const { index } of loops) table.set(index, enter[`enter${index}`])
  setThresholds(thresholdOf)
}
