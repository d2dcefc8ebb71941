/**
 * Contexts: a private instance that keeps its state while one user holds it, and is put back for the next one.
 *
 *     npm run node26 -- programs/examples/contexts.ts
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import * as NodeContexts from "../../layers/node/NodeContexts.ts"
import { Contexts } from "../../services/Contexts.ts"
import type { Guest } from "../../src/tasks/context.ts"

const module = readFileSync(new URL("../../bench/fixtures/kernels/compute.wasm", import.meta.url))

/**
 * What contexts run; this file is their program too.
 *
 * @category examples
 * @since 0.1.0
 */
export const tasks = {
  mix: (_: unknown, { exports }: Guest): void => {
    const compute = exports["compute"] as (at: number, count: number, mixes: number) => void
    compute(65_536, 1_000, 3)
  },
  put: (word: number, { write }: Guest): void => write(65_536, new Uint8Array(new Uint32Array([word]).buffer)),
  first: (_: unknown, { read }: Guest): number => new Uint32Array(read(65_536, 4).buffer)[0]
}

/**
 * One user's work: puts a word, mixes it in place as often as told, and looks at it.
 *
 * @category examples
 * @since 0.1.0
 */
export const work = (word: number, times: number) =>
  Effect.gen(function*() {
    const context = yield* (yield* Contexts).acquire
    const before = yield* context.run("first", undefined)
    yield* context.run("put", word)
    for (let time = 0; time < times; time++) yield* context.run("mix", undefined)
    return { before, after: yield* context.run("first", undefined) }
  }).pipe(Effect.scoped)

/**
 * The layer that the example runs with.
 *
 * @category examples
 * @since 0.1.0
 */
export const layer = NodeContexts.layer({ program: import.meta.url, module, size: 2 })

if (import.meta.main) {
  await Effect.forEach([1, 2, 3, 4], (word) => work(word, 2), { concurrency: 4 }).pipe(
    Effect.tap((ends) => Console.log(ends)),
    Effect.provide(layer),
    Effect.runPromise
  )
}
