/**
 * Starts the thread that prepares modules.
 *
 * @since 0.1.0
 */
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads"
import type { PreparationData, PreparationTarget } from "./preparation-worker.ts"
import { moduleUrl } from "./require.ts"

/** The heap's limit is so much above the budget: the analysis looks at what it holds only between two loops. */
const slack = 4 / 3

/**
 * A thread with the modules that it was given. Each gets an answer at the port, in order.
 *
 * @category models
 * @since 0.1.0
 */
export interface PreparationThread {
  readonly worker: Worker
  readonly port: MessagePort
}

/**
 * Starts a thread for modules, whose bytes it takes. A module that needs far more memory than the budget ends the
 * thread (`ERR_WORKER_OUT_OF_MEMORY`), not the process.
 *
 * @category constructors
 * @since 0.1.0
 */
export const startPreparation = (
  modules: ReadonlyArray<Uint8Array<ArrayBuffer>>,
  target: PreparationTarget
): PreparationThread => {
  const { port1, port2 } = new MessageChannel()
  const data: PreparationData = { ...target, port: port2 }
  for (const bytes of modules) port1.postMessage(bytes, [bytes.buffer])
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
    resourceLimits: { maxOldGenerationSizeMb: Math.ceil(target.budget.budgetBytes / 1024 ** 2 * slack) }
  })
  return { worker, port: port1 }
}
