/**
 * Modules that wait to be prepared for the next start, and the thread that does it.
 *
 * @since 0.1.0
 */
import { MessageChannel, Worker } from "node:worker_threads"
import type { PreparationData } from "./preparation-worker.ts"
import { moduleUrl } from "./require.ts"

/** Bytes of modules that may wait; beyond that the next start has another try. */
const maximumBytes = 128 * 1024 * 1024

/** Megabytes of the thread's heap. A module that needs more is given up, not the process. */
const heapMegabytes = 2048

/**
 * What the thread needs to know.
 *
 * @category models
 * @since 0.1.0
 */
export interface QueueOptions {
  readonly directory: string
  readonly build: string
  readonly rung: string
}

/**
 * A queue with one thread, started when there is something to do and ended when there is nothing. It never keeps the
 * process alive.
 *
 * @category models
 * @since 0.1.0
 */
export class PreparationQueue {
  readonly #options: QueueOptions
  #waiting: Array<Uint8Array<ArrayBuffer>> = []
  #bytes = 0
  #worker: Worker | undefined

  constructor(options: QueueOptions) {
    this.#options = options
  }

  /** Takes a copy of a module's bytes; false where there is no room. */
  add(bytes: Uint8Array): boolean {
    if (this.#bytes + bytes.length > maximumBytes) return false
    this.#bytes += bytes.length
    this.#waiting.push(new Uint8Array(bytes))
    if (this.#worker === undefined) this.#start()
    return true
  }

  #start(): void {
    const { port1, port2 } = new MessageChannel()
    const data: PreparationData = { port: port2, ...this.#options }
    for (const bytes of this.#waiting.splice(0)) port1.postMessage(bytes, [bytes.buffer])
    port1.unref()
    const worker = new Worker(moduleUrl("./preparation-worker"), {
      name: "folio-preparation",
      workerData: data,
      transferList: [port2],
      // Nothing is preloaded into it, and its output is not connected to the program's.
      argv: [],
      execArgv: [],
      env: {},
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytes }
    })
    const ended = (): void => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#bytes = this.#waiting.reduce((sum, { length }) => sum + length, 0)
      if (this.#waiting.length > 0) this.#start()
    }
    // Without a listener an error of the thread would be one of the program.
    worker.on("error", ended)
    worker.on("exit", ended)
    worker.unref()
    this.#worker = worker
  }
}
