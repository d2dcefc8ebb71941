// What a worker sees of a module that was posted to it, and of one that it compiles itself.
import { parentPort, workerData } from "node:worker_threads"
import { ofInstance, ofModule } from "./describe.mjs"

const { bytes, module } = workerData
const own = new WebAssembly.Module(bytes)
parentPort.postMessage(JSON.parse(JSON.stringify({
  module: ofModule(module),
  instance: ofInstance(new WebAssembly.Instance(module)),
  together: ofInstance(await WebAssembly.instantiate(module)),
  own: [ofModule(own), ofInstance(new WebAssembly.Instance(own))],
  constructor: WebAssembly.Module.prototype.constructor === WebAssembly.Module
})))
