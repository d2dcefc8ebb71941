/**
 * Tasks in a host besides Node.js 26: what they gave is printed as one line of JSON.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as NodeTasks from "../../layers/node/NodeTasks.ts"
import type { TaskFailed } from "../../services/TaskErrors.ts"
import { type TaskOptions, Tasks } from "../../services/Tasks.ts"

/** What is seen of the tasks: the same in each host. */
const seen = Effect.gen(function*() {
  const tasks = yield* Tasks
  const run = (name: string, input: unknown, options?: TaskOptions) =>
    Effect.flatMap(tasks.submit(name, input, options), tasks.join)
  const failure = (name: string, input: unknown, options?: TaskOptions) =>
    Effect.map(Effect.flip(run(name, input, options)), (error) => {
      const { errorName, reason } = error as TaskFailed
      return `${reason} ${errorName}`
    })
  const inputs = Array.from({ length: 500 }, (_, input) => input)
  const many = (yield* tasks.map("next", inputs)).every((output, input) => output === input + 1)
  const values = yield* tasks.map("echo", [
    null,
    -1.5,
    "é",
    [1, { a: true }],
    new Map([[1, 2]]),
    new Uint8Array([3, 4])
  ])
  const handed = new Uint8Array(100_000).fill(1)
  const large = (yield* run("echo", handed, { transfer: [handed.buffer] })) as Uint8Array
  const stuck = yield* tasks.submit("forever", 0)
  const waiting = yield* Effect.fork(tasks.join(stuck))
  yield* Effect.sleep("50 millis")
  yield* Fiber.interrupt(waiting)
  return {
    many,
    values: values.map((value) => value instanceof Map ? [...value] : value instanceof Uint8Array ? [...value] : value),
    large: [large.length, handed.length],
    thrown: yield* failure("throws", "here"),
    unknown: yield* failure("nothing", 1),
    uncloneable: yield* failure("uncloneable", 1),
    late: yield* failure("forever", 0, { timeoutMs: 50 }),
    gone: yield* failure("exits", 3),
    blocked: tasks.unsafeJoin(tasks.unsafeSubmit("next", 1)),
    promised: yield* run("later", 4),
    // Each begins with the state that every task begins with.
    fresh: [yield* run("bump", 0), yield* run("bump", 0)],
    trap: yield* failure("trap", 0),
    behind: yield* run("next", 2)
  }
})

const module = Uint8Array.from(atob(process.argv[2]), (character) => character.charCodeAt(0))
const program = new URL("../fixtures/tasks/sums.ts", import.meta.url)
const result = await seen.pipe(Effect.provide(NodeTasks.layer({ program, module, lanes: 2 })), Effect.runPromise)
console.log(JSON.stringify(result))
