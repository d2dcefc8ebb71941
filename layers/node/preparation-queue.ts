/**
 * Modules that wait to be prepared for the next start, and the thread that does it.
 *
 * @since 0.1.0
 */
import { type MessagePort, receiveMessageOnPort, type Worker } from "node:worker_threads"
import { startPreparation } from "./preparation-thread.ts"
import type { PreparationMessage, PreparationTarget } from "./preparation-worker.ts"

/** Bytes of modules that may wait; beyond that the next start has another try. */
const maximumBytes = 128 * 1024 * 1024

/**
 * A queue with one thread, started when there is something to do and ended when there is nothing. It never keeps the
 * process alive.
 *
 * @category models
 * @since 0.1.0
 */
export class PreparationQueue {
  readonly #target: PreparationTarget
  #waiting: Array<Uint8Array<ArrayBuffer>> = []
  #bytes = 0
  #worker: Worker | undefined
  #port: MessagePort | undefined
  #refused: string | undefined

  constructor(target: PreparationTarget) {
    this.#target = target
  }

  /** What the cache refused last; `undefined`: nothing. */
  get refused(): string | undefined {
    this.#listen()
    return this.#refused
  }

  /** Takes a copy of a module's bytes; false where there is no room. */
  add(bytes: Uint8Array): boolean {
    if (this.#bytes + bytes.length > maximumBytes) return false
    this.#bytes += bytes.length
    this.#waiting.push(new Uint8Array(bytes))
    if (this.#worker === undefined) this.#start()
    return true
  }

  /** Reads what the thread has said. Only asked for it, since nobody waits: a listener would keep the process alive. */
  #listen(): void {
    if (this.#port === undefined) return
    for (let next = receiveMessageOnPort(this.#port); next !== undefined; next = receiveMessageOnPort(this.#port)) {
      const message = next.message as PreparationMessage
      if (message._tag === "done") this.#refused = message.refused ?? this.#refused
    }
  }

  #start(): void {
    const { port, worker } = startPreparation(this.#waiting.splice(0), this.#target)
    const ended = (): void => {
      if (this.#worker !== worker) return
      this.#listen()
      this.#worker = undefined
      this.#bytes = this.#waiting.reduce((sum, { length }) => sum + length, 0)
      if (this.#waiting.length > 0) this.#start()
    }
    // Without a listener an error of the thread would be one of the program.
    worker.on("error", ended)
    worker.on("exit", ended)
    worker.unref()
    this.#worker = worker
    this.#port = port
  }
}
