/**
 * Calls of some nanoseconds in a process of its own: the same export of two native instances and of a session, in turns.
 * Prints nanoseconds a call as JSON.
 *
 *     node bench/lib/tiny-child.ts ROUNDS
 */
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeFolio from "../../layers/node/NodeFolio.ts"
import { Folio } from "../../services/Folio.ts"
import { root } from "./sources.ts"
import { TINY_CALLS, type TinyTimes } from "./tiny-calls.ts"

type Export = (...args: ReadonlyArray<number>) => unknown

/** Calls between two looks at the clock. */
const CALLS = 100_000

const rounds = Number(process.argv[2])
const bytes = new Uint8Array(readFileSync(join(root, "bench/fixtures/kernels/loops-o2.wasm")))

/** A loop of its own for each export, so that each call site sees one function. */
const timerOf = (call: Export, args: ReadonlyArray<number>): () => number => {
  const body = `const start = performance.now()
    for (let k = 0; k < ${CALLS}; k++) call(${args.join(", ")})
    return (performance.now() - start) * 1e6 / ${CALLS}`
  // oxlint-disable-next-line typescript/no-implied-eval
  return (new Function("call", `return () => { ${body} }`) as (call: Export) => () => number)(call)
}

const measure = (exports: ReadonlyArray<WebAssembly.Exports>): Record<string, TinyTimes> =>
  Object.fromEntries(TINY_CALLS.map(({ args, name }) => {
    const base = (exports[0]["__heap_base"] as WebAssembly.Global).value as number
    const placed = args(base)
    const [nativeA, nativeB, folio] = exports.map((one) => timerOf(one[name] as Export, placed))
    const timers = { nativeA, nativeB, folio }
    const times = { nativeA: [] as Array<number>, nativeB: [] as Array<number>, folio: [] as Array<number> }
    const names = ["nativeA", "nativeB", "folio"] as const
    for (let round = -3; round < rounds; round++) {
      for (let turn = 0; turn < names.length; turn++) {
        const arm = names[(round + 3 + turn) % names.length]
        const ns = timers[arm]()
        if (round >= 0) times[arm].push(ns)
      }
    }
    return [name, times]
  }))

const native = (): WebAssembly.Exports => new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports

const program = Effect.gen(function*() {
  const session = yield* Folio.open(bytes, { name: "loops-o2" })
  yield* session.awaitLanes
  return measure([native(), native(), session.exports])
})

const times = await program.pipe(Effect.scoped, Effect.provide(NodeFolio.layer({ workers: 2 })), Effect.runPromise)
console.log(JSON.stringify(times))
