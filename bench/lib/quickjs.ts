/**
 * QuickJS with the glue of its package: a real interpreter, whose memory is imported and grows, with host functions and
 * a start function.
 */
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { consumerFile } from "../../test/support/consumers.ts"

const name = "@jitl/quickjs-wasmfile-release-sync"

/** Its module. @category fixtures @since 0.1.0 */
export const quickJsBytes = (): Uint8Array<ArrayBuffer> =>
  new Uint8Array(consumerFile(`${name}/dist/emscripten-module.wasm`))

/** What Emscripten's glue gives. */
interface Glue {
  readonly _malloc: (bytes: number) => number
  readonly _free: (at: number) => void
  readonly lengthBytesUTF8: (text: string) => number
  readonly stringToUTF8: (text: string, at: number, room: number) => void
  readonly UTF8ToString: (at: number) => string
}

/** The interpreter's functions. */
interface Functions {
  readonly QTS_NewRuntime: () => number
  readonly QTS_NewContext: (runtime: number, intrinsics: number) => number
  readonly QTS_Eval: (
    context: number,
    at: number,
    length: number,
    file: string,
    detect: number,
    flags: number
  ) => number
  readonly QTS_GetString: (context: number, value: number) => number
}

const load = async (file: string) => {
  const manifest = createRequire(join(import.meta.dirname, "../../test/consumers/package.json"))
    .resolve(`${name}/package.json`)
  return import(pathToFileURL(join(dirname(manifest), "dist", file)).href)
}

/**
 * An interpreter.
 *
 * @category models
 * @since 0.1.0
 */
export interface QuickJs {
  /** Makes a runtime with a context, and returns the context. */
  readonly boot: () => number
  /** Evaluates a program in a context, and returns what it gives as text. */
  readonly evaluate: (context: number, code: string) => string
}

/**
 * Starts the glue around an instance that the caller makes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const openQuickJs = async (
  instantiate: (imports: WebAssembly.Imports) => WebAssembly.Exports
): Promise<QuickJs> => {
  const { default: factory } = await load("emscripten-module.mjs")
  const { QuickJSFFI } = await load("ffi.mjs")
  const glue: Glue = await factory({
    instantiateWasm: (imports: WebAssembly.Imports, receive: (instance: { exports: WebAssembly.Exports }) => void) => {
      const exports = instantiate(imports)
      receive({ exports })
      return exports
    }
  })
  const functions = new QuickJSFFI(glue) as Functions
  return {
    boot: () => functions.QTS_NewContext(functions.QTS_NewRuntime(), 0x7fff),
    evaluate: (context, code) => {
      const length = glue.lengthBytesUTF8(code)
      const at = glue._malloc(length + 1)
      glue.stringToUTF8(code, at, length + 1)
      const value = functions.QTS_Eval(context, at, length, "program.js", 0, 0)
      glue._free(at)
      return glue.UTF8ToString(functions.QTS_GetString(context, value))
    }
  }
}
