/**
 * The host's measures of what an analysis takes.
 *
 * @since 0.1.0
 */
import type { BudgetOptions } from "../../src/plan/budget.ts"
import { clock } from "./original.ts"

/** How much more this thread's heap, and the buffers outside of it, hold than now; what is dead and not collected counts. */
const heapMeter = (): () => number => {
  const { getHeapStatistics } = process.getBuiltinModule("node:v8")
  const used = (): number => {
    const { external_memory, used_heap_size } = getHeapStatistics()
    return used_heap_size + external_memory
  }
  const before = used()
  return () => used() - before
}

/**
 * The limits, each with its measure, from now on.
 *
 * @category constructors
 * @since 0.1.0
 */
export const measured = (
  { budgetBytes, budgetMs }: { readonly budgetBytes?: number | undefined; readonly budgetMs?: number | undefined }
): BudgetOptions => ({
  ...budgetMs === undefined ? {} : { budgetMs, now: clock.now },
  ...budgetBytes === undefined ? {} : { budgetBytes, heap: heapMeter() }
})
