/**
 * The loader in a Worker of workerd, which compiles nothing at run time: the modules are part of its configuration, the
 * files of the image come from a service.
 */
// @ts-expect-error: named in the configuration
import everythingBytes from "./everything.bin"
// @ts-expect-error: named in the configuration
import everything from "./everything.wasm"
// @ts-expect-error: named in the configuration
import largeBytes from "./large.bin"
// @ts-expect-error: named in the configuration
import large from "./large.wasm"
import { type Call, fetchFrom, imports, open } from "./loader.ts"

const modules: Readonly<Record<string, { readonly module: WebAssembly.Module; readonly bytes: ArrayBuffer }>> = {
  everything: { module: everything, bytes: everythingBytes },
  large: { module: large, bytes: largeBytes }
}

export default {
  fetch: async (
    request: Request,
    { FILES }: { readonly FILES: { readonly fetch: (address: string) => Promise<Response> } }
  ): Promise<Response> => {
    const { calls, folder, program } = await request.json() as {
      readonly calls: ReadonlyArray<Call>
      readonly folder: string
      readonly program: string
    }
    const { bytes, module } = modules[program]!
    const { exports } = new WebAssembly.Instance(module, imports())
    const fetchFile = fetchFrom(`http://files/${folder}`, (address) => FILES.fetch(address))
    return Response.json(await open(new Uint8Array(bytes), exports, fetchFile, calls))
  }
}
