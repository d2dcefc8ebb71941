// Modules beyond the thread and the realm that compiled them, and classes derived from the engine's.
import { once } from "node:events"
import { createContext, runInContext } from "node:vm"
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads"
import { attempt, ofInstance, ofModule } from "./describe.mjs"

const inWorker = async (module, bytes) => {
  const worker = new Worker(new URL("worker.mjs", import.meta.url), { workerData: { module, bytes } })
  const ended = once(worker, "exit")
  const [seen] = await once(worker, "message")
  await ended
  return seen
}

export const observeRealms = async (bytes) => {
  const module = new WebAssembly.Module(bytes)
  const { port1, port2 } = new MessageChannel()
  port1.postMessage(module)
  const posted = receiveMessageOnPort(port2).message
  port1.close()
  const cloned = structuredClone(module)
  const context = createContext({ bytes, module })
  class Sub extends WebAssembly.Module {
    extra = 1
  }
  class SubInstance extends WebAssembly.Instance {
    get exports() {
      return { wrapped: super.exports }
    }
  }
  const sub = new Sub(bytes)
  const subInstance = new SubInstance(sub)
  const reflected = Reflect.construct(WebAssembly.Module, [bytes], Array)
  return {
    posted: [ofModule(posted), ofInstance(new WebAssembly.Instance(posted))],
    cloned: [ofModule(cloned), ofInstance(await WebAssembly.instantiate(cloned))],
    worker: await inWorker(module, bytes),
    contextOwn: runInContext("WebAssembly.Module === module.constructor || typeof WebAssembly.Module", context),
    contextModule: attempt(() =>
      runInContext("Object.keys(new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports)", context)
    ),
    sub: [sub instanceof Sub, sub.constructor === Sub, sub.extra, ofModule(sub).exports],
    subInstance: [
      subInstance instanceof SubInstance,
      Object.keys(subInstance.exports.wrapped),
      subInstance.exports.wrapped === subInstance.exports.wrapped
    ],
    reflected: [Object.getPrototypeOf(reflected) === Array.prototype, Object.prototype.toString.call(reflected)],
    constructed: ofInstance(Reflect.construct(WebAssembly.Instance, [module]))
  }
}
