/**
 * Colours of a map: what stands in the way of a loop, in groups that an eye can tell apart.
 *
 * @since 0.1.0
 */
import type { LoopInspection } from "../../services/Extraction.ts"
import type { ReasonCode } from "../../src/plan/types.ts"

/**
 * A group of verdicts.
 *
 * @category models
 * @since 0.1.0
 */
export interface Category {
  /** Name of its class in the page. */
  readonly id: string
  readonly label: string
  /** Fill on a light page; text on it is black. */
  readonly colour: string
}

const planned: Category = { id: "planned", label: "planned: runs on several threads", colour: "#2fa866" }
const abortable: Category = { id: "abortable", label: "planned, put back when it ends early", colour: "#7cc98f" }
const inside: Category = { id: "inside", label: "inside a planned loop", colour: "#bfe5c8" }
const carried: Category = { id: "carried", label: "carries a value to the next iteration", colour: "#e4796b" }
const addresses: Category = { id: "addresses", label: "addresses that are not understood", colour: "#f0a35e" }
const callee: Category = { id: "calls", label: "calls", colour: "#b79be0" }
const control: Category = { id: "control", label: "number of iterations not known", colour: "#7fb2e5" }
const effects: Category = { id: "effects", label: "other effects", colour: "#d796bf" }
const nothing: Category = { id: "nothing", label: "nothing to gain", colour: "#c9c9c2" }
const limits: Category = { id: "limits", label: "not analysed to the end", colour: "#e3d36f" }
const module: Category = { id: "module", label: "the module cannot be planned", colour: "#9aa5ad" }

/**
 * All of them, in the order of the legend.
 *
 * @category constants
 * @since 0.1.0
 */
export const categories: ReadonlyArray<Category> = [
  planned,
  abortable,
  inside,
  carried,
  addresses,
  callee,
  control,
  effects,
  nothing,
  limits,
  module
]

const byCode: Readonly<Record<ReasonCode, Category>> = {
  "inside-planned": inside,
  "scalar-carry": carried,
  "same-address-store": carried,
  "unknown-store": addresses,
  "unknown-load": addresses,
  "too-many-groups": addresses,
  call: callee,
  "call-indirect": callee,
  "tail-call": callee,
  uncountable: control,
  "early-exit": control,
  "inner-trip": control,
  "loop-parameters": control,
  "global-write": effects,
  "memory-grow": effects,
  atomic: effects,
  "bulk-memory": effects,
  table: effects,
  exception: effects,
  reference: effects,
  "no-stores": nothing,
  short: nothing,
  profile: nothing,
  "too-large": limits,
  budget: limits,
  "unknown-instruction": limits,
  "other-memory": module,
  "no-memory": module,
  memory64: module
}

/**
 * The group of what was found at a loop; nothing where the module as a whole is native.
 *
 * @category queries
 * @since 0.1.0
 */
export const categoryOf = (found: LoopInspection | undefined): Category =>
  found === undefined
    ? module
    : found.tier === undefined
    ? byCode[found.reasons[0].code as ReasonCode] ?? effects
    : found.tier === "abortable"
    ? abortable
    : planned
