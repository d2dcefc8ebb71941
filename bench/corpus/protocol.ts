/**
 * What the runner and a child process say to each other: one request, one answer, in turn.
 */

/**
 * The state of a memory or a global that a program's JavaScript can reach.
 *
 * @category models
 * @since 0.1.0
 */
export type StateEntry =
  | { readonly kind: "memory"; readonly name: string; readonly bytes: number; readonly sha256: string }
  | { readonly kind: "global"; readonly name: string; readonly value: string }

/**
 * When a call began and ended, in milliseconds of the process' `performance.now()`.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallSpan {
  readonly startMs: number
  readonly endMs: number
}

/**
 * Requests to a child. `dump` writes every memory of the state to `directory`, named by its place in the state.
 *
 * @category models
 * @since 0.1.0
 */
export type Request =
  | { readonly op: "calls"; readonly count: number }
  | { readonly op: "state" }
  | { readonly op: "dump"; readonly directory: string }
  | { readonly op: "exit" }

/**
 * Answers of a child. Times are milliseconds; `cpuMs` is what the whole process used, all of its threads, without the
 * digests; `digests` lists each distinct digest of the outputs; `last` is the span of the last call on the process'
 * clock.
 *
 * @category models
 * @since 0.1.0
 */
export type Answer =
  | { readonly op: "ready"; readonly startupMs: number }
  | {
    readonly op: "calls"
    readonly wallMs: number
    readonly cpuMs: number
    readonly digests: ReadonlyArray<string>
    readonly last: CallSpan
  }
  | { readonly op: "state"; readonly state: ReadonlyArray<StateEntry> }
  | { readonly op: "dump" }
  | { readonly op: "failed"; readonly message: string }
