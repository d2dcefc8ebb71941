import * as MemoryFolio from "../../layers/memory/MemoryFolio.ts"
import * as NodeFolio from "../../layers/node/NodeFolio.ts"
import { suite } from "./session.ts"

suite("threads", NodeFolio.layer({ workers: 2, minimumWorkNs: 0 }))
suite("more threads than cores", NodeFolio.layer({ workers: 5, oversubscribe: true, minimumWorkNs: 0 }))
suite("one thread, forward", MemoryFolio.layer({ order: "forward" }))
suite("one thread, backward", MemoryFolio.layer({ order: "reverse", width: 7 }))
suite("one thread, shuffled", MemoryFolio.layer({ order: 20_260_101, width: 3 }))
