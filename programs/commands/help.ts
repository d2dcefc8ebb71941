/**
 * Descriptions of commands, with examples.
 *
 * @since 0.1.0
 */
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Span from "@effect/cli/HelpDoc/Span"

/**
 * What a command does, how it is called, and what else is to know.
 *
 * @category formatting
 * @since 0.1.0
 */
export const help = (
  what: string,
  examples: ReadonlyArray<readonly [command: string, effect: string]>,
  more: string
): HelpDoc.HelpDoc =>
  HelpDoc.blocks([
    HelpDoc.p(what),
    HelpDoc.p("Examples:"),
    ...examples.map(([command, effect]) => HelpDoc.p(Span.text(`  ${command}    # ${effect}`))),
    HelpDoc.p(more)
  ])
