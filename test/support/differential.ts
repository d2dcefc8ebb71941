/**
 * A module beside itself: the original and the prepared one get the same memory, the same globals and the same calls,
 * and everything that can be seen afterwards is compared by its bits.
 *
 * Chunks run on one thread in an order and a number that are chosen for each call, so that a difference is there each
 * time and not once in a while. `dispatches` says how many loop executions really ran apart: a comparison in which
 * there was none proves nothing.
 */
import { InProcessLanes, InProcessMemory } from "../../layers/memory/lanes.ts"
import { Permutation } from "../../layers/memory/permutation.ts"
import { Attachment } from "../../src/lane/attachment.ts"
import { Dispatcher, type DispatcherHost } from "../../src/lane/dispatcher.ts"
import type { LaneGroup } from "../../src/lane/lanes.ts"
import { defaultPolicy } from "../../src/lane/monitor.ts"
import { hiddenPrefix, memoryName } from "../../src/plan/hidden.ts"
import type { Prepared } from "../../src/plan/prepare.ts"

/** A call of an export. */
export interface GuestCall {
  readonly name: string
  readonly args: ReadonlyArray<number | bigint>
}

/** An order of chunks: as the loop would, backwards, or the seed of a shuffle. */
export type ChunkOrder = "forward" | "reverse" | number

/** How the chunks of a call are cut and ordered. */
export interface Split {
  readonly order: ChunkOrder
  /** Participants of one loop, the owner counted. */
  readonly width: number
}

/** What a call left behind. */
export interface Observation {
  /** The result's bits, or how the call failed. */
  readonly ending: string
  readonly memory: Uint8Array
  /** Exported globals by name, as bits. */
  readonly globals: string
  /** Calls of the host in their order, each with its arguments and a digest of memory at that moment. */
  readonly effects: string
}

/** A mulberry32 generator of 32-bit numbers. */
export const randomBits = (seed: number): () => number => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}

const scratch = new DataView(new ArrayBuffer(8))

/** The bits of a value that came out of WebAssembly. */
export const bitsOf = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(bitsOf).join(", ")}]`
  if (typeof value === "bigint") return `${value}n`
  if (typeof value !== "number") return String(value)
  if (Number.isInteger(value) && !Object.is(value, -0)) return String(value)
  scratch.setFloat64(0, value)
  return `0x${scratch.getBigUint64(0).toString(16)}`
}

/** FNV-1a over 32-bit words. */
const digest = (bytes: Uint8Array): number => {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2)
  let hash = 0x811c9dc5
  for (let at = 0; at < words.length; at++) hash = Math.imul(hash ^ words[at], 0x01000193)
  return hash >>> 0
}

/** Calls of the host in one call of the guest at which memory is looked at. */
const MOST_DIGESTS = 16

/** One instance of the module under test, with what it imports. */
export class Guest {
  readonly exports: WebAssembly.Exports
  readonly memory: WebAssembly.Memory | undefined
  readonly #globals: ReadonlyArray<readonly [name: string, global: WebAssembly.Global, initial: unknown]>
  readonly #effects: Array<string> = []

  /** Instantiates with logging stand-ins for imported functions and fresh memories, tables and globals. */
  constructor(
    module: WebAssembly.Module,
    provide: (guest: Guest) => WebAssembly.Imports = () => ({}),
    made: (instance: WebAssembly.Instance) => void = () => {}
  ) {
    const given = provide(this)
    const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {}
    for (const { kind, module: from, name } of WebAssembly.Module.imports(module)) {
      const own = given[from]?.[name]
      const place = imports[from] ??= {}
      if (own !== undefined) place[name] = own
      else if (kind === "function") place[name] = this.logging(`${from}.${name}`)
      else throw new TypeError(`${from}.${name}: a ${kind} has to be provided`)
    }
    const instance = new WebAssembly.Instance(module, imports)
    made(instance)
    this.exports = instance.exports
    const memories = [...Object.entries(this.exports), ...Object.values(imports).flatMap(Object.entries)]
      .map(([, value]) => value)
      .filter((value): value is WebAssembly.Memory => value instanceof WebAssembly.Memory)
    this.memory = memories[0]
    this.#globals = Object.entries(this.exports)
      .filter((entry): entry is [string, WebAssembly.Global] => entry[1] instanceof WebAssembly.Global)
      .filter(([name]) => !name.startsWith(hiddenPrefix))
      .map(([name, global]) => [name, global, global.value])
  }

  /** A host function that notes its arguments and, the first times, the state of memory; it returns their number. */
  logging(name: string): (...args: ReadonlyArray<unknown>) => number {
    return (...args) => {
      const looks = this.memory !== undefined && this.#effects.length < MOST_DIGESTS
      const seen = looks ? digest(new Uint8Array(this.memory!.buffer)) : 0
      this.#effects.push(`${name}(${args.map(bitsOf).join(", ")})@${seen.toString(16)}`)
      return args.length
    }
  }

  /** Sets memory (zero behind the image) and globals to a known state. */
  reset(image: Uint8Array): void {
    this.#effects.length = 0
    if (this.memory !== undefined) {
      const bytes = new Uint8Array(this.memory.buffer)
      bytes.set(image.subarray(0, bytes.length))
      bytes.fill(0, image.length)
    }
    for (const [, global, initial] of this.#globals) {
      try {
        global.value = initial
      } catch {
        // A constant needs no reset.
      }
    }
  }

  /** Calls an export; what it throws is part of the answer. */
  call({ args, name }: GuestCall): Observation {
    let ending: string
    try {
      ending = bitsOf((this.exports[name] as (...args: ReadonlyArray<unknown>) => unknown)(...args))
    } catch (error) {
      ending = error instanceof Error ? `${error.name}: ${error.message}` : `threw ${String(error)}`
    }
    return {
      ending,
      memory: this.memory === undefined ? new Uint8Array() : new Uint8Array(this.memory.buffer),
      globals: this.#globals.map(([name, global]) => `${name}=${bitsOf(global.value)}`).join(", "),
      effects: this.#effects.join("; ")
    }
  }
}

/** What differs first between two observations, or `undefined`. */
export const difference = (expected: Observation, actual: Observation): string | undefined => {
  if (expected.ending !== actual.ending) return `ended with ${actual.ending} instead of ${expected.ending}`
  const [one, other] = [Buffer.from(expected.memory.buffer), Buffer.from(actual.memory.buffer)]
  if (!one.equals(other)) {
    if (one.length !== other.length) return `memory has ${other.length} bytes instead of ${one.length}`
    const at = one.findIndex((byte, index) => byte !== other[index])
    const count = one.reduce((sum, byte, index) => sum + (byte === other[index] ? 0 : 1), 0)
    return `memory differs in ${count} bytes, first at ${at}: ${other[at]} instead of ${one[at]}`
  }
  if (expected.globals !== actual.globals) return `globals are ${actual.globals} instead of ${expected.globals}`
  if (expected.effects !== actual.effects) return `effects are ${actual.effects} instead of ${expected.effects}`
  return undefined
}

class ChosenOrder extends Permutation {
  current: Permutation = new Permutation("forward")

  constructor() {
    super("forward")
  }

  override early(): boolean {
    return this.current.early()
  }

  override pick(count: number): number {
    return this.current.pick(count)
  }
}

/** Lanes on this thread whose number can be lowered from call to call. */
export class ChosenLanes extends InProcessLanes {
  /** Lanes in use, besides the owner. */
  used: number

  constructor(count: number, order: Permutation) {
    super(count, order)
    this.used = count
  }

  override ready(): number {
    return Math.min(this.used, super.ready())
  }
}

/** Most participants of one loop in these tests. */
export const MOST_PARTICIPANTS = 32

/**
 * A host whose clock runs ahead of every wait: a loop that was stopped after an abort is tried again at once. Modules
 * are compiled once, however many instances there are.
 */
export const impatientHost = (): DispatcherHost => {
  let now = 0
  const compiled = new WeakMap<Uint8Array, WebAssembly.Module>()
  return {
    now: () => now += 1e6,
    busy: () => 0,
    compile: (bytes) => {
      let module = compiled.get(bytes)
      if (module === undefined) compiled.set(bytes, module = new WebAssembly.Module(bytes as BufferSource))
      return module
    },
    instantiate: (module, imports) => new WebAssembly.Instance(module, imports),
    later: (_, run) => run()
  }
}

/** How {@link Apart} can be made different. */
export interface ApartOptions {
  readonly provide?: (guest: Guest) => WebAssembly.Imports
  /** Stands between dispatcher and lanes; for faults. */
  readonly lanes?: (lanes: ChosenLanes) => LaneGroup
}

/** The prepared module, ready to be called and compared. */
export interface Twin {
  readonly guest: Guest
  /** Cuts and orders the chunks of what is called from now on, where that can be chosen. */
  readonly split: (split: Split) => void
  /** Loop executions that ran apart so far, and those that were undone. */
  readonly counts: () => { readonly dispatches: number; readonly aborts: number }
  /** True when nothing runs apart any more. */
  readonly broken: () => boolean
}

/** The prepared module on one thread, with the chunks of each loop in a chosen order. */
export class Apart implements Twin {
  readonly guest: Guest
  readonly attachment: Attachment
  readonly #order = new ChosenOrder()
  readonly #lanes: ChosenLanes
  readonly #dispatcher: Dispatcher

  constructor(prepared: Prepared, options: ApartOptions = {}) {
    if (prepared.guest === undefined) throw new TypeError("nothing of the module was planned")
    this.guest = new Guest(new WebAssembly.Module(prepared.guest as BufferSource), options.provide)
    const memory = this.guest.exports[memoryName] as WebAssembly.Memory
    this.#lanes = new ChosenLanes(MOST_PARTICIPANTS - 1, this.#order)
    const policy = { ...defaultPolicy, minimumWorkNs: 0 }
    const group = options.lanes?.(this.#lanes) ?? this.#lanes
    this.#dispatcher = new Dispatcher(group, policy, impatientHost(), "fixed")
    const mapped = new InProcessMemory(memory)
    this.attachment = new Attachment(this.#dispatcher, this.guest.exports, prepared, memory, mapped)
  }

  split({ order, width }: Split): void {
    this.#order.current = new Permutation(order)
    this.#lanes.used = width - 1
  }

  counts(): { readonly dispatches: number; readonly aborts: number } {
    const { aborts, dispatches } = this.attachment.counts.report()
    return { aborts, dispatches }
  }

  broken(): boolean {
    return this.#dispatcher.broken
  }
}

/** A difference that was found. */
export interface Mismatch {
  readonly call: GuestCall
  readonly split: Split
  readonly what: string
}

/** Text of a mismatch for people. */
export const describeMismatch = ({ call, split, what }: Mismatch): string =>
  `${call.name}(${call.args.map(String).join(", ")}), ${split.width} participants, ${split.order}: ${what}`

/** Results of one comparison. */
export interface Tally {
  readonly mismatch: Mismatch | undefined
  /** Splits in which at least one loop execution ran apart to its end. */
  readonly apart: number
  readonly dispatches: number
  readonly aborts: number
}

/** Runs one call on the original and, with each split, on the prepared module. Stops at the first difference. */
export const compareCall = (
  original: Guest,
  twin: Twin,
  image: Uint8Array,
  call: GuestCall,
  splits: ReadonlyArray<Split>
): Tally => {
  original.reset(image)
  const expected = original.call(call)
  const before = twin.counts()
  let previous = before
  let count = 0
  for (const split of splits) {
    twin.split(split)
    twin.guest.reset(image)
    const what = difference(expected, twin.guest.call(call))
    const now = twin.counts()
    if (now.dispatches > previous.dispatches) count++
    previous = now
    if (what !== undefined) return { mismatch: { call, split, what }, apart: count, ...since(before, now) }
  }
  return { mismatch: undefined, apart: count, ...since(before, previous) }
}

const since = (
  before: { readonly dispatches: number; readonly aborts: number },
  now: { readonly dispatches: number; readonly aborts: number }
): { readonly dispatches: number; readonly aborts: number } => ({
  dispatches: now.dispatches - before.dispatches,
  aborts: now.aborts - before.aborts
})
