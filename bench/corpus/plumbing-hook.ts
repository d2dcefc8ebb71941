/**
 * Preloaded into an arm: every module is replaced by itself with a control memory and a dispatch table appended.
 * Nothing is planned and nothing uses them, so the program must not change in anything but bytes. Where
 * `CORPUS_PLUMBING` names a file, each module is also emitted without edits and compared with its bytes, and what was
 * seen is written there on exit; starts that are timed leave it out.
 */
import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import { emitModule } from "../../src/binary/emit.ts"
import { decodeModule } from "../../src/binary/module.ts"

/**
 * One module that a program compiled.
 *
 * @category models
 * @since 0.1.0
 */
export interface PlumbedModule {
  readonly sha256: string
  readonly bytes: number
  /** Decoded and emitted without edits, it is the same bytes. */
  readonly roundTrip: boolean
  readonly milliseconds: number
}

const reportFile = process.env.CORPUS_PLUMBING
const seen: Array<PlumbedModule> = []

const describe = (bytes: Uint8Array, milliseconds: number): PlumbedModule => ({
  sha256: createHash("sha256").update(bytes).digest("hex"),
  bytes: bytes.length,
  roundTrip: Buffer.compare(emitModule(decodeModule(bytes), {}), bytes) === 0,
  milliseconds
})

const plumb = (source: BufferSource): BufferSource => {
  if (!ArrayBuffer.isView(source) && !(source instanceof ArrayBuffer)) return source
  const bytes = ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source)
  const start = performance.now()
  let appended: Uint8Array<ArrayBuffer>
  try {
    appended = emitModule(decodeModule(bytes), {
      tables: [{ min: 4, max: 4, type: "funcref" }],
      memories: [{ min: 1, max: 1, shared: true, is64: false }]
    })
  } catch (error) {
    // Bytes that are no module go to the engine as they are, for its own message; a module must never get here.
    if (WebAssembly.validate(source)) throw error
    return source
  }
  const milliseconds = performance.now() - start
  if (reportFile !== undefined) seen.push(describe(bytes, milliseconds))
  return appended
}

const Module: typeof WebAssembly.Module = new Proxy(WebAssembly.Module, {
  construct: (target, args: [BufferSource], newTarget) =>
    Reflect.construct(target, [plumb(args[0]), ...args.slice(1)], newTarget === Module ? target : newTarget)
})
WebAssembly.Module = Module

const { compile, instantiate } = WebAssembly
WebAssembly.compile = ((source: BufferSource, ...rest: []) => compile(plumb(source), ...rest)) as typeof compile
WebAssembly.instantiate =
  ((source: BufferSource | WebAssembly.Module, ...rest: []) =>
    source instanceof WebAssembly.Module
      ? instantiate(source, ...rest)
      : instantiate(plumb(source), ...rest)) as typeof instantiate
const whole = async (response: Response | PromiseLike<Response>): Promise<ArrayBuffer> => (await response).arrayBuffer()
WebAssembly.compileStreaming = async (response) => WebAssembly.compile(await whole(response))
WebAssembly.instantiateStreaming = async (response, imports) => WebAssembly.instantiate(await whole(response), imports)

if (reportFile !== undefined) process.on("exit", () => writeFileSync(reportFile, JSON.stringify(seen)))
