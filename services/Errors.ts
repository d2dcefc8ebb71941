/**
 * Every error that Folio reports, tagged. Each message says what happened, where, and what the reader can do next.
 *
 * Errors that can come from another isolate, or that a command prints as JSON, are `Schema` classes; the others are
 * plain data. A cause keeps its identity: `error.cause` is the very object that was thrown.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"

/**
 * The source is not a module that this engine accepts.
 *
 * - `unreadable`: the file could not be read
 * - `unsupported`: a kind of source that this backend does not take
 * - `malformed`: the engine refuses the bytes
 *
 * @category errors
 * @since 0.1.0
 */
export class ModuleInvalid extends Data.TaggedError("ModuleInvalid")<{
  readonly source: string
  readonly reason: "unreadable" | "unsupported" | "malformed"
  readonly detail: string
  readonly cause?: unknown
}> {
  override get message(): string {
    const remedy = {
      unreadable: "Check the path and its permissions.",
      unsupported: "Pass the module's bytes, or a WebAssembly.Module.",
      malformed: "Rebuild the module, or check that the file is complete and WebAssembly."
    }[this.reason]
    return `${this.source}: not a usable module: ${withoutStop(this.detail)}. ${remedy}`
  }
}

/**
 * The module's imports do not fit what was given.
 *
 * @category errors
 * @since 0.1.0
 */
export class LinkFailed extends Data.TaggedError("LinkFailed")<{
  readonly source: string
  readonly reason: "missing" | "incompatible"
  /** Imports at fault, in the module's order; empty when the engine names none. */
  readonly imports: ReadonlyArray<{ readonly module: string; readonly name: string; readonly kind: string }>
  readonly detail: string
  readonly cause?: unknown
}> {
  override get message(): string {
    const [first, ...rest] = this.imports
    if (this.reason === "incompatible" || first === undefined) {
      return `${this.source}: an import does not fit: ${withoutStop(this.detail)}. Give an import of the declared type.`
    }
    const more = rest.length === 0 ? "" : ` and ${rest.length} more`
    const why = first.kind === "memory" ? ` (${withoutStop(this.detail)})` : ""
    return `${this.source}: the ${first.kind} import "${first.module}" "${first.name}"${more} is missing${why}. ` +
      `Give it in \`imports\`, or run the program with the glue that provides it.`
  }
}

/**
 * The entry asked for is not an exported function.
 *
 * @category errors
 * @since 0.1.0
 */
export class EntryMissing extends Data.TaggedError("EntryMissing")<{
  readonly source: string
  readonly entry: string
  /** What the export is instead, if there is one of that name. */
  readonly kind: string | undefined
  readonly entries: ReadonlyArray<string>
}> {
  override get message(): string {
    const what = this.kind === undefined
      ? `no export "${this.entry}"`
      : `the export "${this.entry}" is a ${this.kind}, not a function`
    const shown = this.entries.slice(0, 12).map((name) => `"${name}"`).join(", ")
    const list = this.entries.length === 0
      ? "The module exports no function."
      : `Exported functions: ${shown}${this.entries.length > 12 ? `, and ${this.entries.length - 12} more` : ""}.`
    return `${this.source}: ${what}. ${list}`
  }
}

/**
 * The arguments do not fit the entry's signature.
 *
 * @category errors
 * @since 0.1.0
 */
export class ArgumentInvalid extends Data.TaggedError("ArgumentInvalid")<{
  readonly source: string
  readonly entry: string
  readonly reason: "arity" | "type"
  /** Position of the argument at fault, from 0; -1 for a wrong number of arguments. */
  readonly position: number
  readonly detail: string
  /** The signature in words, for example `(i32, f64) -> i64`. */
  readonly signature: string
}> {
  override get message(): string {
    const where = this.position < 0 ? "" : `argument ${this.position + 1}: `
    return `${this.source}: ${this.entry}: ${where}${withoutStop(this.detail)}. Its signature is ${this.signature}.`
  }
}

/**
 * A run was asked for while another one of the same session has not ended: two fibers, or a host import that calls
 * `run` instead of an export.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunConflict extends Data.TaggedError("RunConflict")<{
  readonly source: string
  readonly entry: string
  readonly running: string
}> {
  override get message(): string {
    return `${this.source}: cannot run "${this.entry}" while "${this.running}" runs. ` +
      `Await the first run, open a second session, or call the export itself from inside a host import.`
  }
}

/**
 * The session's scope has ended.
 *
 * @category errors
 * @since 0.1.0
 */
export class SessionClosed extends Data.TaggedError("SessionClosed")<{
  readonly source: string
  readonly entry: string
}> {
  override get message(): string {
    return `${this.source}: cannot run "${this.entry}": the session is closed. Run it inside the scope that opened it.`
  }
}

/**
 * The run was cancelled before it began. WebAssembly that runs on its owner's thread cannot be interrupted later.
 *
 * @category errors
 * @since 0.1.0
 */
export class Cancelled extends Data.TaggedError("Cancelled")<{
  readonly source: string
  readonly entry: string
  readonly cause?: unknown
}> {
  override get message(): string {
    return `${this.source}: the run of "${this.entry}" was cancelled before it began; nothing was executed.`
  }
}

/**
 * One reason why a loop stays as it is.
 *
 * @category models
 * @since 0.1.0
 */
export interface RefusalReason {
  readonly code: string
  readonly function: string
  /** Byte offset in the module. */
  readonly offset: number
  readonly detail: string
  readonly remedy: string
}

/**
 * Nothing in the module can run in parallel. Only a caller with `fallback: "fail"` sees it.
 *
 * @category errors
 * @since 0.1.0
 */
export class Refused extends Data.TaggedError("Refused")<{
  readonly source: string
  readonly entry: string
  readonly reasons: ReadonlyArray<RefusalReason>
  readonly detail: string
}> {
  override get message(): string {
    const [first] = this.reasons
    const why = first === undefined
      ? `${withoutStop(this.detail)}.`
      : `${first.function} at offset ${first.offset}: ${withoutStop(first.detail)}. ${first.remedy}`
    return `${this.source}: no plan to run "${this.entry}" in parallel: ${why}`
  }
}

/**
 * There are plans, but running apart does not pay here. Only a caller with `fallback: "fail"` sees it.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotWorthwhile extends Data.TaggedError("NotWorthwhile")<{
  readonly source: string
  readonly entry: string
  /** `one-lane`: there is no second lane. `no-dispatch`: the entry ran and no loop was worth handing out. */
  readonly reason: "one-lane" | "no-dispatch"
  readonly detail: string
  /** Whether the entry has run, natively and to its end: its effects stand and its value is `result`. */
  readonly ran: boolean
  readonly result: unknown
}> {
  override get message(): string {
    const state = this.ran ? "It ran natively; its effects stand." : "It did not run."
    return `${this.source}: "${this.entry}" did not run in parallel: ${withoutStop(this.detail)}. ${state}`
  }
}

/**
 * A memory could not be had, or cannot be seen by lanes.
 *
 * - `allocation`: the engine or the operating system refused it
 * - `limit`: its declared limits are beyond what an engine allows
 * - `unmapped`: it exists and lanes cannot reach it; the guest runs native
 *
 * @category errors
 * @since 0.1.0
 */
export class ArenaRefused extends Data.TaggedError("ArenaRefused")<{
  readonly source: string
  readonly reason: "allocation" | "limit" | "unmapped"
  readonly detail: string
  readonly cause?: unknown
}> {
  override get message(): string {
    const remedy = {
      allocation: "Free memory, close other sessions, or pass a smaller memory in `imports`.",
      limit: "Pass a memory of your own in `imports`.",
      unmapped: "Accept the native run (fallback: \"native\"), or see `folio doctor` for what this machine can map."
    }[this.reason]
    return `${this.source}: memory refused: ${withoutStop(this.detail)}. ${remedy}`
  }
}

/**
 * A limit of this process is used up. Nothing was taken.
 *
 * @category errors
 * @since 0.1.0
 */
export class CreditsExhausted extends Data.TaggedError("CreditsExhausted")<{
  readonly credit: "lanes" | "sessions" | "bytes"
  readonly wanted: number
  readonly available: number
  readonly limit: number
  /** What bounds it, where that is known. */
  readonly detail?: string | undefined
}> {
  override get message(): string {
    const why = this.detail === undefined ? "" : ` (${this.detail})`
    return `${this.wanted} ${this.credit} wanted, ${this.available} of ${this.limit} left${why}. ` +
      `Close what is no longer needed, or raise the limit.`
  }
}

/**
 * A lane went away while it ran a chunk, and memory may hold part of what it wrote.
 *
 * @category errors
 * @since 0.1.0
 */
export class LaneLost extends Schema.TaggedError<LaneLost>("folio/errors/LaneLost")("LaneLost", {
  source: Schema.String,
  entry: Schema.String,
  cause: Schema.Defect
}) {
  override get message(): string {
    const text = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return `${this.source}: "${this.entry}" cannot end: ${withoutStop(text)}. The session is closed.`
  }
}

/**
 * The lanes did not start in time.
 *
 * @category errors
 * @since 0.1.0
 */
export class LaneStartTimeout extends Schema.TaggedError<LaneStartTimeout>("folio/errors/LaneStartTimeout")(
  "LaneStartTimeout",
  {
    wanted: Schema.Int,
    ready: Schema.Int,
    milliseconds: Schema.Number,
    detail: Schema.String
  }
) {
  override get message(): string {
    return `${this.ready} of ${this.wanted} lanes came up within ${this.milliseconds} ms: ` +
      `${withoutStop(this.detail)}. Raise \`startTimeoutMs\`, or ask for fewer workers.`
  }
}

/**
 * Owner and lane do not speak the same version of the control words.
 *
 * @category errors
 * @since 0.1.0
 */
export class ProtocolMismatch extends Schema.TaggedError<ProtocolMismatch>("folio/errors/ProtocolMismatch")(
  "ProtocolMismatch",
  {
    lane: Schema.Int,
    detail: Schema.String
  }
) {
  override get message(): string {
    return `lane ${this.lane} does not fit its owner: ${withoutStop(this.detail)}. ` +
      `Two versions of the package are loaded; install one.`
  }
}

/**
 * Why WebAssembly stopped.
 *
 * @category models
 * @since 0.1.0
 */
export const TrapReason = Schema.Literal(
  "unreachable",
  "out-of-bounds",
  "divide-by-zero",
  "integer-overflow",
  "invalid-conversion",
  "indirect-call",
  "null-reference",
  "stack-exhausted",
  "other"
)

/**
 * The guest trapped. `cause` is the engine's own error.
 *
 * @category errors
 * @since 0.1.0
 */
export class Trap extends Schema.TaggedError<Trap>("folio/errors/Trap")("Trap", {
  source: Schema.String,
  entry: Schema.String,
  reason: TrapReason,
  cause: Schema.Defect
}) {
  override get message(): string {
    const text = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return `${this.source}: "${this.entry}" trapped: ${withoutStop(text)}. The trap is the program's own; ` +
      `the original module stops at the same place.`
  }
}

/**
 * An exception left the guest: a host import threw it, or the guest itself. `cause` is that very object.
 *
 * @category errors
 * @since 0.1.0
 */
export class HostException extends Schema.TaggedError<HostException>("folio/errors/HostException")("HostException", {
  source: Schema.String,
  entry: Schema.String,
  cause: Schema.Defect
}) {
  override get message(): string {
    const text = this.cause instanceof Error ? `${this.cause.name}: ${this.cause.message}` : String(this.cause)
    return `${this.source}: "${this.entry}" ended with an exception: ${withoutStop(text)}. ` +
      `It was thrown by an import or by the program itself; see \`cause\`.`
  }
}

/**
 * Why `Folio.open` gives no session.
 *
 * @category errors
 * @since 0.1.0
 */
export type OpenError = ModuleInvalid | LinkFailed | ArenaRefused | CreditsExhausted | Trap | HostException

/**
 * Why nothing ran in parallel; the channel of a run with `fallback: "fail"`.
 *
 * @category errors
 * @since 0.1.0
 */
export type FallbackError =
  | Refused
  | NotWorthwhile
  | ArenaRefused
  | CreditsExhausted
  | LaneStartTimeout
  | ProtocolMismatch

/**
 * Why a run has no value whatever its fallback.
 *
 * @category errors
 * @since 0.1.0
 */
export type RunError =
  | EntryMissing
  | ArgumentInvalid
  | RunConflict
  | SessionClosed
  | Cancelled
  | LaneLost
  | Trap
  | HostException

/** A detail ends without a full stop, so that a sentence can follow. */
const withoutStop = (text: string): string => text.replace(/[.\s]+$/, "")
