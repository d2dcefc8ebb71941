/**
 * One of two threads that do the tasks of `task-kernels.ts` by hand: half of them each, on an instance that is never put
 * back, with nothing to be told between them.
 */
import { workerData } from "node:worker_threads"
import { begin, imports, type KernelInput, tasks } from "../fixtures/tasks/kernels.ts"
import { plainGuest } from "./task-kernels-guest.ts"

/**
 * What the thread is started with. Word 0 of `words` is the turn to do, word 1 counts threads that are done with it,
 * word 2 is the kernel of the turn, word 3 how many tasks.
 *
 * @category models
 * @since 0.1.0
 */
export interface HandData {
  readonly module: WebAssembly.Module
  readonly words: Int32Array<SharedArrayBuffer>
  readonly inputs: ReadonlyArray<ReadonlyArray<KernelInput>>
}

const { inputs, module, words } = workerData as HandData
const guest = plainGuest(module, imports())
begin(guest)
Atomics.add(words, 1, 1)
Atomics.notify(words, 1)
for (let turn = 0;;) {
  Atomics.wait(words, 0, turn)
  turn = Atomics.load(words, 0)
  const own = inputs[words[2]]
  for (let index = 0; index < words[3]; index++) tasks.call(own[index % own.length], guest)
  Atomics.add(words, 1, 1)
  Atomics.notify(words, 1)
}
