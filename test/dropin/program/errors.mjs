// What the engine says of bad arguments and bad bytes.
import { attempt, attemptAsync, describe } from "./describe.mjs"

const functions = ["compile", "instantiate", "compileStreaming", "instantiateStreaming"]

const damaged = (bytes, change) => {
  const copy = bytes.slice()
  change(copy)
  return copy
}

export const observeErrors = async (bytes, needy) => {
  const values = {
    nothing: undefined,
    null: null,
    number: 5,
    text: "module",
    object: {},
    array: [0, 97, 115, 109],
    empty: new Uint8Array(),
    short: bytes.subarray(0, 4),
    header: bytes.subarray(0, 8),
    cut: bytes.subarray(0, bytes.length - 1),
    cutInCode: bytes.subarray(0, bytes.length >> 1),
    magic: damaged(bytes, (copy) => copy.set([1], 0)),
    version: damaged(bytes, (copy) => copy.set([2], 4)),
    section: damaged(bytes, (copy) => copy.set([99], 8)),
    body: damaged(bytes, (copy) => copy.fill(0xff, bytes.length >> 1)),
    trailing: new Uint8Array([...bytes, 1]),
    promise: Promise.resolve(bytes),
    sharedBuffer: new SharedArrayBuffer(8),
    proxy: new Proxy(bytes, {}),
    revoked: (() => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    })()
  }
  const seen = {}
  for (const [name, value] of Object.entries(values)) {
    seen[`new Module(${name})`] = attempt(() => new WebAssembly.Module(value))
    seen[`new Instance(${name})`] = attempt(() => new WebAssembly.Instance(value))
    for (const call of functions) seen[`${call}(${name})`] = await attemptAsync(() => WebAssembly[call](value, {}))
    for (const call of ["exports", "imports", "customSections"]) {
      seen[`Module.${call}(${name})`] = attempt(() => WebAssembly.Module[call](value, "name"))
    }
  }
  seen["Module()"] = attempt(() => WebAssembly.Module(bytes))
  seen["Instance()"] = attempt(() => WebAssembly.Instance(new WebAssembly.Module(bytes)))
  for (const name of ["Module", "Instance"]) seen[`new ${name}()`] = attempt(() => new WebAssembly[name]())
  for (const call of functions) {
    seen[`new ${call}`] = attempt(() => new WebAssembly[call](bytes))
    seen[`${call}()`] = await attemptAsync(() => WebAssembly[call]())
    seen[`detached ${call}`] = await attemptAsync(() => Reflect.apply(WebAssembly[call], undefined, [bytes]))
  }
  const module = new WebAssembly.Module(needy)
  const badImports = {
    missing: {},
    undefined: undefined,
    null: null,
    number: 5,
    wrong: { env: { log: 1 } },
    flat: { env: 3 }
  }
  for (const [name, imports] of Object.entries(badImports)) {
    seen[`Instance imports ${name}`] = attempt(() => new WebAssembly.Instance(module, imports))
    seen[`instantiate module imports ${name}`] = await attemptAsync(() => WebAssembly.instantiate(module, imports))
    seen[`instantiate bytes imports ${name}`] = await attemptAsync(() => WebAssembly.instantiate(needy, imports))
  }
  const throwing = {
    get env() {
      throw new EvalError("from a getter")
    }
  }
  seen["throwing getter"] = attempt(() => new WebAssembly.Instance(module, throwing))
  seen["throwing getter, async"] = await attemptAsync(() => WebAssembly.instantiate(needy, throwing))
  seen["customSections without a name"] = attempt(() => WebAssembly.Module.customSections(module))
  const named = { toString: () => "name" }
  seen["customSections by object"] = attempt(() => WebAssembly.Module.customSections(module, named).length)
  const getter = Object.getOwnPropertyDescriptor(WebAssembly.Instance.prototype, "exports").get
  for (const [name, self] of Object.entries({ undefined, null: null, five: 5, object: {}, module })) {
    seen[`exports of ${name}`] = attempt(() => Reflect.apply(getter, self, []))
  }
  seen["exports of the prototype"] = attempt(() => WebAssembly.Instance.prototype.exports)
  seen.optionErrors = [
    attempt(() =>
      new WebAssembly.Module(bytes, {
        get builtins() {
          throw new EvalError("builtins")
        }
      })
    ),
    attempt(() => new WebAssembly.Module(bytes, 5)),
    attempt(() => new WebAssembly.Module(bytes, { builtins: ["none such"] })),
    await attemptAsync(() =>
      WebAssembly.compile(bytes, {
        get builtins() {
          throw new EvalError("builtins")
        }
      })
    )
  ]
  return describe(seen)
}
