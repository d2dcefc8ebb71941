/**
 * One call as a picture: a row a thread, time from left to right.
 *
 * ```text
 * owner   ▁▁▁████████████▁▁▁▁████████████▁▁
 * lane 1  ···████████████····███████████···
 * ```
 *
 * @since 0.1.0
 */
import type { DispatchRecord } from "../../src/lane/dispatcher.ts"
import { paint, WIDTH } from "./paint.ts"

/**
 * When a call began and ended.
 *
 * @category models
 * @since 0.1.0
 */
export interface Span {
  readonly startMs: number
  readonly endMs: number
}

const MARGIN = 2
const NAME = 9
const columns = WIDTH - MARGIN - NAME

/** How much of each column of time the intervals cover, 0 to 1. */
const coverage = (call: Span, intervals: ReadonlyArray<Span>): ReadonlyArray<number> => {
  const slice = (call.endMs - call.startMs) / columns
  return Array.from({ length: columns }, (_, column) => {
    const from = call.startMs + column * slice
    const covered = intervals.reduce(
      (total, { endMs, startMs }) => total + Math.max(0, Math.min(endMs, from + slice) - Math.max(startMs, from)),
      0
    )
    return covered / slice
  })
}

const row = (name: string, cells: ReadonlyArray<number>, idle: string, colour: "cyan" | "green"): string =>
  `${" ".repeat(MARGIN)}${paint("dim", name.padEnd(NAME))}${
    cells.map((share) => share >= 0.5 ? paint(colour, "█") : paint("dim", idle)).join("")
  }`

/**
 * The rows of a call: the owner's chunks on a line of serial work, and each lane's.
 *
 * @category drawing
 * @since 0.1.0
 */
export const timeline = (call: Span, dispatches: ReadonlyArray<DispatchRecord>): ReadonlyArray<string> => {
  const inside = dispatches.filter(({ aborted, end, start }) => !aborted && start >= call.startMs && end <= call.endMs)
  const lanes = inside.reduce((most, { participants }) => Math.max(most, participants), 1) - 1
  const span = (startMs: number, endMs: number): Span => ({ startMs, endMs })
  const own = inside.map(({ ownerEnd, start }) => span(start, ownerEnd))
  const laneOf = (lane: number) =>
    inside.filter(({ participants }) => participants > lane).map(({ end, start }) => span(start, end))
  const length = `${(call.endMs - call.startMs).toFixed(1)} ms`
  return [
    row("owner", coverage(call, own), "▁", "cyan"),
    ...Array.from(
      { length: lanes },
      (_, index) => row(`lane ${index + 1}`, coverage(call, laneOf(index + 1)), "·", "green")
    ),
    `${" ".repeat(MARGIN + NAME)}${paint("dim", `0${length.padStart(columns - 1)}`)}`
  ]
}
