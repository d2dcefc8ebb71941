import * as MemoryTasks from "../../layers/memory/MemoryTasks.ts"
import * as NodeTasks from "../../layers/node/NodeTasks.ts"
import * as sums from "../fixtures/tasks/sums.ts"
import { auditSuite, suite } from "./tasks.ts"

const program = new URL("../fixtures/tasks/sums.ts", import.meta.url)

suite("threads", NodeTasks.layer({ program, lanes: 2, audit: 1, queue: 8 }))
suite("one lane", NodeTasks.layer({ program, lanes: 1, audit: 1, queue: 8 }))
const script = new URL("../fixtures/tasks/worker.ts", import.meta.url)
suite("a script of the caller's own", NodeTasks.layer({ script, lanes: 2, queue: 8 }))
suite("the caller's thread", MemoryTasks.layer({ program: sums }))
auditSuite("threads", NodeTasks.layer({ program, lanes: 2, audit: 1 }))
