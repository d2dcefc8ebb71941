// Import objects that write down how they are read.

/** Sizes of memories and tables that the modules of the test import. */
const memories = [{ initial: 1 }, { initial: 1, maximum: 1, shared: true }, { initial: 1, maximum: 2 }]

const entry = ({ kind, name }, log, attempt) => {
  if (kind === "function") {
    return (...args) => {
      log.push(`call ${name}(${args.map(String)})`)
      if (name === "throw") throw new SyntaxError("thrown by an import")
      return 5
    }
  }
  if (kind === "memory") return new WebAssembly.Memory(memories[attempt % memories.length])
  if (kind === "table") return new WebAssembly.Table({ initial: 4, element: "anyfunc" })
  if (kind === "global") return new WebAssembly.Global({ value: "i32", mutable: name === "variable" }, 3)
  if (kind === "tag") return new WebAssembly.Tag({ parameters: ["i32"] })
  return undefined
}

/**
 * Imports for a module, every access to them logged. `attempt` varies what they are made of, so that a module finds
 * imports that fit and others that do not.
 */
export const recordingImports = (module, log, attempt = 0) => {
  const namespaces = new Map()
  const values = {}
  for (const item of WebAssembly.Module.imports(module)) {
    const namespace = namespaces.get(item.module) ?? {}
    namespaces.set(item.module, namespace)
    const value = entry(item, log, attempt)
    values[`${item.module}.${item.name}`] = value
    Object.defineProperty(namespace, item.name, {
      enumerable: true,
      get: () => {
        log.push(`get ${item.module}.${item.name}`)
        return value
      }
    })
  }
  const watched = (target, path) =>
    new Proxy(target, {
      get: (object, key, receiver) => {
        log.push(`read ${path}${String(key)}`)
        return Reflect.get(object, key, receiver)
      },
      has: (object, key) => {
        log.push(`has ${path}${String(key)}`)
        return Reflect.has(object, key)
      },
      ownKeys: (object) => {
        log.push(`keys ${path}`)
        return Reflect.ownKeys(object)
      }
    })
  const object = {}
  for (const [name, namespace] of namespaces) {
    Object.defineProperty(object, name, {
      enumerable: true,
      get: () => {
        log.push(`get ${name}`)
        return watched(namespace, `${name}.`)
      }
    })
  }
  return { object: watched(object, ""), values }
}
