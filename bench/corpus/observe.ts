/**
 * Remembers the instances that a program makes, so that memories and globals can be compared at the end. It stands in
 * front of whatever `WebAssembly` is when it is installed and changes nothing that the program can see but the
 * identity of the constructors.
 */
import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { StateEntry } from "./protocol.ts"

type State = WebAssembly.Memory | WebAssembly.Global

const isState = (value: unknown): value is State =>
  value instanceof WebAssembly.Memory || value instanceof WebAssembly.Global

/** Later instances are not kept alive: a program that makes one a call would never free a memory. */
const keptInstances = 16

const kept: Array<{ readonly name: string; readonly value: State }> = []
const seen = new WeakSet<object>()
let instances = 0

/** A data property of an import object; a getter is left alone, since to call it is an effect. */
const own = (object: unknown, name: string): unknown =>
  typeof object === "object" && object !== null
    ? Object.getOwnPropertyDescriptor(object, name)?.value
    : undefined

/** Whether Node.js itself is instantiating: its type stripper, its lexers and its HTTP parser are WebAssembly too. */
const byNode = (): boolean => (new Error().stack ?? "").includes("node:internal/deps/")

const note = (instance: WebAssembly.Instance, module: WebAssembly.Module, imports: unknown): void => {
  if (seen.has(instance) || instances === keptInstances || byNode()) return
  seen.add(instance)
  const needed = WebAssembly.Module.imports(module)
  // The instances of guards and chunks are Folio's and not the program's.
  if (needed.some((entry) => entry.module === "folio")) return
  const candidates: ReadonlyArray<readonly [string, unknown]> = [
    ...needed.map(({ module: from, name }) => [`${from}.${name}`, own(own(imports, from), name)] as const),
    ...Object.entries(instance.exports)
  ]
  const reachable = candidates.flatMap(([name, value]) => isState(value) && !seen.has(value) ? [{ name, value }] : [])
  if (reachable.length === 0) return
  const prefix = instances++
  for (const { name, value } of reachable) {
    if (seen.has(value)) continue
    seen.add(value)
    kept.push({ name: `${prefix}:${name}`, value })
  }
}

const isInstance = (value: object): value is WebAssembly.Instance => value instanceof WebAssembly.Instance

/**
 * Installs the observer.
 *
 * @category observing
 * @since 0.1.0
 */
export const observeInstances = (): void => {
  const Instance: typeof WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
    construct(target, args: [WebAssembly.Module, unknown], newTarget) {
      const instance = Reflect.construct(
        target,
        args,
        newTarget === Instance ? target : newTarget
      ) as WebAssembly.Instance
      note(instance, args[0], args[1])
      return instance
    }
  })
  WebAssembly.Instance = Instance

  for (const name of ["instantiate", "instantiateStreaming"] as const) {
    WebAssembly[name] = new Proxy(WebAssembly[name] as (...args: Array<unknown>) => Promise<object>, {
      async apply(target, self, args: [WebAssembly.Module, unknown]) {
        const result = await Reflect.apply(target, self, args)
        if (isInstance(result)) note(result, args[0], args[1])
        else {
          const { instance, module } = result as WebAssembly.WebAssemblyInstantiatedSource
          note(instance, module, args[1])
        }
        return result
      }
    }) as never
  }
}

const bitsOf = (value: unknown): string => {
  if (typeof value === "number") return Buffer.from(new Float64Array([value]).buffer).toString("hex")
  return typeof value === "bigint" ? value.toString() : typeof value
}

const globalValue = (global: WebAssembly.Global): string => {
  try {
    return bitsOf(global.value)
  } catch {
    return "not readable from JavaScript"
  }
}

/**
 * Hashes of all memories and bits of all globals seen so far, in the order they were seen.
 *
 * @category observing
 * @since 0.1.0
 */
export const observedState = (): Array<StateEntry> =>
  kept.map(({ name, value }) => {
    if (value instanceof WebAssembly.Global) return { kind: "global", name, value: globalValue(value) }
    const bytes = new Uint8Array(value.buffer)
    return { kind: "memory", name, bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") }
  })

/**
 * Writes every memory to `directory` as `<place in the state>.bin`.
 *
 * @category observing
 * @since 0.1.0
 */
export const dumpMemories = (directory: string): void => {
  for (const [index, { value }] of kept.entries()) {
    if (value instanceof WebAssembly.Memory) {
      writeFileSync(join(directory, `${index}.bin`), new Uint8Array(value.buffer))
    }
  }
}
