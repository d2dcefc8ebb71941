/**
 * Preloaded into an arm: each module that the program compiles is written to the folder `CORPUS_MODULES`, named by what
 * it is. The program runs as ever.
 */
import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"

const folder = process.env.CORPUS_MODULES!

const keep = (source: unknown): void => {
  if (!ArrayBuffer.isView(source) && !(source instanceof ArrayBuffer)) return
  const bytes = ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source)
  if (!WebAssembly.validate(bytes as Uint8Array<ArrayBuffer>)) return
  writeFileSync(join(folder, `${createHash("sha256").update(bytes).digest("hex")}.wasm`), bytes)
}

WebAssembly.Module = new Proxy(WebAssembly.Module, {
  construct: (target, args: [BufferSource], newTarget) => {
    keep(args[0])
    return Reflect.construct(target, args, newTarget)
  }
})

const { compile, instantiate } = WebAssembly
WebAssembly.compile = ((source: BufferSource, ...rest: []) => {
  keep(source)
  return compile(source, ...rest)
}) as typeof compile
WebAssembly.instantiate = ((source: BufferSource, ...rest: []) => {
  keep(source)
  return instantiate(source, ...rest)
}) as typeof instantiate
const whole = async (response: Response | PromiseLike<Response>): Promise<ArrayBuffer> => (await response).arrayBuffer()
WebAssembly.compileStreaming = async (response) => WebAssembly.compile(await whole(response))
WebAssembly.instantiateStreaming = async (response, imports) => WebAssembly.instantiate(await whole(response), imports)
