import * as MemoryBaking from "../../layers/memory/MemoryBaking.ts"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import { suite } from "./baking.ts"

suite("on Node.js", NodeBaking.layer)
suite("on any host", MemoryBaking.layer)
