/**
 * A host without chance: seeded randomness and clocks that count calls. Under it a program whose memory holds a time
 * or a random seed ends in the same state twice, so that the states of two arms can be compared to the last byte.
 * Times are never taken under it.
 */
import crypto from "node:crypto"
import { syncBuiltinESMExports } from "node:module"

/** xorshift32. */
const generator = (seed: number): () => number => {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}

/** Whether the clock is asked by Folio, which times loops and must go on doing so. */
const calledByEngine = (): boolean => {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 3
  const { stack } = new Error()
  Error.stackTraceLimit = limit
  return /\/layers\/node\/engine\.[jt]s/.test(stack ?? "")
}

/**
 * Replaces `Math.random`, the random bytes of both crypto interfaces, `Date` and `performance.now`.
 *
 * @category hosts
 * @since 0.1.0
 */
export const settleHost = (): void => {
  const next = generator(0x2545f491)
  Math.random = () => next() / 2 ** 32

  const fill = <A extends ArrayBufferView>(view: A): A => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
    for (let at = 0; at < bytes.length; at++) bytes[at] = next()
    return view
  }
  globalThis.crypto.getRandomValues = fill as typeof globalThis.crypto.getRandomValues
  crypto.randomFillSync = ((view: ArrayBufferView) => fill(view)) as typeof crypto.randomFillSync
  crypto.randomBytes = ((size: number) => Buffer.from(fill(new Uint8Array(size)))) as typeof crypto.randomBytes
  syncBuiltinESMExports()

  const epoch = Date.UTC(2026, 0, 1)
  let ticks = 0
  const now = (): number => epoch + ++ticks / 1000
  const RealDate = Date
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [Math.floor(now())] : args, newTarget),
    apply: () => new RealDate(Math.floor(now())).toString(),
    get: (target, key) => key === "now" ? () => Math.floor(now()) : Reflect.get(target, key)
  })
  const realNow = performance.now.bind(performance)
  performance.now = () => calledByEngine() ? realNow() : ++ticks / 1000
}
