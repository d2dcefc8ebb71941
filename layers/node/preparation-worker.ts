/**
 * The thread that prepares modules for the cache while others go on. It gives way to every other thread.
 *
 * @since 0.1.0
 */
import * as Os from "node:os"
import { type MessagePort, receiveMessageOnPort, workerData } from "node:worker_threads"
import type { LoopShares } from "../../src/plan/order.ts"
import { prepare } from "../../src/plan/prepare.ts"
import { PatchCache } from "./cache.ts"
import { entryFacts } from "./entry.ts"
import { nativeEntry, prepareModule } from "./preparation.ts"
import type { PreparationBudget } from "./settings.ts"

/**
 * Whom modules are prepared for, and how.
 *
 * @category models
 * @since 0.1.0
 */
export interface PreparationTarget {
  /** Of the cache. */
  readonly directory: string
  readonly build: string
  readonly rung: string
  readonly budget: PreparationBudget
  /** Where a run spent its instructions. */
  readonly profile?: LoopShares | undefined
  /** Milliseconds between two messages about how far a module is; `undefined`: none. */
  readonly progressMs: number | undefined
}

/**
 * What the thread is started with. Modules come through the port, one message each; when there is none left it ends.
 *
 * @category models
 * @since 0.1.0
 */
export interface PreparationData extends PreparationTarget {
  readonly port: MessagePort
}

/**
 * What the thread says of a module.
 *
 * @category models
 * @since 0.1.0
 */
export type PreparationMessage =
  | { readonly _tag: "progress"; readonly seen: number; readonly of: number }
  | {
    readonly _tag: "done"
    /** What was found, a `PreparationSummary` as JSON. */
    readonly summary: string
    readonly patched: boolean
    /** Why the cache did not take it; `undefined`: it did. */
    readonly refused: string | undefined
  }

const { budget, build, directory, port, profile, progressMs, rung } = workerData as PreparationData
const cache = new PatchCache(directory, { build, rung })
const say = (message: PreparationMessage): void => port.postMessage(message)

try {
  // On Linux the priority is that of the calling thread. Not the lowest: on a busy machine that would never end.
  if (process.platform === "linux") Os.setPriority(Os.constants.priority.PRIORITY_BELOW_NORMAL)
} catch {
  // Not allowed here: it then runs as any other thread.
}

let told = performance.now()
const progress = (seen: number, of: number): void => {
  if (progressMs === undefined || performance.now() - told < progressMs) return
  told = performance.now()
  say({ _tag: "progress", seen, of })
}

for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
  const bytes = next.message as Uint8Array
  let entry
  try {
    const guided = profile === undefined ? {} : { profile }
    entry = prepareModule(bytes, { ...budget, ...guided, build, prepare, progress }).entry
  } catch (error) {
    // Kept as well, so that the next start does not try again.
    entry = nativeEntry(bytes, `its preparation failed: ${error instanceof Error ? error.message : String(error)}`)
  }
  const { patched, summary } = entryFacts(entry)
  const stored = cache.store(bytes, entry)
  say({
    _tag: "done",
    summary,
    patched: patched !== undefined,
    refused: stored ? undefined : cache.reason
  })
}
port.close()
