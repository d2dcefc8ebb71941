import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as MemoryContexts from "../../layers/memory/MemoryContexts.ts"
import * as NodeContexts from "../../layers/node/NodeContexts.ts"
import * as sums from "../fixtures/tasks/sums.ts"
import { counter, suite } from "./contexts.ts"

const program = new URL("../fixtures/tasks/sums.ts", import.meta.url)

for (const reset of ["auto", "checkpoint", "whole"] as const) {
  suite(
    `threads, ${reset}`,
    Layer.unwrapEffect(
      Effect.map(Effect.promise(counter), (module) => NodeContexts.layer({ module, program, reset, size: 2 }))
    )
  )
}

suite(
  "one thread",
  Layer.unwrapEffect(
    Effect.map(Effect.promise(counter), (module) => MemoryContexts.layer({ module, program: sums, size: 2 }))
  )
)
