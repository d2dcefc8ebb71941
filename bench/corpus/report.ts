/**
 * What the runner needs of the report that a Folio arm writes on exit (`FOLIO_REPORT`).
 */
import { existsSync, readFileSync } from "node:fs"
import type { EngineReport } from "../../layers/node/engine.ts"
import type { PreparationSummary } from "../../layers/node/preparation.ts"
import type { DropInReport } from "../../layers/node/report.ts"
import type { DispatchRecord } from "../../src/lane/dispatcher.ts"

/**
 * A report in the terms of the corpus: sums over all modules of the process. `present` is false when there was none,
 * as for a hook that is no Folio.
 *
 * @category models
 * @since 0.1.0
 */
export interface FolioReport {
  readonly present: boolean
  /** Loop executions handed to lanes. */
  readonly dispatches: number
  readonly planned: number
  readonly refused: number
  /** Refused loops by the code of their first reason. */
  readonly reasons: Readonly<Record<string, number>>
  /** Milliseconds of analysis and emission; undefined where everything came out of the cache. */
  readonly prepareMs?: number
  readonly rung?: string
  /** Why nothing ran on lanes. */
  readonly serial?: string
  /** The newest dispatches. */
  readonly timeline: ReadonlyArray<DispatchRecord>
}

const absent: FolioReport = { present: false, dispatches: 0, planned: 0, refused: 0, reasons: {}, timeline: [] }

const addReasons = (modules: ReadonlyArray<{ readonly summary: PreparationSummary | undefined }>) => {
  const reasons: Record<string, number> = {}
  for (const { summary } of modules) {
    for (const [code, count] of Object.entries(summary?.reasons ?? {})) reasons[code] = (reasons[code] ?? 0) + count
  }
  return reasons
}

/**
 * Reads the report in `file`.
 *
 * @category reading
 * @since 0.1.0
 */
export const readReport = (file: string): FolioReport => {
  if (!existsSync(file)) return absent
  const { facts, serial } = JSON.parse(readFileSync(file, "utf8")) as DropInReport
  const modules = facts?.modules ?? []
  const engine = facts?.engine as EngineReport | undefined
  const sum = (value: (summary: PreparationSummary) => number, of = modules): number =>
    of.reduce((total, { summary }) => total + (summary === undefined ? 0 : value(summary)), 0)
  const prepared = modules.filter(({ cacheHit }) => !cacheHit)
  return {
    present: true,
    dispatches: engine?.dispatches ?? 0,
    planned: sum(({ planned }) => planned),
    refused: sum(({ refused }) => refused),
    reasons: addReasons(modules),
    ...(prepared.length === 0 ? {} : { prepareMs: sum(({ milliseconds }) => milliseconds, prepared) }),
    ...(facts === undefined ? {} : { rung: facts.rung }),
    ...(serial === undefined ? {} : { serial }),
    timeline: engine?.timeline ?? []
  }
}
