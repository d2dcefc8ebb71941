/**
 * Stands between a program and the engine's `WebAssembly`.
 *
 * Six functions are replaced by proxies that hand their calls on to the engine's own, with other bytes at most; the
 * getter of an instance's `exports` is replaced by one that knows the instances of patched modules. What decides about
 * bytes and exports is loaded when it is first asked, because this file is loaded by every process and thread.
 *
 * @since 0.1.0
 */
import { engineExports, original, originals, originalsMark } from "./original.ts"

/**
 * What decides about calls. None of these may throw.
 *
 * @category models
 * @since 0.1.0
 */
export interface Decisions {
  /** The arguments of a call that compiles the bytes of its first one. */
  readonly compiling: (args: Array<unknown>) => Array<unknown>
  /** The arguments of a call that compiles what its first one streams. */
  readonly streaming: (args: Array<unknown>) => Array<unknown>
  /** A value is about to be instantiated. */
  readonly instantiating: (module: unknown) => void
  /** The engine has made a module out of the arguments that `compiling` gave. */
  readonly compiled: (module: WebAssembly.Module) => void
  /** The exports to show of an instance; `remember` makes an answer known to whoever asks meanwhile. */
  readonly exports: (
    instance: WebAssembly.Instance,
    exports: WebAssembly.Exports,
    remember: (exports: WebAssembly.Exports) => void
  ) => WebAssembly.Exports
  /** The export descriptors to show of a module. */
  readonly descriptors: (
    module: WebAssembly.Module,
    descriptors: Array<WebAssembly.ModuleExportDescriptor>
  ) => Array<WebAssembly.ModuleExportDescriptor>
  /** The custom sections to show of a module. */
  readonly sections: (module: WebAssembly.Module, name: unknown, sections: Array<ArrayBuffer>) => Array<ArrayBuffer>
}

/**
 * Leaves everything as it is.
 *
 * @category constructors
 * @since 0.1.0
 */
export const undecided: Decisions = {
  compiling: (args) => args,
  streaming: (args) => args,
  instantiating: () => {},
  compiled: () => {},
  exports: (_, exports) => exports,
  descriptors: (_, descriptors) => descriptors,
  sections: (_, __, sections) => sections
}

const functionToString = Function.prototype.toString

/** A proxy whose own `toString` gives the text of its target. (`Function.prototype.toString` itself omits the name.) */
const standIn = <F extends object>(target: F, handler: ProxyHandler<F>): F => {
  const proxy: F = new Proxy(target, {
    ...handler,
    get(target, key, receiver) {
      if (key === originalsMark) return originals
      const value: unknown = Reflect.get(target, key, receiver)
      return key === "toString" && value === functionToString ? toString : value
    }
  })
  function toString(this: unknown): string {
    return Reflect.apply(functionToString, this === proxy ? target : this, [])
  }
  return proxy
}

/** Puts a value in the place of another one, writable and enumerable as that was. */
const put = (owner: object, name: string, value: unknown): void => {
  const descriptor = Object.getOwnPropertyDescriptor(owner, name)
  if (descriptor !== undefined) Object.defineProperty(owner, name, { ...descriptor, value })
}

/**
 * Replaces `Module`, `Instance`, `compile`, `instantiate`, `compileStreaming` and `instantiateStreaming` of this
 * thread's `WebAssembly`. To be called once, see `isIntercepted` in `original.ts`.
 *
 * @param decisions called when a program first compiles, instantiates or looks into a module
 * @category installing
 * @since 0.1.0
 */
export const intercept = (decisions: () => Decisions): void => {
  const Module: typeof WebAssembly.Module = standIn(original.Module, {
    construct: (target, args, newTarget) => {
      const { compiled, compiling } = decisions()
      const module: WebAssembly.Module = Reflect.construct(
        target,
        compiling(args),
        newTarget === Module ? target : newTarget
      )
      compiled(module)
      return module
    }
  })
  const Instance: typeof WebAssembly.Instance = standIn(original.Instance, {
    construct: (target, args, newTarget) => {
      decisions().instantiating(args[0])
      return Reflect.construct(target, args, newTarget === Instance ? target : newTarget)
    }
  })
  const compile = standIn(original.compile, {
    apply: (target, self, args) => Reflect.apply(target, self, decisions().compiling(args))
  })
  const instantiate = standIn(original.instantiate, {
    apply: (target, self, args) => {
      const { compiling, instantiating } = decisions()
      instantiating(args[0])
      return Reflect.apply(target, self, compiling(args))
    }
  })
  const overStream: ProxyHandler<(...args: Array<never>) => unknown> = {
    apply: (target, self, args) => Reflect.apply(target, self, decisions().streaming(args) as Array<never>)
  }
  put(WebAssembly, "Module", Module)
  put(WebAssembly, "Instance", Instance)
  put(WebAssembly, "compile", compile)
  put(WebAssembly, "instantiate", instantiate)
  put(WebAssembly, "compileStreaming", standIn(original.compileStreaming, overStream))
  put(WebAssembly, "instantiateStreaming", standIn(original.instantiateStreaming, overStream))
  put(original.Module.prototype, "constructor", Module)
  put(original.Instance.prototype, "constructor", Instance)

  const moduleExports = standIn(original.moduleExports, {
    apply: (target, self, args) => decisions().descriptors(args[0], Reflect.apply(target, self, args))
  })
  const customSections = standIn(original.customSections, {
    apply: (target, self, args) => decisions().sections(args[0], args[1], Reflect.apply(target, self, args))
  })
  put(original.Module, "exports", moduleExports)
  put(original.Module, "customSections", customSections)

  interceptExports(decisions)
}

/** Replaces the getter of `exports`. */
const interceptExports = (decisions: () => Decisions): void => {
  const known = new WeakMap<WebAssembly.Instance, WebAssembly.Exports>()
  const first = (instance: WebAssembly.Instance): WebAssembly.Exports => {
    const remember = (exports: WebAssembly.Exports): void => {
      known.set(instance, exports)
    }
    const exports = decisions().exports(instance, engineExports(instance), remember)
    remember(exports)
    return exports
  }
  // Not a proxy: programs read `instance.exports` in their innermost loops, where a proxy takes seven times as long as
  // the engine's own getter and this function no longer than that. As part of a literal it has the name of that getter,
  // no `prototype`, and enumerable and configurable are as there.
  const accessor = {
    get exports(): WebAssembly.Exports {
      const self = this as unknown as WebAssembly.Instance
      return known.get(self) ?? first(self)
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(accessor, "exports")
  if (descriptor !== undefined) Object.defineProperty(original.Instance.prototype, "exports", descriptor)
}
