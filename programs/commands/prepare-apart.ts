/**
 * Preparing one module in a thread of its own, so that the command can be interrupted and the memory has a limit.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { startPreparation } from "../../layers/node/preparation-thread.ts"
import type { PreparationMessage, PreparationTarget } from "../../layers/node/preparation-worker.ts"
import { nativeSummary, type PreparationSummary } from "../../layers/node/preparation.ts"
import { showProgress } from "./progress.ts"

/**
 * What became of a module.
 *
 * @category models
 * @since 0.1.0
 */
export interface PreparedApart {
  readonly summary: PreparationSummary
  /** False where it runs natively. */
  readonly patched: boolean
  /** Why the cache did not take it; `undefined`: it did. */
  readonly refused: string | undefined
}

const failedApart = (target: PreparationTarget, error: Error & { readonly code?: string }): PreparedApart => {
  const mib = Math.round(target.budget.budgetBytes / 1024 ** 2)
  const reason = error.code === "ERR_WORKER_OUT_OF_MEMORY"
    ? `its preparation needs far more than ${mib} MiB`
    : `its preparation failed: ${error.message}`
  return { summary: nativeSummary(reason), patched: false, refused: reason }
}

/**
 * Prepares a module and stores what was found.
 *
 * @param name what progress calls it
 * @category preparing
 * @since 0.1.0
 */
export const prepareApart = (
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  target: PreparationTarget
): Effect.Effect<PreparedApart> =>
  Effect.async((resume) => {
    const { port, worker } = startPreparation([bytes], target)
    port.on("message", (message: PreparationMessage) => {
      if (message._tag === "progress") {
        showProgress(`${name}: ${message.seen.toLocaleString("en")} of ${message.of.toLocaleString("en")} functions`)
        return
      }
      const { patched, refused, summary } = message
      resume(Effect.succeed({ summary: JSON.parse(summary) as PreparationSummary, patched, refused }))
    })
    worker.on("error", (error: Error) => {
      port.close()
      resume(Effect.succeed(failedApart(target, error)))
    })
    return Effect.promise(() => worker.terminate())
  })
