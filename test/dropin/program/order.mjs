// In which order things happen: reactions of promises, getters of options, copying of bytes.

/** Lets everything run that is due. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 100))

/** Names of steps in the order they are reached, beside the steps of an ordinary chain of promises. */
const race = async (start) => {
  const steps = []
  const promise = start((name) => steps.push(name))
  promise.then(() => steps.push("resolved"), () => steps.push("rejected"))
  let chain = Promise.resolve()
  for (let index = 0; index < 6; index++) chain = chain.then(() => steps.push(index))
  setImmediate(() => steps.push("immediate"))
  await settle()
  return steps
}

export const observeOrder = async (bytes) => {
  const module = new WebAssembly.Module(bytes)
  const response = () => new Response(bytes, { headers: { "content-type": "application/wasm" } })
  const options = (log) => ({
    get builtins() {
      log("builtins")
      return []
    },
    get importedStringConstants() {
      log("importedStringConstants")
      return undefined
    }
  })
  const settled = (steps) => steps.filter((step) => typeof step !== "number" && step !== "immediate")
  return {
    module: await race(() => WebAssembly.instantiate(module)),
    badModule: await race(() => WebAssembly.instantiate(5)),
    badImports: await race(() => WebAssembly.instantiate(module, 5)),
    // Compiling ends in a task of its own, whenever it is done.
    compile: settled(await race(() => WebAssembly.compile(bytes))),
    compileBad: settled(await race(() => WebAssembly.compile(bytes.subarray(0, 9)))),
    streaming: settled(await race(() => WebAssembly.compileStreaming(response()))),
    options: await race((log) => Promise.resolve(new WebAssembly.Module(bytes, options(log)))),
    optionsAsync: settled(await race((log) => WebAssembly.compile(bytes, options(log)))),
    optionsTogether: settled(await race((log) => WebAssembly.instantiate(bytes, {}, options(log)))),
    afterEach: await new Promise((resolve) => {
      // A reaction of the reaction runs before anything else of the event loop.
      const steps = []
      WebAssembly.instantiate(bytes).then(() => {
        steps.push("first")
        setImmediate(() => resolve(steps))
        Promise.resolve().then(() => steps.push("second"))
        process.nextTick(() => steps.push("tick"))
      })
    }),
    unhandled: await new Promise((resolve) => {
      const seen = []
      const listen = (reason, promise) => seen.push([reason.message, promise === rejected])
      process.on("unhandledRejection", listen)
      const rejected = WebAssembly.compile(bytes.subarray(0, 9))
      setTimeout(() => {
        process.off("unhandledRejection", listen)
        resolve(seen)
      }, 100)
    })
  }
}
