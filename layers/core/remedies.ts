/**
 * What the author of a module can do about each reason of a refusal.
 *
 * @since 0.1.0
 */
import type { ReasonCode } from "../../src/plan/types.ts"

/** What a reason calls for: a sentence for each code. */
const REMEDIES: Readonly<Record<ReasonCode, string>> = {
  call: "Let the compiler inline the call (-O3, link-time optimisation), or move it out of the loop.",
  "call-indirect": "Call the function directly: a known callee can be inlined.",
  "global-write": "Keep the value in a local during the loop; build with optimisation, so that no stack frame is made.",
  "memory-grow": "Allocate before the loop.",
  atomic: "Nothing to do: atomics order their loop with other threads.",
  "bulk-memory": "Nothing to do: copying runs at memory speed already.",
  table: "Read or write tables outside the loop.",
  exception: "Throw and catch outside the loop.",
  reference: "Keep references out of the loop.",
  "other-memory": "Keep the loop's data in memory 0.",
  "tail-call": "Nothing to do: a tail call leaves the loop.",
  "unknown-instruction": "Build without the proposal that this instruction belongs to.",
  "scalar-carry":
    "Compute each iteration from its index; sums, products and bit operations on integers are recognised.",
  "unknown-load": "Index the data by the loop counter instead of following pointers or tables.",
  "unknown-store": "Write to an address that is a linear function of the loop counter.",
  "same-address-store": "Keep the value in a local and store it once, behind the loop.",
  "inner-trip": "Give the inner loop a number of iterations that does not change during the outer loop.",
  uncountable: "Count with a fixed step to a bound that does not change during the loop.",
  "no-stores": "Nothing to do: the loop leaves nothing that lanes could work out apart.",
  "too-many-groups": "Split the loop: it works on more arrays than one guard can tell apart.",
  "too-large": "Split the loop or its function.",
  budget: "Give the analysis more (`folio prepare` with a larger `--budget-ms`), or split the loop.",
  profile: "Nothing to do, or take a profile of a run that needs it (`folio run --profile`).",
  "loop-parameters": "Build without multi-value block parameters.",
  "no-memory": "Nothing to do: the module has no memory to work on.",
  memory64: "Build for 32-bit memory.",
  "early-exit": "Test before the loop what can go wrong in it.",
  short: "Nothing to do: its iterations are too few for lanes.",
  "inside-planned": "Nothing to do: a loop around it runs apart."
}

/**
 * What can be done about a reason.
 *
 * @category formatting
 * @since 0.1.0
 */
export const remedyFor = (code: ReasonCode): string => REMEDIES[code]
