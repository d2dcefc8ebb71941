/**
 * The second thread of a kernel that is split by hand: waits for a command, runs the kernel, says so.
 */
import { readlinkSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { ARGUMENTS, type SplitData, type SplitKernel, SplitWord } from "./hand-split.ts"

const { control, memory, module } = workerData as SplitData
const words = new Int32Array(control)
const values = new Float64Array(control, ARGUMENTS)
const kernels = Object.values(new WebAssembly.Instance(module, { env: { memory } }).exports) as Array<SplitKernel>

/** Polls before it sleeps: about as long as a lane polls. */
const POLLS = 10_000

if (process.platform === "linux") {
  Atomics.store(words, SplitWord.thread, Number(readlinkSync("/proc/thread-self").split("/").at(-1)))
}
parentPort!.postMessage("ready")

for (let seen = 0;;) {
  for (let poll = 0; poll < POLLS && Atomics.load(words, SplitWord.command) === seen; poll++);
  Atomics.wait(words, SplitWord.command, seen)
  seen = Atomics.load(words, SplitWord.command)
  const kernel = kernels[words[SplitWord.entry]]
  words[SplitWord.result] = kernel(...values.subarray(0, kernel.length)) ?? 0
  Atomics.store(words, SplitWord.done, seen)
}
