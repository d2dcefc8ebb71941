/**
 * Five hundred and twelve tenants of QuickJS: each has routes, tables and words of its own, as an image in a file.
 */
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeBaking from "../../layers/node/NodeBaking.ts"
import { Baking } from "../../services/Baking.ts"
import type { MakeInstance } from "../../services/Tenants.ts"
import { ByteWriter } from "../../src/binary/writer.ts"
import { decodeImage, encodeImage } from "../../src/image/format.ts"
import { openQuickJs, type QuickJs, quickJsBytes } from "./quickjs.ts"

/** How many. @category constants @since 0.1.0 */
export const TENANTS = 512

/** What a tenant sets up. @category fixtures @since 0.1.0 */
export const initialise = (tenant: number): string =>
  `globalThis.T = ${tenant}; var routes = [], lookup = {}
  for (var i = 0; i < 400; i++) {
    var r = { path: "/t" + T + "/r" + i, id: i, tags: ["a" + i, "b" + (i % 7)], fn: new Function("q", "return q + " + i) }
    routes.push(r); lookup[r.path] = r
  }
  var words = []; for (var i = 0; i < 3000; i++) words.push("w" + ((i * 7919) % 10007).toString(36))
  words.sort()
  var index = new Map(words.map((w, i) => [w, i])), hits = 0
  function handle(path, q) {
    hits++
    var r = lookup[path], out = []
    for (var i = 0; i < 20; i++) {
      out.push("<li>" + r.tags[i % 2] + ":" + words[(q + i) % words.length] + ":" +
        index.get(words[(q * 3 + i) % words.length]) + "</li>")
    }
    return T + "|" + hits + "|" + r.fn(q) + out.join("")
  }
  "ready"`

/** A request of a tenant. @category fixtures @since 0.1.0 */
export const requestOf = (tenant: number, route: number): string => `handle("/t${tenant}/r${route}", ${route})`

/** Whether an answer is that of a tenant's first request: nothing of another one, or of an earlier request, is in it. */
export const isAnswer = (answer: string, tenant: number): boolean => answer.startsWith(`${tenant}|1|`)

/** An interpreter with the number of its context, which is the same in every image. */
export interface Host extends QuickJs {
  readonly context: number
}

const name = "quickjs"

/**
 * Writes the image of each tenant into a folder.
 *
 * @category fixtures
 * @since 0.1.0
 */
export const writeImages = (
  folder: string,
  tenants = TENANTS
): Effect.Effect<{ readonly context: number; readonly image: (tenant: number) => string }> =>
  Effect.gen(function*() {
    mkdirSync(folder, { recursive: true })
    const image = (tenant: number): string => join(folder, `${tenant}.folio`)
    const baking = yield* Baking
    const module = yield* baking.prepare(quickJsBytes(), name)
    let instance: WebAssembly.Instance | undefined
    const interpreter = yield* Effect.promise(() =>
      openQuickJs((imports) => (instance = new WebAssembly.Instance(module.instrumented, imports)).exports)
    )
    const context = interpreter.boot()
    const booted = yield* baking.capture(module, instance!)
    for (let tenant = 0; tenant < tenants; tenant++) {
      yield* baking.open(module, instance!, booted)
      interpreter.evaluate(context, initialise(tenant))
      writeFileSync(image(tenant), baking.encode(yield* baking.capture(module, instance!)))
    }
    return { context, image }
  }).pipe(Effect.orDie, Effect.provide(NodeBaking.layer))

/** The interpreter with a tenant's program in a custom section, as toolchains that embed programs make it. */
const withProgram = (bytes: Uint8Array, tenant: number): Uint8Array => {
  const content = new ByteWriter().name("program").bytes(new TextEncoder().encode(initialise(tenant)))
  return new ByteWriter(bytes.length + content.length + 16).bytes(bytes).section(0, content).finish()
}

/**
 * Writes a module of its own for each of the first tenants, and its image.
 *
 * @category fixtures
 * @since 0.1.0
 */
export const writeDistinct = (
  folder: string,
  image: (tenant: number) => string,
  count: number
): ReadonlyArray<{ readonly module: string; readonly image: string }> => {
  const bytes = quickJsBytes()
  return Array.from({ length: count }, (_, tenant) => {
    const module = withProgram(bytes, tenant)
    const files = { module: join(folder, `own-${tenant}.wasm`), image: join(folder, `own-${tenant}.folio`) }
    const digest = createHash("sha256").update(module).digest("hex")
    writeFileSync(files.module, module)
    writeFileSync(files.image, encodeImage({ ...decodeImage(readFileSync(image(tenant))), module: digest }))
    return files
  })
}

/** Opens an interpreter whose booted context has a known number. @category fixtures @since 0.1.0 */
export const openHost = (context: number) => async (instantiate: MakeInstance): Promise<Host> => ({
  ...await openQuickJs((imports) => instantiate(imports).exports),
  context
})
