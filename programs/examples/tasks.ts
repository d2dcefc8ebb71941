/**
 * Tasks: a module that needs its state for itself works on several inputs at once, each from the same first state.
 *
 *     npm run node26 -- programs/examples/tasks.ts
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import * as NodeTasks from "../../layers/node/NodeTasks.ts"
import { Tasks } from "../../services/Tasks.ts"
import type { Guest } from "../../src/tasks/context.ts"

const module = readFileSync(new URL("../../bench/fixtures/kernels/compute.wasm", import.meta.url))

/**
 * What lanes run; this file is their program too.
 *
 * @category examples
 * @since 0.1.0
 */
export const tasks = {
  mix: (words: Uint32Array<ArrayBuffer>, { exports, read, write }: Guest): Uint8Array => {
    const compute = exports["compute"] as (at: number, count: number, mixes: number) => void
    write(65_536, new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
    compute(65_536, words.length, 100)
    return read(65_536, words.byteLength)
  }
}

/**
 * Mixes each input in a context of its own.
 *
 * @category examples
 * @since 0.1.0
 */
export const mixAll = (inputs: ReadonlyArray<Uint32Array>) => Effect.flatMap(Tasks, ({ map }) => map("mix", inputs))

/**
 * The layer that the example runs with.
 *
 * @category examples
 * @since 0.1.0
 */
export const layer = NodeTasks.layer({ program: import.meta.url, module, lanes: 2, onLaneLost: "retry", audit: 8 })

if (import.meta.main) {
  const inputs = Array.from({ length: 16 }, (_, seed) => Uint32Array.from({ length: 1_000 }, (_, at) => at * 31 + seed))
  await mixAll(inputs).pipe(
    Effect.tap((mixed) => Console.log(`${mixed.length} inputs mixed`)),
    Effect.provide(layer),
    Effect.runPromise
  )
}
