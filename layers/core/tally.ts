/**
 * The counts of an attached instance in the words of the services.
 *
 * @since 0.1.0
 */
import type { Tally } from "../../services/Scheduling.ts"
import type { AttachmentReport } from "../../src/lane/counts.ts"

/** What the dispatcher's reasons mean. */
const WORDS: Readonly<Record<string, string>> = {
  compile: "the code of a loop could not be compiled",
  cold: "its loops were too short to wake lanes that slept",
  evidence: "its loops had not yet done enough work to prepare lanes for them",
  load: "a lane refused the code of a loop",
  memory: "its loops had not yet done enough work to bring the memory to the lanes",
  "no-lanes": "there is no lane",
  small: "its loops were too short to be worth handing out",
  snapshot: "a loop that may trap writes more bytes than are kept to undo it",
  stack: "the stack was nearly full",
  starting: "the lanes were still starting",
  windows: "a loop needs memory of its own in each lane, which this kind of memory does not allow",
  suspended: "its loops gained nothing before and rest for a while"
}

/**
 * The tally of an instance.
 *
 * @param unconnected why it has no part in the lanes, where it has none
 * @category conversions
 * @since 0.1.0
 */
export const tallyOf = (report: AttachmentReport, unconnected: string | undefined): Tally => ({
  dispatches: report.dispatches,
  aborts: report.aborts,
  lanesUsed: report.lanesUsed,
  rung: report.rung,
  unconnected,
  unmapped: report.unmapped,
  declined: report.reason === undefined ? undefined : WORDS[report.reason] ?? report.reason
})

/**
 * The tally of an instance without plans.
 *
 * @category constants
 * @since 0.1.0
 */
export const emptyTally: Tally = {
  dispatches: 0,
  aborts: 0,
  lanesUsed: 0,
  rung: undefined,
  unconnected: undefined,
  unmapped: undefined,
  declined: undefined
}

/**
 * Why an instance with plans has run natively.
 *
 * @category formatting
 * @since 0.1.0
 */
export const whyNative = ({ declined, unconnected, unmapped }: Tally): string =>
  unconnected ?? unmapped ?? declined ?? "no loop with a plan was executed"
