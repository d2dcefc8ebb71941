/**
 * Lines of the demo: colours where the terminal has them, bars, wrapped text. Everything fits 80 columns.
 *
 * @since 0.1.0
 */
import { styleText } from "node:util"

/**
 * Columns that every line keeps to.
 *
 * @category constants
 * @since 0.1.0
 */
export const WIDTH = 80

/** Columns of the labels at the left, their margin included. */
const LABEL = 14

/**
 * Text in a colour or a face, where standard output is a terminal and `NO_COLOR` does not speak against it.
 *
 * @category formatting
 * @since 0.1.0
 */
export const paint = (format: Parameters<typeof styleText>[0], text: string): string =>
  styleText(format, text, { stream: process.stdout })

/** Breaks a text into lines of at most `width` columns, between words. */
const wrap = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = [""]
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!
    if (line === "") lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

/**
 * A label and what is said about it, over as many lines as it takes.
 *
 * @category formatting
 * @since 0.1.0
 */
export const labelled = (label: string, text: string): string =>
  wrap(text, WIDTH - LABEL - 2)
    .map((line, index) => `  ${paint("dim", (index === 0 ? label : "").padEnd(LABEL))}${line}`)
    .join("\n")

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

/**
 * A bar whose length is `share` (0 to 1) of `columns`, to an eighth of a column.
 *
 * @category formatting
 * @since 0.1.0
 */
export const bar = (share: number, columns: number): string => {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * columns * 8)
  return "█".repeat(filled >> 3) + eighths[filled & 7]!
}

/**
 * A duration with its bar, `share` being its part of the longest one.
 *
 * @category formatting
 * @since 0.1.0
 */
export const duration = (label: string, milliseconds: number, share: number, colour: "cyan" | "green"): string =>
  `  ${paint("dim", label.padEnd(LABEL))}${`${milliseconds.toFixed(1)} ms`.padStart(9)}  ${
    paint(colour, bar(share, WIDTH - LABEL - 13))
  }`
