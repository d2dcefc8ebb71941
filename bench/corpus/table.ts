/**
 * Verdicts as a table for people.
 */
import type { Verdict } from "./judge.ts"

interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => string
  readonly left?: true
}

const fixed = (digits: number) => (value: number | undefined): string =>
  value === undefined ? "–" : value.toFixed(digits)
const two = fixed(2)
const three = fixed(3)
const whole = fixed(0)

const columns: ReadonlyArray<Column<Verdict>> = [
  { title: "program", cell: ({ name }) => name, left: true },
  { title: "equal", cell: ({ equal }) => equal ? "yes" : "NO" },
  { title: "ratio", cell: ({ ratio }) => three(ratio) },
  { title: "A/A", cell: ({ aa }) => three(aa) },
  { title: "A/A 5%", cell: ({ aaLow }) => three(aaLow) },
  { title: "cpu", cell: ({ cpuRatio }) => three(cpuRatio) },
  { title: "call ms", cell: ({ callMs }) => two(callMs.native) },
  { title: "dispatches", cell: ({ dispatches }) => `${dispatches}` },
  { title: "loops", cell: ({ plan }) => plan === undefined ? "–" : `${plan.planned}/${plan.planned + plan.refused}` },
  { title: "rung", cell: ({ rung }) => rung },
  { title: "prepare", cell: ({ prepareMs }) => whole(prepareMs) },
  { title: "first call", cell: ({ firstCall }) => two(firstCall.native / firstCall.folio) },
  { title: "start +ms", cell: ({ startup }) => `${whole(startup.warm - startup.native)}${startup.within ? "" : "!"}` },
  { title: "", cell: ({ notes, passed }) => [passed ? "ok" : "FAILED", ...notes].join("; "), left: true }
]

/**
 * One line a verdict under a line of titles. `ratio` and `first call` are native/Folio, `cpu` Folio/native, `loops`
 * planned of all; an exclamation mark stands behind a start-up over its bound.
 *
 * @category formatting
 * @since 0.1.0
 */
export const table = (verdicts: ReadonlyArray<Verdict>): string => {
  const cells = [columns.map(({ title }) => title), ...verdicts.map((row) => columns.map(({ cell }) => cell(row)))]
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)))
  return cells
    .map((row) =>
      row
        .map((text, column) =>
          columns[column]!.left === true ? text.padEnd(widths[column]!) : text.padStart(widths[column]!)
        )
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}
