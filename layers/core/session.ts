/**
 * A session: one instance, its entries and their signatures, and the rule that one run goes on at a time.
 *
 * Everything of a call is plain code here. The Effect around it is one value a call, made by `CoreFolio`.
 *
 * @since 0.1.0
 */
import {
  ArgumentInvalid,
  EntryMissing,
  HostException,
  LaneLost,
  RunConflict,
  SessionClosed,
  Trap
} from "../../services/Errors.ts"
import type { Extracted } from "../../services/Extraction.ts"
import type { SessionReport } from "../../services/Folio.ts"
import type { Bound } from "../../services/Scheduling.ts"
import type { FunctionType } from "../../src/binary/module.ts"
import { LaneLostError } from "../../src/lane/dispatcher.ts"
import { bitsCaller } from "../../src/wire/bits.ts"
import { trapKind } from "../../src/wire/trap.ts"
import { formatSignature } from "../../src/wire/values.ts"
import { type Misfit, misfit, misfitBits } from "./arguments.ts"
import { whyNative } from "./tally.ts"

/**
 * How arguments and results are written: as JavaScript has them, or as their bits.
 *
 * @category models
 * @since 0.1.0
 */
export type Writing = "values" | "bits"

interface Entry {
  readonly call: (...args: ReadonlyArray<unknown>) => unknown
  readonly signature: FunctionType | undefined
  /** The call by bits: made when first asked for, null when the signature has a reference. */
  callBits?: ReturnType<typeof bitsCaller> | null
}

const misfitOf = (entry: Entry, writing: Writing, args: ReadonlyArray<unknown>): Misfit | undefined => {
  if (writing === "values") return misfit(entry.signature ?? entry.call.length, args)
  if (entry.callBits === undefined) {
    entry.callBits = (entry.signature === undefined ? undefined : bitsCaller(entry.call, entry.signature)) ?? null
  }
  return entry.callBits === null || entry.signature === undefined
    ? { reason: "type", position: -1, detail: "there are references in the signature, which have no bits" }
    : misfitBits(entry.signature, args)
}

/**
 * What a thrown value is to the caller of an entry.
 *
 * @category classification
 * @since 0.1.0
 */
export const thrown = (source: string, entry: string, cause: unknown): Trap | HostException | LaneLost => {
  if (cause instanceof LaneLostError) return new LaneLost({ source, entry, cause })
  const reason = trapKind(cause)
  return reason === undefined
    ? new HostException({ source, entry, cause })
    : new Trap({ source, entry, reason, cause })
}

/** What the engine calls an export that is no function, of whichever realm it is. */
const kindOf = (value: unknown): string | undefined =>
  value === undefined
    ? undefined
    : /WebAssembly\.(\w+)/.exec(Object.prototype.toString.call(value))?.[1].toLowerCase() ?? "value"

/**
 * State of an open module.
 *
 * @category models
 * @since 0.1.0
 */
export class SessionState {
  readonly extracted: Extracted
  readonly bound: Bound
  readonly #entries = new Map<string, Entry>()
  #running: string | undefined
  #closed = false
  #runs = 0

  constructor(extracted: Extracted, bound: Bound) {
    this.extracted = extracted
    this.bound = bound
    const { decoded } = extracted
    const declared = new Map(decoded?.exports.map((entry) => [entry.name, entry]))
    for (const [name, value] of Object.entries(bound.exports)) {
      if (typeof value !== "function") continue
      const index = declared.get(name)?.index
      const typeIndex = index === undefined ? undefined : decoded?.functions[index]?.typeIndex
      this.#entries.set(name, {
        call: value as Entry["call"],
        signature: typeIndex === undefined ? undefined : decoded?.types[typeIndex]
      })
    }
  }

  /** Begins a run: what stands in its way, or undefined, and then {@link unsafeEnd} must follow. */
  unsafeBegin(
    writing: Writing,
    entry: string,
    args: ReadonlyArray<unknown>
  ): SessionClosed | EntryMissing | ArgumentInvalid | RunConflict | undefined {
    const source = this.extracted.name
    if (this.#closed) return new SessionClosed({ source, entry })
    const found = this.#entries.get(entry)
    if (found === undefined) {
      const exported = Object.hasOwn(this.bound.exports, entry) ? this.bound.exports[entry] : undefined
      return new EntryMissing({ source, entry, kind: kindOf(exported), entries: [...this.#entries.keys()] })
    }
    const problem = misfitOf(found, writing, args)
    if (problem !== undefined) {
      const signature = found.signature === undefined
        ? `one of ${found.call.length} parameters`
        : formatSignature(found.signature)
      return new ArgumentInvalid({ source, entry, ...problem, signature })
    }
    if (this.#running !== undefined) return new RunConflict({ source, entry, running: this.#running })
    this.#running = entry
    return undefined
  }

  /** Ends the run that {@link unsafeBegin} began. */
  unsafeEnd(): void {
    this.#running = undefined
  }

  /** Calls the entry of the run that has begun. Throws what it throws. */
  unsafeCall(writing: Writing, entry: string, args: ReadonlyArray<unknown>): unknown {
    this.#runs += 1
    const found = this.#entries.get(entry)
    return writing === "bits" ? found?.callBits?.(args as ReadonlyArray<bigint>) : found?.call(...args)
  }

  /** No run begins afterwards. */
  unsafeClose(): void {
    this.#closed = true
  }

  /** What has happened so far. */
  report(width: number): SessionReport {
    const { nativeReason, prepared } = this.extracted
    const tally = this.bound.tally()
    const { aborts, dispatches, lanesUsed, rung } = tally
    return {
      source: this.extracted.name,
      mode: dispatches > 0 ? "parallel" : "native",
      reason: dispatches > 0 ? undefined : nativeReason ?? whyNative(tally),
      width,
      lanesUsed,
      rung,
      plans: prepared?.chunks.length ?? 0,
      dispatches,
      aborts,
      runs: this.#runs
    }
  }
}
