/**
 * What runs in a host besides Node.js: a chunked image is opened there, and what the guest then does is told as text.
 */
import { decodeModule, type FetchFile, Mismatch, openChunks } from "../../programs/entry/bake.ts"

/** A call of an export. */
export type Call = readonly [name: string, ...args: ReadonlyArray<number>]

/** What was seen in the host. */
export interface Seen {
  /** Results of the calls, and the SHA-256 of the memory in front of them; the refusal where there was one. */
  readonly observed?: ReadonlyArray<string>
  readonly memory?: string
  readonly refused?: { readonly code: string; readonly place: string } | undefined
  readonly error?: string
}

const resultOf = (exports: WebAssembly.Exports, [name, ...args]: Call): string => {
  try {
    return String((exports[name] as (...args: ReadonlyArray<number>) => unknown)(...args))
  } catch (error) {
    return error instanceof WebAssembly.RuntimeError ? "trap" : String(error)
  }
}

/** Results of calls of an instance, behind the SHA-256 of its memory. */
export const observe = async (exports: WebAssembly.Exports, calls: ReadonlyArray<Call>): Promise<Seen> => {
  const { buffer } = exports["memory"] as WebAssembly.Memory
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", buffer as ArrayBuffer))
  return {
    memory: Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join(""),
    observed: calls.map((call) => resultOf(exports, call))
  }
}

/** Opens an image in an instance of the module with these bytes, and looks at it. */
export const open = async (
  bytes: Uint8Array,
  exports: WebAssembly.Exports,
  fetchFile: FetchFile,
  calls: ReadonlyArray<Call>
): Promise<Seen> => {
  try {
    await openChunks(decodeModule(bytes), exports, fetchFile, { inFlight: 2 })
    return await observe(exports, calls)
  } catch (error) {
    return error instanceof Mismatch
      ? { refused: { code: error.code, place: error.place } }
      : { error: error instanceof Error ? error.message : String(error) }
  }
}

/** Imports of both programs; nothing of a boot is done again. */
export const imports = (): WebAssembly.Imports => ({
  host: {
    now: () => {
      throw new Error("booted again")
    }
  }
})

/** Files below an address; what the server has no file for rejects. */
export const fetchFrom =
  (address: string, get: (address: string) => Promise<Response> = fetch): FetchFile => async (name) => {
    const response = await get(`${address}/${name}`)
    if (!response.ok) throw new Error(`${response.status} ${name}`)
    return await response.arrayBuffer()
  }
