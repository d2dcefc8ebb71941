// Prints what a program can see of WebAssembly, as one line of JSON: run natively and with the drop-in, both must be
// equal. The argument is a folder of modules.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { attempt, attemptAsync, describe, ofInstance, ofModule, properties, thrown } from "./describe.mjs"
import { observeErrors } from "./errors.mjs"
import { recordingImports } from "./imports.mjs"
import { observeOrder } from "./order.mjs"
import { observeRealms } from "./realms.mjs"
import { observeSources } from "./sources.mjs"

const folder = process.argv[2]
const files = readdirSync(folder).filter((name) => name.endsWith(".wasm")).sort()
const read = (name) => new Uint8Array(readFileSync(join(folder, name)))

const observeShape = () => ({
  namespace: properties(WebAssembly),
  module: properties(WebAssembly.Module),
  modulePrototype: properties(WebAssembly.Module.prototype),
  instance: properties(WebAssembly.Instance),
  instancePrototype: properties(WebAssembly.Instance.prototype),
  same: [
    WebAssembly.Module.prototype.constructor === WebAssembly.Module,
    WebAssembly.Instance.prototype.constructor === WebAssembly.Instance,
    WebAssembly.Module === WebAssembly.Module,
    Object.getPrototypeOf(WebAssembly.Module) === Object.getPrototypeOf(WebAssembly.Memory),
    WebAssembly.Module.toString() === String(WebAssembly.Module)
  ]
})

const options = () => ({ builtins: ["js-string"], importedStringConstants: "strings" })

/** Every way from bytes to an instance. */
const ways = {
  sync: (bytes, imports) => {
    const module = new WebAssembly.Module(bytes, options())
    return { module, instance: () => new WebAssembly.Instance(module, imports(module)) }
  },
  compile: async (bytes, imports) => {
    const module = await WebAssembly.compile(bytes, options())
    return { module, instance: () => WebAssembly.instantiate(module, imports(module)) }
  },
  streaming: async (bytes, imports) => {
    const response = new Response(bytes, { headers: { "content-type": "application/wasm" } })
    const module = await WebAssembly.compileStreaming(response, options())
    return { module, instance: () => WebAssembly.instantiate(module, imports(module)) }
  }
}

/** Ways where the imports come before the module is there; they are made for a module that is compiled apart. */
const together = {
  instantiate: (bytes, imports) => WebAssembly.instantiate(bytes, imports, options()),
  instantiateStreaming: (bytes, imports) => {
    const response = Promise.resolve(new Response(bytes, { headers: { "content-type": "application/wasm" } }))
    return WebAssembly.instantiateStreaming(response, imports, options())
  }
}

const calls = (instance, log, values) => {
  const { exports } = instance
  const results = []
  for (const [name, value] of Object.entries(exports)) {
    if (typeof value !== "function") {
      results.push([name, "import", Object.keys(values).filter((key) => values[key] === value)])
      continue
    }
    // Arguments for each declared length; small, so that every loop of the modules ends.
    for (const args of [[], [64, 5, 3], [0, 100, -7], [1, 2, 3, 4]]) {
      results.push([name, attempt(() => value(...args))])
    }
  }
  const memories = Object.values(exports).filter((value) => value instanceof WebAssembly.Memory)
  const bytes = memories.map(({ buffer }) => {
    let sum = 0
    for (const byte of new Uint8Array(buffer)) sum = Math.imul(sum ^ byte, 16777619)
    return sum
  })
  return { results, bytes, log: log.splice(0) }
}

const observeWay = async (way, bytes, variant) => {
  const log = []
  let values = {}
  try {
    const { instance, module } = await ways[way](bytes, (module) => {
      const imports = recordingImports(module, log, variant)
      values = imports.values
      return imports.object
    })
    const seen = { module: ofModule(module) }
    try {
      const made = await instance()
      return { ...seen, instance: ofInstance(made), calls: calls(made, log, values) }
    } catch (error) {
      return { ...seen, instance: thrown(error), log }
    }
  } catch (error) {
    return thrown(error)
  }
}

const observeTogether = async (way, bytes, variant) => {
  const log = []
  try {
    const { object, values } = recordingImports(new WebAssembly.Module(bytes, options()), log, variant)
    const made = await together[way](bytes, object)
    const keys = properties(made)
    return {
      keys,
      module: ofModule(made.module),
      instance: ofInstance(made.instance),
      calls: calls(made.instance, log, values)
    }
  } catch (error) {
    return { ...thrown(error), log }
  }
}

const observations = { shape: observeShape() }
for (const file of files) {
  const bytes = read(file)
  observations[`${file} valid`] = WebAssembly.validate(bytes)
  for (const variant of [0, 1, 2]) {
    for (const way of Object.keys(ways)) {
      observations[`${file} ${way} ${variant}`] = await observeWay(way, bytes, variant)
    }
    for (const way of Object.keys(together)) {
      observations[`${file} ${way} ${variant}`] = await observeTogether(way, bytes, variant)
    }
  }
}
const some = read("loops.wasm")
observations.suspended = await attemptAsync(async () => {
  const wait = new WebAssembly.Suspending(() => Promise.resolve(41))
  const { instance } = await WebAssembly.instantiate(read("suspending.wasm"), { env: { wait } })
  return WebAssembly.promising(instance.exports.run)()
})
Object.assign(observations, {
  errors: await observeErrors(some, read("imports.wasm")),
  order: await observeOrder(some),
  sources: await observeSources(some),
  realms: await observeRealms(some)
})
observations.shapeAfter = observeShape()
observations.promise = describe(WebAssembly.compile(some) instanceof Promise)
process.stdout.write(`${JSON.stringify(observations)}\n`)
