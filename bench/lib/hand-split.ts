/**
 * What two threads reach at most: the same kernel over one shared memory, cut in two by hand, with nothing of Folio in
 * between. The second thread is bound to a CPU that is not the owner's, as a careful program would do it.
 */
import { Worker } from "node:worker_threads"
import { allowedCpus } from "../../layers/node/cpu.ts"
import { probeNative } from "../../layers/node/ffi.ts"
import { compileOptimised } from "./optimised.ts"

/**
 * Words of the control array that owner and second thread share; arguments follow behind.
 *
 * @category models
 * @since 0.1.0
 */
export const SplitWord = { command: 0, done: 1, thread: 2, arguments: 4 } as const

/**
 * What the second thread is started with.
 *
 * @category models
 * @since 0.1.0
 */
export interface SplitData {
  readonly module: WebAssembly.Module
  readonly memory: WebAssembly.Memory
  readonly entry: string
  readonly control: SharedArrayBuffer
}

/**
 * A kernel on two threads.
 *
 * @category models
 * @since 0.1.0
 */
export class HandSplit {
  readonly memory: WebAssembly.Memory
  readonly #worker: Worker
  readonly #control: Int32Array
  readonly #entry: (...args: ReadonlyArray<number>) => void

  private constructor(bytes: Uint8Array<ArrayBuffer>, entry: string, pages: number) {
    const module = compileOptimised(bytes)
    const control = new SharedArrayBuffer(64)
    this.memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
    this.#control = new Int32Array(control)
    this.#entry = new WebAssembly.Instance(module, { env: { memory: this.memory } }).exports[entry] as never
    this.#worker = new Worker(new URL("./hand-split-worker.ts", import.meta.url), {
      workerData: { module, memory: this.memory, entry, control } satisfies SplitData
    })
  }

  /** Starts the second thread and places it. */
  static async start(bytes: Uint8Array<ArrayBuffer>, entry: string, pages: number): Promise<HandSplit> {
    const split = new HandSplit(bytes, entry, pages)
    await new Promise<void>((resolve, reject) => split.#worker.once("message", resolve).once("error", reject))
    const calls = probeNative()
    if (typeof calls === "string") return split
    const other = allowedCpus()?.find((cpu) => cpu !== calls.currentCpu())
    if (other !== undefined) calls.setAffinity(Atomics.load(split.#control, SplitWord.thread), [other])
    return split
  }

  /** Runs the kernel with `theirs` on the second thread and with `own` here; returns when both have ended. */
  run(theirs: ReadonlyArray<number>, own: ReadonlyArray<number>): void {
    const control = this.#control
    control.set(theirs, SplitWord.arguments)
    const command = Atomics.add(control, SplitWord.command, 1) + 1
    Atomics.notify(control, SplitWord.command)
    this.#entry(...own)
    while (Atomics.load(control, SplitWord.done) !== command);
  }

  /** Ends the second thread. */
  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}
