/**
 * An owner in a worker thread: takes credits, or starts lanes, tells how many it got, and stays.
 */
import { parentPort, workerData } from "node:worker_threads"
import { acquireCredits } from "../../../layers/node/credits.ts"

parentPort!.postMessage(acquireCredits(workerData.asked, workerData.limit).lanes)
parentPort!.on("message", () => {})
