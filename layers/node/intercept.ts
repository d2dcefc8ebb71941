/**
 * Stands between a program and the engine's `WebAssembly`: modules are patched before they are compiled, and the
 * exports of their instances are those of the original modules.
 *
 * What the program gets are the engine's own objects, made by the engine's own functions, which read the program's
 * arguments themselves and throw their own errors; only bytes are exchanged on the way in. An instance is recognised
 * when its `exports` are first read (see `marker.ts`), so nothing has to happen between the engine and the program's
 * `await`, and an import object is never looked at.
 *
 * @since 0.1.0
 */
// As a namespace: Node.js 20 has no `getCallSites`, and loads this file although it intercepts nothing.
import * as Util from "node:util"
import { sectionName } from "../../src/plan/hidden.ts"
import { CLONE_SECTION, identityOf, isHidden, visibleExports } from "./marker.ts"
import { engineExports, original } from "./original.ts"
import { sourceBytes } from "./source-bytes.ts"
import { beginsAsModule, replacedSource } from "./streaming.ts"

/**
 * What happens at each interception. A method that throws counts as one that declines: the program goes on natively.
 *
 * @category models
 * @since 0.1.0
 */
export interface Interceptor {
  /**
   * The module to compile instead of `bytes`, or `undefined` for these. It must not keep `bytes`.
   *
   * @param from the script that asks for it, as a URL or path
   */
  readonly substitute: (bytes: Uint8Array, from: string | undefined) => Uint8Array | undefined
  /** A patched module is about to be instantiated that another thread may have compiled. */
  readonly adopt: (clone: Uint8Array) => void
  /** The exports of a patched module's instance are read for the first time. */
  readonly bind: (instance: WebAssembly.Instance, identity: bigint) => WebAssembly.Exports
}

/** Answered by the replaced constructors only, so that a second copy of Folio finds the first. */
const installedMark = Symbol.for("folio-wasm/intercept")

/** Scripts whose modules are not the program's: Node.js compiles some for itself, and so does Folio. */
const foreignScripts = [
  "node:internal/deps/",
  "node:internal/modules/",
  ...["layers/", "services/", "src/"].map((folder) => new URL(`../../${folder}`, import.meta.url).href)
]

const functionToString = Function.prototype.toString

/** A proxy whose own `toString` gives the text of its target. (`Function.prototype.toString` itself omits the name.) */
const standIn = <F extends object>(target: F, handler: ProxyHandler<F>): F => {
  const text: string = Reflect.apply(functionToString, target, [])
  const proxy: F = new Proxy(target, {
    ...handler,
    get(target, key, receiver) {
      if (key === installedMark) return true
      const value: unknown = Reflect.get(target, key, receiver)
      return key === "toString" && value === functionToString ? toString : value
    }
  })
  function toString(this: unknown): string {
    return this === proxy ? text : Reflect.apply(functionToString, this, [])
  }
  return proxy
}

/** Puts a value in the place of another one, writable and enumerable as that was. */
const put = (owner: object, name: string, value: unknown): void => {
  const descriptor = Object.getOwnPropertyDescriptor(owner, name)
  if (descriptor !== undefined) Object.defineProperty(owner, name, { ...descriptor, value })
}

/** Makes `Module.exports` and `Module.customSections` answer for the original of a patched module. */
const hideNames = (): void => {
  const isPatched = (module: unknown): boolean =>
    original.customSections(module as WebAssembly.Module, CLONE_SECTION).length > 0
  const exports = standIn(original.moduleExports, {
    apply: (target, self, args) => {
      const descriptors: Array<WebAssembly.ModuleExportDescriptor> = Reflect.apply(target, self, args)
      return isPatched(args[0]) ? descriptors.filter(({ name }) => !isHidden(name)) : descriptors
    }
  })
  const customSections = standIn(original.customSections, {
    apply: (target, self, args) => {
      const sections: Array<ArrayBuffer> = Reflect.apply(target, self, args)
      if (sections.length === 0) return sections
      if (args[1] === CLONE_SECTION) return []
      // The plan's own mark is behind whatever the program has under that name.
      return args[1] === sectionName && isPatched(args[0]) ? sections.slice(0, -1) : sections
    }
  })
  put(original.Module, "exports", exports)
  put(original.Module, "customSections", customSections)
}

/** The script that called the intercepted function. */
const callingScript = (): string | undefined =>
  Util.getCallSites(8).find(({ scriptName }) => scriptName !== import.meta.url)?.scriptName

/**
 * Whether this thread's `WebAssembly` is intercepted already, by this copy of Folio or by another.
 *
 * @category installing
 * @since 0.1.0
 */
export const isIntercepted = (): boolean => Reflect.get(WebAssembly.Module, installedMark) === true

/**
 * Replaces `Module`, `Instance`, `compile`, `instantiate`, `compileStreaming` and `instantiateStreaming` of this
 * thread's `WebAssembly`. To be called once, see {@link isIntercepted}.
 *
 * @category installing
 * @since 0.1.0
 */
export const intercept = (interceptor: Interceptor): void => {
  const substitute = (bytes: Uint8Array, from: string | undefined): Uint8Array | undefined => {
    try {
      return interceptor.substitute(bytes, from)
    } catch {
      return undefined
    }
  }

  /** The arguments of a call with a module's bytes in front, patched if they can be. */
  const patched = (args: Array<unknown>): Array<unknown> => {
    const source = sourceBytes(args[0])
    if (source === undefined || source.bytes.length < 8 || !beginsAsModule(source.bytes)) return args
    const from = callingScript()
    if (from !== undefined && foreignScripts.some((folder) => from.startsWith(folder))) return args
    const replaced = substitute(source.shared ? source.bytes.slice() : source.bytes, from)
    return replaced === undefined ? args : [replaced, ...args.slice(1)]
  }

  const streamed = (args: Array<unknown>): Array<unknown> => {
    if (args.length === 0) return args
    const from = callingScript()
    return [replacedSource(args[0], (bytes) => substitute(bytes, from)), ...args.slice(1)]
  }

  const known = new WeakSet<object>()
  const adopt = (module: unknown): void => {
    if (typeof module !== "object" || module === null || known.has(module)) return
    try {
      const [clone] = original.customSections(module as WebAssembly.Module, CLONE_SECTION)
      known.add(module)
      if (clone !== undefined) interceptor.adopt(new Uint8Array(clone))
    } catch {
      // Not a module, which the engine will say, or a clone that is not understood, which stays unbound.
    }
  }

  const exportsOf = new WeakMap<WebAssembly.Instance, WebAssembly.Exports>()
  const firstExports = (instance: WebAssembly.Instance): WebAssembly.Exports => {
    const exports = engineExports(instance)
    // Whoever binds reads the exports too, and needs the hidden ones.
    exportsOf.set(instance, exports)
    const identity = identityOf(exports)
    if (identity === undefined) return exports
    let visible: WebAssembly.Exports
    try {
      visible = interceptor.bind(instance, identity)
    } catch {
      visible = visibleExports(exports)
    }
    exportsOf.set(instance, visible)
    return visible
  }

  const Module: typeof WebAssembly.Module = standIn(original.Module, {
    construct: (target, args, newTarget) => {
      const module: WebAssembly.Module = Reflect.construct(
        target,
        patched(args),
        newTarget === Module ? target : newTarget
      )
      known.add(module)
      return module
    }
  })
  const Instance: typeof WebAssembly.Instance = standIn(original.Instance, {
    construct: (target, args, newTarget) => {
      adopt(args[0])
      return Reflect.construct(target, args, newTarget === Instance ? target : newTarget)
    }
  })
  const instantiate = standIn(original.instantiate, {
    apply: (target, self, args) => {
      if (sourceBytes(args[0]) === undefined) adopt(args[0])
      return Reflect.apply(target, self, patched(args))
    }
  })
  const compile = standIn(original.compile, {
    apply: (target, self, args) => Reflect.apply(target, self, patched(args))
  })
  const overStream = {
    apply: (target: object, self: unknown, args: Array<unknown>): unknown =>
      Reflect.apply(target as () => unknown, self, streamed(args))
  }

  hideNames()
  put(original.Module.prototype, "constructor", Module)
  put(original.Instance.prototype, "constructor", Instance)

  // Not a proxy: programs read `instance.exports` in their innermost loops, where a proxy takes seven times as long as
  // the engine's own getter and this function no longer than that. As part of a literal it has the name of that getter,
  // no `prototype`, and enumerable and configurable are as there.
  const accessor = {
    get exports(): WebAssembly.Exports {
      const self = this as unknown as WebAssembly.Instance
      return exportsOf.get(self) ?? firstExports(self)
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(accessor, "exports")
  if (descriptor !== undefined) Object.defineProperty(original.Instance.prototype, "exports", descriptor)

  put(WebAssembly, "Module", Module)
  put(WebAssembly, "Instance", Instance)
  put(WebAssembly, "compile", compile)
  put(WebAssembly, "instantiate", instantiate)
  put(WebAssembly, "compileStreaming", standIn(original.compileStreaming, overStream))
  put(WebAssembly, "instantiateStreaming", standIn(original.instantiateStreaming, overStream))
}
