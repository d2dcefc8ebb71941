// Values as JSON that two processes can compare.

/** What a thrown value is, without its stack. */
export const thrown = (error) => {
  if (!(error instanceof Error)) return { thrown: String(error) }
  const { code, constructor, message, name } = error
  const known = [WebAssembly.CompileError, WebAssembly.LinkError, WebAssembly.RuntimeError, TypeError, RangeError]
  return { name, message, code, keys: Reflect.ownKeys(error).map(String).sort(), known: known.indexOf(constructor) }
}

/** The result of a call, or what it threw. */
export const attempt = (call) => {
  try {
    return { value: describe(call()) }
  } catch (error) {
    return thrown(error)
  }
}

/** The same for a promise. */
export const attemptAsync = async (call) => {
  try {
    return { value: describe(await call()) }
  } catch (error) {
    return thrown(error)
  }
}

/** A value in words. */
export const describe = (value) => {
  if (typeof value === "bigint") return `${value}n`
  if (typeof value === "symbol") return String(value)
  if (typeof value === "function") return { function: value.name, length: value.length, text: String(value) }
  if (value instanceof WebAssembly.Global) return { global: describe(value.value) }
  if (value instanceof WebAssembly.Memory) return { memory: value.buffer.byteLength }
  if (value instanceof WebAssembly.Table) return { table: value.length, element: typeof value.get(0) }
  if (value instanceof WebAssembly.Tag) return { tag: String(value) }
  if (value instanceof WebAssembly.Module || value instanceof WebAssembly.Instance) return String(value)
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)]
  if (value !== null && typeof value === "object") {
    if (Symbol.toStringTag in value) return Object.prototype.toString.call(value)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [`.${key}`, describe(item)]))
  }
  return value === undefined ? "undefined" : value
}

/** The own properties of an object: flags, and what the values are. */
export const properties = (object) =>
  Reflect.ownKeys(object).map((key) => {
    const { configurable, enumerable, get, set, value, writable } = Object.getOwnPropertyDescriptor(object, key)
    const accessor = get === undefined ? undefined : [get.name, get.length, "prototype" in get, typeof set]
    return [String(key), { configurable, enumerable, writable, accessor, value: get ? undefined : describe(value) }]
  })

/** Everything visible of a module. */
export const ofModule = (module) => ({
  text: String(module),
  instance: [module instanceof WebAssembly.Module, module.constructor === WebAssembly.Module],
  own: properties(module),
  exports: describe(WebAssembly.Module.exports(module)),
  imports: describe(WebAssembly.Module.imports(module)),
  sections: ["name", "producers", "folio", "", "\0folio:clone"].map((name) =>
    WebAssembly.Module.customSections(module, name).map((section) => section.byteLength)
  )
})

/** Everything visible of an instance, before and after its exports are first read. */
export const ofInstance = (instance) => {
  const { exports } = instance
  return {
    text: String(instance),
    instance: [instance instanceof WebAssembly.Instance, instance.constructor === WebAssembly.Instance],
    own: properties(instance),
    same: [instance.exports === exports, Reflect.get(WebAssembly.Instance.prototype, "exports", instance) === exports],
    prototype: Object.getPrototypeOf(exports),
    state: [Object.isFrozen(exports), Object.isExtensible(exports), String(Object.prototype.toString.call(exports))],
    keys: Object.keys(exports),
    properties: properties(exports),
    identity: Object.keys(exports).map((key) => exports[key] === instance.exports[key]),
    assigned: attempt(() => {
      "use strict"
      exports.folio = 1
    })
  }
}
