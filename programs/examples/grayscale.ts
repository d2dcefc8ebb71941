/**
 * An Effect application that turns an image gray on all cores.
 *
 *     node programs/examples/grayscale.ts
 *
 * `grayscale` only knows the `Folio` service: the program below gives it threads, a test gives it `MemoryFolio.layer`.
 * It asks for parallel and handles the reasons against it one by one: a picture too small to share out is done already,
 * and where lanes cannot be had the original code does it.
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as NodeFolio from "../../layers/node/NodeFolio.ts"
import { Folio } from "../../services/Folio.ts"

const source = new URL("../../bench/fixtures/kernels/loops-o2.wasm", import.meta.url)
const WORK = 4 * 65536

/**
 * One gray byte a pixel, out of four (red, green, blue, alpha); and how it was done.
 *
 * @category examples
 * @since 0.1.0
 */
export const grayscale = (module: Uint8Array | URL, pixels: Uint8Array) =>
  Effect.gen(function*() {
    const session = yield* Folio.open(module)
    const count = pixels.length / 4
    const memory = session.memory!
    const missing = WORK + pixels.length + count - memory.buffer.byteLength
    if (missing > 0) memory.grow(Math.ceil(missing / 65536))
    new Uint8Array(memory.buffer).set(pixels, WORK)
    const args = [WORK + pixels.length, WORK, count]
    const how = yield* session.run("gray", args, { fallback: "fail" }).pipe(
      Effect.as("in parallel"),
      Effect.catchTag("NotWorthwhile", (error) =>
        error.ran ? Effect.succeed("natively") : Effect.as(session.run("gray", args), "natively")),
      Effect.catchTag("LaneStartTimeout", "CreditsExhausted", "Refused", (error) =>
        Effect.as(session.run("gray", args), `natively: ${error.message}`))
    )
    return { how, gray: new Uint8Array(memory.buffer).slice(args[0], args[0] + count) }
  }).pipe(Effect.scoped)

if (import.meta.main) {
  const pixels = new Uint8Array(4 * 2048 * 2048).map((_, at) => at * 31)
  await grayscale(source, pixels).pipe(
    Effect.tap(({ gray, how }) => Console.log(`${gray.length} pixels, ${how}`)),
    Effect.provide(NodeFolio.layer()),
    Effect.runPromise
  )
}
