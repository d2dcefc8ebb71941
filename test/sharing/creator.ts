/**
 * A worker thread that makes a memory, gives it away, and answers with the word at an index until it is ended.
 */
import { parentPort, workerData } from "node:worker_threads"
import { aliasMapping } from "../../layers/node/alias.ts"
import { nativeCalls } from "../faults/lanes-support.ts"

const memory = workerData === "alias"
  ? new WebAssembly.Memory({ initial: 2 })
  : new WebAssembly.Memory({ initial: 2, maximum: 4, shared: true })
const words = new Int32Array(memory.buffer)
for (let index = 0; index < words.length; index++) words[index] = index * index

if (workerData === "alias") {
  const mapping = aliasMapping(memory, nativeCalls())
  if (!mapping.ensure()) throw new Error(mapping.reason)
  parentPort!.postMessage(mapping.descriptor())
} else {
  parentPort!.postMessage(memory)
}
parentPort!.on("message", (index: number) => parentPort!.postMessage(new Int32Array(memory.buffer)[index]))
