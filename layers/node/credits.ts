/**
 * How many lanes the whole process may have. A program's own worker threads can be owners too, and each of them would
 * take every CPU for itself; so owners draw on one account, in a shared buffer that workers inherit as environment
 * data.
 *
 *     word 0            lanes granted
 *     words 4 s + 1 …   slot s: thread (0 free, -1 being changed), tick of the thread's start, lanes held, unused
 *
 * An owner that ends without giving back (a terminated worker) is found dead by the next one that asks. Owners that
 * share no ancestor using Folio do not see each other: whoever wants the bound kept imports Folio in the main thread.
 *
 * @since 0.1.0
 */
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads"
import { currentThread, threadStatus } from "./liveness.ts"

/** Key of the environment data. */
const creditsKey = "folio-wasm/credits"

/**
 * Most groups of lanes that a process can have at a time.
 *
 * @category constants
 * @since 0.1.0
 */
export const MAXIMUM_OWNERS = 64

const slotWords = 4
const granted = 0
const threadOf = (slot: number): number => 1 + slot * slotWords
const startOf = (slot: number): number => threadOf(slot) + 1
const lanesOf = (slot: number): number => threadOf(slot) + 2
const bufferBytes = (1 + MAXIMUM_OWNERS * slotWords) * 4

/**
 * Lanes granted to one group.
 *
 * @category models
 * @since 0.1.0
 */
export interface Credits {
  readonly lanes: number
  /** Gives back some lanes. */
  release(lanes: number): void
}

/**
 * The account of this process.
 *
 * @category constructors
 * @since 0.1.0
 */
export const processCredits = (): Int32Array<SharedArrayBuffer> => {
  const inherited = getEnvironmentData(creditsKey)
  if (inherited instanceof SharedArrayBuffer && inherited.byteLength === bufferBytes) return new Int32Array(inherited)
  const buffer = new SharedArrayBuffer(bufferBytes)
  setEnvironmentData(creditsKey, buffer)
  return new Int32Array(buffer)
}

const isAlive = (thread: number, startedAt: number): boolean => threadStatus(thread)?.startedAt === startedAt

/** Takes back what owners hold that are no more. */
const reclaim = (account: Int32Array<SharedArrayBuffer>): void => {
  for (let slot = 0; slot < MAXIMUM_OWNERS; slot++) {
    const thread = Atomics.load(account, threadOf(slot))
    if (thread <= 0 || isAlive(thread, Atomics.load(account, startOf(slot)))) continue
    if (Atomics.compareExchange(account, threadOf(slot), thread, -1) !== thread) continue
    Atomics.sub(account, granted, Atomics.exchange(account, lanesOf(slot), 0))
    Atomics.store(account, threadOf(slot), 0)
  }
}

/** Takes up to `asked` lanes, never more than `limit` over all owners. */
const take = (account: Int32Array<SharedArrayBuffer>, asked: number, limit: number): number => {
  for (;;) {
    const before = Atomics.load(account, granted)
    const lanes = Math.max(0, Math.min(asked, limit - before))
    if (lanes === 0 || Atomics.compareExchange(account, granted, before, before + lanes) === before) return lanes
  }
}

/**
 * Asks for lanes; fewer, or none, may be granted.
 *
 * @param limit most lanes of the whole process
 * @category constructors
 * @since 0.1.0
 */
export const acquireCredits = (
  asked: number,
  limit: number,
  account: Int32Array<SharedArrayBuffer> = processCredits()
): Credits => {
  const none: Credits = { lanes: 0, release: () => {} }
  const thread = currentThread()
  const startedAt = thread === undefined ? undefined : threadStatus(thread)?.startedAt
  if (thread === undefined || startedAt === undefined) return none
  reclaim(account)
  for (let slot = 0; slot < MAXIMUM_OWNERS; slot++) {
    if (Atomics.compareExchange(account, threadOf(slot), 0, -1) !== 0) continue
    const lanes = take(account, asked, limit)
    Atomics.store(account, startOf(slot), startedAt)
    Atomics.store(account, lanesOf(slot), lanes)
    Atomics.store(account, threadOf(slot), lanes === 0 ? 0 : thread)
    let held = lanes
    return {
      lanes,
      release: (count) => {
        const returned = Math.min(count, held)
        if (returned === 0) return
        held -= returned
        Atomics.sub(account, lanesOf(slot), returned)
        Atomics.sub(account, granted, returned)
        if (held === 0) Atomics.store(account, threadOf(slot), 0)
      }
    }
  }
  return none
}
