/**
 * Extraction: from a module's bytes to what can run apart.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { WasmModule } from "../src/binary/module.ts"
import type { Prepared } from "../src/plan/prepare.ts"
import type { ModuleInvalid, RefusalReason } from "./Errors.ts"

/**
 * Where a module comes from: its bytes, a compiled module, or (on Node) a path or a `file:` URL. The bodies of a
 * compiled module cannot be read, so it runs natively.
 *
 * @category models
 * @since 0.1.0
 */
export type ModuleSource = ArrayBufferLike | ArrayBufferView | WebAssembly.Module | URL | string

/**
 * A module that is ready to be instantiated.
 *
 * @category models
 * @since 0.1.0
 */
export interface Extracted {
  /** How messages and reports call it. */
  readonly name: string
  /** The original bytes; undefined for a source that was a compiled module. */
  readonly bytes: Uint8Array<ArrayBuffer> | undefined
  /** What to instantiate: the emitted module where there are plans, else the original. */
  readonly module: WebAssembly.Module
  /** The original as data; undefined when its bodies could not be read. */
  readonly decoded: WasmModule | undefined
  /** Plans and emitted modules; undefined when its bodies could not be read. */
  readonly prepared: Prepared | undefined
  /** Why there is nothing to run apart whatever the plan says; undefined when there is a plan. */
  readonly nativeReason: string | undefined
}

/**
 * What was found at one loop.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoopInspection {
  /** Byte offset of the `loop` instruction in the module. */
  readonly offset: number
  /** How it runs apart; undefined when it is refused. */
  readonly tier: string | undefined
  /** Kinds of obligation that the plan carries; empty when it is refused. */
  readonly obligations: ReadonlyArray<string>
  /** Why it is refused; empty when it is planned. */
  readonly reasons: ReadonlyArray<Omit<RefusalReason, "function">>
}

/**
 * What was found in one function.
 *
 * @category models
 * @since 0.1.0
 */
export interface FunctionInspection {
  readonly index: number
  /** From the name section, else from its first export, else `func[index]`. */
  readonly name: string
  readonly exports: ReadonlyArray<string>
  readonly loops: ReadonlyArray<LoopInspection>
}

/**
 * What was found in a module, as plain data.
 *
 * @category models
 * @since 0.1.0
 */
export interface Inspection {
  readonly source: string
  /** Size of the module in bytes; undefined for a source that was a compiled module. */
  readonly bytes: number | undefined
  /** Why nothing runs apart; undefined when something can. */
  readonly nativeReason: string | undefined
  /** False when a budget ended the analysis before all loops were seen. */
  readonly complete: boolean
  /** Functions that have loops or are exported, in the module's order. */
  readonly functions: ReadonlyArray<FunctionInspection>
  readonly totals: {
    /** All functions that the module defines. */
    readonly functions: number
    readonly loops: number
    readonly planned: number
    /** Loops inside a planned one: they run as part of it. */
    readonly inside: number
    /** All others. */
    readonly refused: number
    /** Refused loops by the code of their first reason, most frequent first. */
    readonly reasons: Readonly<Record<string, number>>
  }
}

/**
 * The operations of {@link Extraction}.
 *
 * @category models
 * @since 0.1.0
 */
export interface ExtractionShape {
  /** Reads, analyses and compiles a module. The bytes are copied first: a later change by the caller has no effect. */
  readonly extract: (source: ModuleSource, name?: string) => Effect.Effect<Extracted, ModuleInvalid>
  /** What was found, for people and for JSON. With an entry: only functions that carry that export name. */
  readonly inspect: (extracted: Extracted, entry?: string) => Inspection
}

/**
 * Finds what can run apart in a module and gives the reason for what cannot.
 *
 * @category services
 * @since 0.1.0
 */
export class Extraction extends Context.Tag("folio/services/Extraction")<Extraction, ExtractionShape>() {}
