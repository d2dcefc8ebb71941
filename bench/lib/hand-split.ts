/**
 * What two threads reach at most: the same kernel over one shared memory, cut in two by hand, with nothing of Folio in
 * between. The second thread is bound to a CPU that is not the owner's, as a careful program would do it.
 */
import { Worker } from "node:worker_threads"
import { allowedCpus } from "../../layers/node/cpu.ts"
import { probeNative } from "../../layers/node/ffi.ts"
import { compileOptimised } from "./optimised.ts"

/**
 * Words of the control array that owner and second thread share; {@link ARGUMENTS} follow behind.
 *
 * @category models
 * @since 0.1.0
 */
export const SplitWord = { command: 0, done: 1, thread: 2, entry: 3, result: 4 } as const

/** Byte of the arguments, an `f64` each. @category constants @since 0.1.0 */
export const ARGUMENTS = 32

/** Arguments of a kernel at most. */
const MOST_ARGUMENTS = 12

/** An exported kernel. @category models @since 0.1.0 */
export type SplitKernel = (...args: ReadonlyArray<number>) => number | undefined

/**
 * What the second thread is started with.
 *
 * @category models
 * @since 0.1.0
 */
export interface SplitData {
  readonly module: WebAssembly.Module
  readonly memory: WebAssembly.Memory
  readonly control: SharedArrayBuffer
}

/**
 * Kernels of one module on two threads.
 *
 * @category models
 * @since 0.1.0
 */
export class HandSplit {
  readonly memory: WebAssembly.Memory
  readonly #worker: Worker
  readonly #words: Int32Array
  readonly #values: Float64Array
  readonly #names: ReadonlyArray<string>
  readonly #kernels: ReadonlyArray<SplitKernel>

  private constructor(bytes: Uint8Array<ArrayBuffer>, pages: number) {
    const module = compileOptimised(bytes)
    const control = new SharedArrayBuffer(ARGUMENTS + 8 * MOST_ARGUMENTS)
    this.memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
    this.#words = new Int32Array(control, 0, ARGUMENTS / 4)
    this.#values = new Float64Array(control, ARGUMENTS)
    const { exports } = new WebAssembly.Instance(module, { env: { memory: this.memory } })
    this.#names = Object.keys(exports)
    this.#kernels = Object.values(exports) as unknown as Array<SplitKernel>
    this.#worker = new Worker(new URL("./hand-split-worker.ts", import.meta.url), {
      workerData: { module, memory: this.memory, control } satisfies SplitData
    })
  }

  /** Starts the second thread and places it. */
  static async start(bytes: Uint8Array<ArrayBuffer>, pages: number): Promise<HandSplit> {
    const split = new HandSplit(bytes, pages)
    await new Promise<void>((resolve, reject) => split.#worker.once("message", resolve).once("error", reject))
    const calls = probeNative()
    if (typeof calls === "string") return split
    const other = allowedCpus()?.find((cpu) => cpu !== calls.currentCpu())
    if (other !== undefined) calls.setAffinity(Atomics.load(split.#words, SplitWord.thread), [other])
    return split
  }

  /**
   * A function that runs a kernel with `theirs` on the second thread and with `own` here, and returns both results, the
   * own one first, when both have ended.
   */
  kernel(
    entry: string
  ): (theirs: ReadonlyArray<number>, own: ReadonlyArray<number>) => readonly [own: number, theirs: number] {
    const index = this.#names.indexOf(entry)
    const kernel = this.#kernels[index]
    const words = this.#words
    const values = this.#values
    return (theirs, own) => {
      for (let at = 0; at < theirs.length; at++) values[at] = theirs[at]
      words[SplitWord.entry] = index
      const command = Atomics.add(words, SplitWord.command, 1) + 1
      Atomics.notify(words, SplitWord.command)
      const result = kernel(...own)
      while (Atomics.load(words, SplitWord.done) !== command);
      return [result ?? 0, words[SplitWord.result]]
    }
  }

  /** Ends the second thread. */
  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}
