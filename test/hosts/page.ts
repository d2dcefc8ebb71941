/**
 * The loader in a page: the module is compiled as it arrives.
 */
import { MODULE_NAME } from "../../programs/entry/bake.ts"
import { type Call, fetchFrom, imports, open, type Seen } from "./loader.ts"

/** Opens the image in a folder of the server. */
export const openIn = async (folder: string, calls: ReadonlyArray<Call>): Promise<Seen> => {
  const fetchFile = fetchFrom(folder)
  const bytes = new Uint8Array(await fetchFile(MODULE_NAME) as ArrayBuffer)
  const { instance } = await WebAssembly.instantiate(bytes, imports())
  return await open(bytes, instance.exports, fetchFile, calls)
}

Object.assign(globalThis, { openIn })
