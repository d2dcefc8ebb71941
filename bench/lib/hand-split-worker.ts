/**
 * The second thread of a kernel that is split by hand: waits for a command, runs the kernel, says so.
 */
import { readlinkSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { type SplitData, SplitWord } from "./hand-split.ts"

const { control, entry, memory, module } = workerData as SplitData
const words = new Int32Array(control)
const kernel = new WebAssembly.Instance(module, { env: { memory } }).exports[entry] as (
  ...args: ReadonlyArray<number>
) => void

if (process.platform === "linux") {
  Atomics.store(words, SplitWord.thread, Number(readlinkSync("/proc/thread-self").split("/").at(-1)))
}
parentPort!.postMessage("ready")

for (let seen = 0;;) {
  Atomics.wait(words, SplitWord.command, seen)
  seen = Atomics.load(words, SplitWord.command)
  kernel(...words.subarray(SplitWord.arguments, SplitWord.arguments + kernel.length))
  Atomics.store(words, SplitWord.done, seen)
}
