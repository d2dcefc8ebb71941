/**
 * An owner in a worker thread, in the middle of a dispatch that never ends.
 */
import { parentPort } from "node:worker_threads"
import { endless } from "../../bench/fixtures/lanes/chunks.ts"
import { aliasMapping } from "../../layers/node/alias.ts"
import { NodeLanes } from "../../layers/node/lanes.ts"
import { compileOptimised } from "../../layers/node/optimised.ts"
import { FRAME_BYTE } from "../../src/lane/control.ts"
import { nativeCalls } from "./lanes-support.ts"

const group = new NodeLanes({ lanes: 2, oversubscribe: true })
group.start()
group.waitUntilReady(10_000)
const mapping = aliasMapping(new WebAssembly.Memory({ initial: 1 }), nativeCalls())
if (!mapping.ensure() || !group.load({ slot: 0, module: compileOptimised(endless()) }, mapping)) {
  throw new Error(JSON.stringify(group.report()))
}
// Not here but in a task of its own: V8 14.6 aborts the process when a thread is ended inside the body of a module
// that has waited for another one (a top-level await), lanes or no lanes.
setImmediate(() => {
  group.fork(0, 0, 0, 1, FRAME_BYTE)
  parentPort!.postMessage(group.ready())
  group.join(0)
})
