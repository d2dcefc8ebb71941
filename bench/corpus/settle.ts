/**
 * A host without chance: seeded randomness and clocks that count calls. Under it a program whose memory holds a time
 * or a random seed ends in the same state twice, so that the states of two arms can be compared to the last byte.
 * Times are never taken under it.
 */
import crypto from "node:crypto"
import { syncBuiltinESMExports } from "node:module"
import { pathToFileURL } from "node:url"
import { root } from "../lib/sources.ts"

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

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** Where Folio's own files are: in the folders of the house, or in its build. */
const ownFile = new RegExp(`${escaped(pathToFileURL(root).href)}/(?:dist|layers|programs|src)/`)

/**
 * Whether Folio asks for a time or a random number. It times loops and must go on doing so, and what it asks must not
 * move what the program is told.
 */
const askedByFolio = (): boolean => {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 6
  const { stack } = new Error()
  Error.stackTraceLimit = limit
  const caller = stack?.split("\n").slice(1).find((frame) => !frame.includes(import.meta.url))
  return ownFile.test(caller ?? "")
}

/**
 * Replaces `Math.random`, the random bytes of both crypto interfaces, `Date` and `performance.now`.
 *
 * @category hosts
 * @since 0.1.0
 */
export const settleHost = (): void => {
  const forProgram = generator(0x2545f491)
  const forFolio = generator(0x9e3779b9)
  const source = (): () => number => askedByFolio() ? forFolio : forProgram
  Math.random = () => source()() / 2 ** 32

  const fill = <A extends ArrayBufferView>(view: A): A => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
    const next = source()
    for (let at = 0; at < bytes.length; at++) bytes[at] = next()
    return view
  }
  globalThis.crypto.getRandomValues = fill as typeof globalThis.crypto.getRandomValues
  crypto.randomFillSync = ((view: ArrayBufferView) => fill(view)) as typeof crypto.randomFillSync
  crypto.randomBytes = ((size: number) => Buffer.from(fill(new Uint8Array(size)))) as typeof crypto.randomBytes
  syncBuiltinESMExports()

  const epoch = Date.UTC(2026, 0, 1)
  let ticks = 0
  const RealDate = Date
  const realNow = performance.now.bind(performance)
  const now = (): number => askedByFolio() ? RealDate.now() : Math.floor(epoch + ++ticks / 1000)
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
    get: (target, key) => key === "now" ? now : Reflect.get(target, key)
  })
  performance.now = () => askedByFolio() ? realNow() : ++ticks / 1000
}
