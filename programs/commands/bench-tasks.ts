/**
 * `folio bench tasks`: what a task costs beside its own work.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { availableParallelism } from "node:os"
import { median } from "../measure/statistics.ts"
import { measureTasks } from "../measure/tasks.ts"
import { count, json, numbers, shown, told } from "./bench-options.ts"
import { help } from "./help.ts"
import { CommandFailed, ExitCode, printJson } from "./outcome.ts"
import { during, showProgress } from "./progress.ts"
import { table } from "./table.ts"

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const tasks = Command.make(
  "tasks",
  {
    lanes: count("lanes", "threads; default: as many as the process may run at once", availableParallelism()),
    rounds: count("rounds", "rounds of 200 single tasks and 4,000 at once", 20),
    json
  },
  ({ json, lanes, rounds }) =>
    told(
      Effect.gen(function*() {
        const samples = yield* during(
          `tasks on ${lanes} lanes`,
          measureTasks(lanes, rounds, (round) => showProgress(`tasks on ${lanes} lanes: round ${round + 1}`))
        ).pipe(
          Effect.mapError((error) =>
            new CommandFailed({ exit: ExitCode.failed, tag: error._tag, message: error.message })
          )
        )
        const { perSecond, roundTripUs } = samples
        yield* json ? printJson({ lanes, ...samples }) : Console.log(table([
          [{ text: `${lanes} lanes` }, ...numbers("median", "best")],
          [
            { text: "one task, there and back, µs" },
            ...numbers(shown(median(roundTripUs)), shown(Math.min(...roundTripUs)))
          ],
          [{ text: "small tasks a second" }, ...numbers(shown(median(perSecond)), shown(Math.max(...perSecond)))]
        ]))
      }),
      json
    )
).pipe(Command.withDescription(help(
  "Measure what a task costs beside its own work: a round trip, and how many end in a second.",
  [["folio bench tasks --lanes 2", "two threads"]],
  "A task that takes less than its round trip is better called. Exit codes: 0 ok, 1 failed, 2 usage."
)))
