/**
 * QuickJS, with its own glue: an interpreter whose memory is imported and cleared by a start function, booted with a
 * program in it, captured, and taken over by fresh instances.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import { Baking, type ImageModule } from "../../services/Baking.ts"
import { consumerFile } from "../support/consumers.ts"

const name = "@jitl/quickjs-wasmfile-release-sync"
const bytes = consumerFile(`${name}/dist/emscripten-module.wasm`)
const folder = dirname(
  createRequire(join(import.meta.dirname, "../consumers/package.json")).resolve(`${name}/package.json`)
)

/** What Emscripten's module gives. */
interface Glue {
  readonly _malloc: (bytes: number) => number
  readonly _free: (at: number) => void
  readonly lengthBytesUTF8: (text: string) => number
  readonly stringToUTF8: (text: string, at: number, room: number) => void
  readonly UTF8ToString: (at: number) => string
}

/** The functions of the interpreter. */
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

const load = async (file: string) => import(pathToFileURL(join(folder, "dist", file)).href)

/** An interpreter without a program. */
const start = async (module: ImageModule) => {
  const { default: factory } = await load("emscripten-module.mjs")
  const { QuickJSFFI } = await load("ffi.mjs")
  let instance: WebAssembly.Instance | undefined
  const glue: Glue = await factory({
    instantiateWasm: (imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void) => {
      instance = new WebAssembly.Instance(module.instrumented, imports)
      receive(instance)
      return instance.exports
    }
  })
  return { glue, ffi: new QuickJSFFI(glue) as Functions, instance: instance! }
}

type Interpreter = Awaited<ReturnType<typeof start>>

const evaluate = ({ ffi, glue }: Interpreter, context: number, code: string): string => {
  const length = glue.lengthBytesUTF8(code)
  const at = glue._malloc(length + 1)
  glue.stringToUTF8(code, at, length + 1)
  const value = ffi.QTS_Eval(context, at, length, "program.js", 0, 0)
  glue._free(at)
  return glue.UTF8ToString(ffi.QTS_GetString(context, value))
}

const program = `
  const words = new Map()
  for (let i = 0; i < 20000; i++) words.set("word" + i, { at: i, text: String(i * 7919 % 10007) })
  function find(key) { return words.get(key).text + ":" + words.size }
  function add(key) { words.set(key, { at: -1, text: key.toUpperCase() }); return find(key) }
  class Counter { #n = 0; next() { return ++this.#n } }
  const counter = new Counter(); counter.next()
  "booted"`

const session = (interpreter: Interpreter, context: number): ReadonlyArray<string> =>
  [
    `find("word19999")`,
    `add("later")`,
    `"" + counter.next()`,
    `[...words.keys()].sort().slice(5, 9).join()`,
    `"" + Math.random()`,
    `try { find("nothing") } catch (error) { error.name + error.message }`
  ].map((code) => evaluate(interpreter, context, code))

const memoryOf = (instance: WebAssembly.Instance): Buffer =>
  Buffer.from(Object.values(instance.exports).find((value) => value instanceof WebAssembly.Memory)!.buffer)

describe("QuickJS", () => {
  it("goes on from an image: the same answers, the same bytes", () =>
    Effect.gen(function*() {
      const baking = yield* Baking
      const module = yield* baking.prepare(bytes, "quickjs")
      assert.isDefined(module.decoded.start)
      assert.isDefined(module.decoded.memories[0].import)
      const source = yield* Effect.promise(() => start(module))
      const context = source.ffi.QTS_NewContext(source.ffi.QTS_NewRuntime(), 0x7fff)
      assert.strictEqual(evaluate(source, context, program), "booted")
      const image = yield* baking.capture(module, source.instance)
      const file = baking.encode(image)
      const expected = session(source, context)
      assert.strictEqual(expected[1], "LATER:20001")
      assert.strictEqual(expected[2], "2")
      for (let copy = 0; copy < 2; copy++) {
        const fresh = yield* Effect.promise(() => start(module))
        yield* baking.open(module, fresh.instance, file)
        // The random number too: what an image holds and nobody renews is the same for everyone.
        assert.deepStrictEqual(session(fresh, context), expected)
        assert.isTrue(memoryOf(fresh.instance).equals(memoryOf(source.instance)))
      }
      // Segments for an imported memory, without the start function that would clear it.
      const baked = yield* baking.bake(module, image)
      assert.deepStrictEqual(yield* baking.checkBaked(module, baked, image), [])
    }).pipe(Effect.provide(NodeBaking.layer), Effect.runPromise))
})
