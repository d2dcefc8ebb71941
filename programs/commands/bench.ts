/**
 * `folio bench`: what private state costs on this machine, for a module of the caller's own where that says more. A
 * subcommand is a file of its own; it measures with code of `programs/measure` and prints a table, or its samples as JSON.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import { bake } from "./bench-bake.ts"
import { coldStart } from "./bench-cold-start.ts"
import { reset } from "./bench-reset.ts"
import { tasks } from "./bench-tasks.ts"
import { help } from "./help.ts"

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const bench = Command.make("bench").pipe(
  Command.withDescription(help(
    "Measure on this machine what private state costs: resets, tasks, images, tenants.",
    [
      ["folio bench reset", "putting an instance back"],
      ["folio bench bake tool.wasm --init boot", "what an image would save"],
      ["folio bench cold-start tool.wasm --init boot --run handle", "many tenants on few contexts"]
    ],
    "Figures of a busy machine are those of a busy machine: the median of several rounds is shown."
  )),
  Command.withSubcommands([reset, tasks, bake, coldStart])
)
