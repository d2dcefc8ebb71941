/**
 * The plan: what the compiler found out about a module, as plain data. It joins compiler and runtime, can be stored,
 * and is what `inspect` shows.
 *
 * @since 0.1.0
 */

import type { EffectCode } from "../analysis/graph.ts"
import type { Extent } from "./extent.ts"

/** Version of the plan's shape; another version is not used. @category constants @since 0.1.0 */
export const PLAN_VERSION = 2

/**
 * Why a loop stays serial. A closed set.
 *
 * @category models
 * @since 0.1.0
 */
export type ReasonCode =
  | EffectCode
  | "scalar-carry"
  | "unknown-load"
  | "unknown-store"
  | "same-address-store"
  | "inner-trip"
  | "uncountable"
  | "no-stores"
  | "too-many-groups"
  | "too-large"
  | "budget"
  | "profile"
  | "loop-parameters"
  | "no-memory"
  | "memory64"
  | "inside-planned"
  | "short"
  | "early-exit"

/**
 * A refusal: where, why, and what the user can do.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reason {
  readonly code: ReasonCode
  /** Offset in the module's bytes of the instruction that stands in the way. */
  readonly offset: number
  readonly detail: string
}

/**
 * An assumption that must hold for the chunks to give the serial result. Each kind is checked where it says; a plan
 * lists all of them.
 *
 * @category models
 * @since 0.1.0
 */
export type Obligation =
  /** A value of the owner that chunks read: captured when the loop is entered. */
  | { readonly kind: "captured-input"; readonly source: "local" | "global" | "memory-size"; readonly index: number }
  /** The number of iterations is exact: direction, divisibility and wrap are tested at entry. */
  | { readonly kind: "exact-trip"; readonly loop: number; readonly offset: number }
  /** Every address of the group lies inside the memory. */
  | { readonly kind: "in-bounds"; readonly group: number }
  /** No address of the group wraps around 2³². */
  | { readonly kind: "no-wrap"; readonly group: number }
  /** No two iterations touch the same byte through these groups, one of which stores. */
  | { readonly kind: "disjoint"; readonly store: number; readonly other: number }
  /** Each lane has bytes of its own for the group: no store of another group comes near its pages. */
  | { readonly kind: "private"; readonly store: number }
  /** What the load group reads lies inside what the store groups have written earlier in the same iteration. */
  | { readonly kind: "written-before-read"; readonly load: number; readonly stores: ReadonlyArray<number> }
  /** No store at another fixed address meets the one whose value a load of the same iteration is taken to have. */
  | { readonly kind: "forwarded"; readonly store: number; readonly other: number }
  /** A load taken as invariant is in bounds and was evaluated at entry. */
  | { readonly kind: "invariant-load"; readonly offset: number }
  /** An invariant divisor is neither 0 nor -1. */
  | { readonly kind: "safe-divisor"; readonly offset: number }
  /** A load of unknown address does not touch what the loop stores to: compared when it is executed. */
  | { readonly kind: "checked-load"; readonly offset: number }
  /** A trap or an early exit in a chunk discards it and all later ones: memory is restored, the loop goes on serially. */
  | { readonly kind: "discard-on-abort"; readonly offset: number }
  /** Nothing of the owner after the loop runs before every chunk has ended. */
  | { readonly kind: "joined-before-use" }
  /** A local that the last iteration leaves behind comes from whoever ran it. */
  | { readonly kind: "last-value"; readonly local: number }
  /** An integer reduction starts each lane at its identity and is combined with the entry value. */
  | { readonly kind: "reduction"; readonly local: number; readonly operation: string }

/**
 * A group of accesses as shown to users.
 *
 * @category models
 * @since 0.1.0
 */
export interface GroupRecord {
  readonly id: number
  readonly kind: "load" | "store"
  /** Same addresses in every iteration. */
  readonly fixed: boolean
  readonly low: number
  readonly high: number
  readonly positions: ReadonlyArray<number>
}

/**
 * A loop that can run apart.
 *
 * @category models
 * @since 0.1.0
 */
export interface PlannedLoop {
  readonly _tag: "planned"
  /** Number of the plan: its slot in the dispatch table. */
  readonly index: number
  readonly functionIndex: number
  readonly functionName: string | undefined
  /** Offset of the `loop` instruction. */
  readonly offset: number
  /** `abortable`: a trap or an early exit is possible, so written memory is snapshotted first. */
  readonly tier: "direct" | "abortable"
  /** How many of the iterations run apart (`extent.ts`). */
  readonly extent: Extent
  /** True when the pieces before one that ends early are kept, unless something was copied as a whole. */
  readonly keeps: boolean
  /** Instructions of one iteration, inner loops counted once. */
  readonly instructions: number
  /** Whether the loop contains others, so that an iteration can be long. */
  readonly hasInner: boolean
  readonly groups: ReadonlyArray<GroupRecord>
  readonly obligations: ReadonlyArray<Obligation>
  /** Byte of control memory with the facts of the first group of stores to save, and how many there are. */
  readonly firstSaved: number
  readonly saved: number
  /** Byte of control memory with the first range (a pair of i64) of which each lane needs pages of its own, and how many. */
  readonly firstWindow: number
  readonly windows: number
  /** Loads that are compared with the stores when they are executed. */
  readonly checked: number
  /** Distance that one iteration covers in the guest's test; 0 when the test is not a distance. */
  readonly step: number
  /** Integer reductions, in the order of a participant's results (8 bytes each). */
  readonly reductions: ReadonlyArray<{ readonly operation: string; readonly type: "i32" | "i64" }>
}

/**
 * A loop that stays as it is.
 *
 * @category models
 * @since 0.1.0
 */
export interface RefusedLoop {
  readonly _tag: "refused"
  readonly functionIndex: number
  readonly functionName: string | undefined
  readonly offset: number
  readonly reasons: ReadonlyArray<Reason>
}

/**
 * The plan of a module.
 *
 * @category models
 * @since 0.1.0
 */
export interface Plan {
  readonly version: number
  readonly inputBytes: number
  readonly functions: number
  /** Loops in code order. */
  readonly loops: ReadonlyArray<PlannedLoop | RefusedLoop>
  /** Why the whole module is native, when it is. */
  readonly refusal: Reason | undefined
  /** False when a budget ended the analysis before all loops were seen. */
  readonly complete: boolean
  readonly memory: MemoryFacts | undefined
}

/**
 * The guest's memory 0 as declared.
 *
 * @category models
 * @since 0.1.0
 */
export interface MemoryFacts {
  readonly imported: { readonly module: string; readonly name: string } | undefined
  readonly min: number
  readonly max: number | undefined
  readonly shared: boolean
}
