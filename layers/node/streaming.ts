/**
 * The body of a streamed module, replaced while everything else about its response stays the engine's business: the
 * checks of type, status and use, their order and their messages.
 *
 * @since 0.1.0
 */
import { beginsAsModule, shortestModule } from "./source-bytes.ts"

const joined = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

/**
 * The chunks of a body, held until all are there and then given on as one replaced module, or as they were. What
 * cannot be a module (a wrong first chunk, a chunk that is not of bytes) passes through at once, so that the engine
 * rejects it as early as it would have.
 */
const replacedBody = async function*(
  body: AsyncIterable<unknown>,
  substitute: (bytes: Uint8Array) => Uint8Array | undefined
): AsyncGenerator<unknown, void, undefined> {
  const held: Array<Uint8Array> = []
  let passes = false
  for await (const chunk of body) {
    if (!passes && chunk instanceof Uint8Array) {
      // A copy: who produced it may use its memory again.
      held.push(new Uint8Array(chunk))
      if (held.length > 1 || beginsAsModule(chunk)) continue
      held.pop()
    }
    passes = true
    yield* held.splice(0)
    yield chunk
  }
  const whole = joined(held)
  const replaced = whole.length >= shortestModule && beginsAsModule(whole) ? substitute(whole) : undefined
  if (replaced === undefined) yield* held
  else yield replaced
}

const isIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value

/**
 * The argument of a streaming function with its body replaced. It is waited for once, as the engine would.
 *
 * @category streaming
 * @since 0.1.0
 */
export const replacedSource = async (
  source: unknown,
  substitute: (bytes: Uint8Array) => Uint8Array | undefined
): Promise<unknown> => {
  const response = await source
  if (typeof response !== "object" || response === null) return response
  return new Proxy(response, {
    // The getters of a response look at their receiver, which must be the response itself.
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target)
      return key === "body" && isIterable(value) ? replacedBody(value, substitute) : value
    }
  })
}
