/**
 * Columns of text.
 *
 * @since 0.1.0
 */
import { styleText } from "node:util"

/**
 * A cell. Colours are left out where stdout is no terminal or `NO_COLOR` is set.
 *
 * @category models
 * @since 0.1.0
 */
export interface Cell {
  readonly text: string
  readonly align?: "left" | "right"
  readonly colour?: "green" | "yellow" | "red"
}

/**
 * @category models
 * @since 0.1.0
 */
export type Row = ReadonlyArray<Cell>

const paint = ({ colour }: Cell, text: string): string =>
  colour === undefined ? text : styleText(colour, text, { stream: process.stdout })

/**
 * Lays out rows in columns as wide as their widest cell; the last column runs free.
 *
 * @category formatting
 * @since 0.1.0
 */
export const table = (rows: ReadonlyArray<Row>): string => {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from(
    { length: columns },
    (_, column) => Math.max(...rows.map((row) => row[column]?.text.length ?? 0))
  )
  return rows.map((row) =>
    row.map((cell, column) => {
      const last = column === row.length - 1
      const width = last ? 0 : widths[column]
      return paint(cell, cell.align === "right" ? cell.text.padStart(widths[column]) : cell.text.padEnd(width))
    }).join("  ").trimEnd()
  ).join("\n")
}
