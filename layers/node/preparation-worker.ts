/**
 * The thread that fills the cache while the program runs natively. It gives way to every other thread, and nobody waits
 * for it.
 *
 * @since 0.1.0
 */
import * as Os from "node:os"
import { type MessagePort, receiveMessageOnPort, workerData } from "node:worker_threads"
import { prepare } from "../../src/plan/prepare.ts"
import { PatchCache } from "./cache.ts"
import { nativeEntry, prepareModule } from "./preparation.ts"

/**
 * What the thread is started with. Modules come through the port, one message each; when there is none left it ends.
 *
 * @category models
 * @since 0.1.0
 */
export interface PreparationData {
  readonly port: MessagePort
  readonly directory: string
  readonly build: string
  readonly rung: string
}

const { build, directory, port, rung } = workerData as PreparationData
const cache = new PatchCache(directory, { build, rung })

try {
  // On Linux the priority is that of the calling thread. Not the lowest: on a busy machine that would never end.
  if (process.platform === "linux") Os.setPriority(Os.constants.priority.PRIORITY_BELOW_NORMAL)
} catch {
  // Not allowed here: it then runs as any other thread.
}

for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
  const bytes = next.message as Uint8Array
  let entry
  try {
    entry = prepareModule(bytes, { build, prepare }).entry
  } catch (error) {
    // Kept as well, so that the next start does not try again.
    entry = nativeEntry(`its preparation failed: ${error instanceof Error ? error.message : String(error)}`)
  }
  cache.store(bytes, entry)
}
port.close()
