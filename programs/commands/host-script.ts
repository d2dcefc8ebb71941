/**
 * A script that brings what a module needs of its host, and how a module is booted with it: plain code, so that a
 * process that measures a boot does the same as the one that keeps its state.
 *
 * @since 0.1.0
 */
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import type { CaptureHooks } from "../../src/image/replay.ts"

/**
 * What a script brings: imports as its default export, or a function that makes them, `boot(instance)` where the host has
 * more to do than to give imports (WASI, glue of a compiler), and what it knows of the state that the module does not:
 * `renew`, `handles` and `refused`.
 *
 * @category models
 * @since 0.1.0
 */
export interface HostScript extends CaptureHooks {
  readonly imports: WebAssembly.Imports
  readonly boot: ((instance: WebAssembly.Instance) => unknown) | undefined
}

/**
 * Loads a script; without one there are no imports. Rejects with a `TypeError` for an export that is no such thing.
 *
 * @category loading
 * @since 0.1.0
 */
export const loadHostScript = async (script: string | undefined): Promise<HostScript> => {
  if (script === undefined) return { imports: {}, boot: undefined }
  const found = await import(pathToFileURL(resolve(script)).href) as Readonly<Record<string, unknown>>
  const given = found["default"]
  const imports: unknown = typeof given === "function" ? await (given as () => unknown)() : given
  if (typeof imports !== "object" || imports === null) throw new TypeError("its default export is no import object")
  for (const name of ["boot", "refused"]) {
    if (found[name] === undefined || typeof found[name] === "function") continue
    throw new TypeError(`its export "${name}" is no function`)
  }
  for (const name of ["renew", "handles"]) {
    const list = found[name]
    if (
      list === undefined || Array.isArray(list) && list.every((one) => one === undefined || typeof one === "string")
    ) {
      continue
    }
    throw new TypeError(`its export "${name}" is no list of names`)
  }
  const { boot, handles, refused, renew } = found as Partial<HostScript>
  return { imports: imports as WebAssembly.Imports, boot, handles, refused, renew }
}

/** What a module that follows the reactor convention wants to be called before anything else. */
const INITIALIZER = "_initialize"

/**
 * The exports that boot an instance, in order, behind the script's own `boot`: a host of its own initialises the module
 * itself, once.
 *
 * @category queries
 * @since 0.1.0
 */
export const bootEntries = (
  { exports }: WebAssembly.Instance,
  { boot }: HostScript,
  init: string | undefined
): ReadonlyArray<string> => [
  ...boot === undefined && typeof exports[INITIALIZER] === "function" ? [INITIALIZER] : [],
  ...init === undefined ? [] : [init]
]
