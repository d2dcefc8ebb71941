/**
 * Comparing compiled C functions with what becomes of them.
 */
import { decodeModule } from "../../src/binary/module.ts"
import { prepare, type Prepared } from "../../src/plan/prepare.ts"
import { Apart, compareCall, describeMismatch, Guest, type Twin } from "../../test/support/differential.ts"
import { chooseCCall, type Signature } from "./c-calls.ts"
import { addCounts, type Counts, noCounts, type SeedResult } from "./campaign.ts"
import { Choices } from "./choices.ts"

/**
 * Functions of a generated source. @category constants @since 0.1.0
 */
export const C_FUNCTIONS = 12

/** Calls of each. */
const CALLS = 5

/**
 * Compares every function with a planned loop. `label` says in failures what the bytes are; `provide` gives another twin
 * than chunks in order, real lanes for one.
 *
 * @category comparing
 * @since 0.1.0
 */
export const compareCModule = (
  label: string,
  bytes: Uint8Array<ArrayBuffer>,
  functions: ReadonlyArray<Signature>,
  seed: number,
  provide: (prepared: Prepared) => Twin = (prepared) => new Apart(prepared)
): SeedResult => {
  const failures: Array<string> = []
  let counts: Counts = { ...noCounts, functions: functions.length }
  try {
    const prepared = prepare(bytes)
    if (prepared.guest === undefined) return { counts, failures }
    const exported = new Map(decodeModule(bytes).exports.map(({ index, name }) => [name, index]))
    const planned = new Set(
      prepared.plan.loops.flatMap((loop) => loop._tag === "planned" ? [loop.functionIndex] : [])
    )
    const twin = provide(prepared)
    const original = new Guest(new WebAssembly.Module(bytes))
    const fresh = new Uint8Array(original.memory!.buffer.slice(0))
    for (const target of functions) {
      if (!planned.has(exported.get(target.name)!)) continue
      counts = { ...counts, planned: counts.planned + 1 }
      for (let number = 0; number < CALLS; number++) {
        const choices = new Choices(seed).of(`call ${target.name} ${number}`)
        const { call, image, splits } = chooseCCall(choices, target, fresh)
        const tally = compareCall(original, twin, image, call, splits)
        counts = addCounts(counts, {
          ...noCounts,
          calls: 1,
          comparisons: splits.length,
          apart: tally.apart > 0 ? 1 : 0,
          dispatches: tally.dispatches,
          aborts: tally.aborts
        })
        if (tally.mismatch === undefined) continue
        failures.push(`${label}, call ${number}: ${describeMismatch(tally.mismatch)}`)
        // A broken dispatcher or lost lane says nothing about the calls behind it.
        if (twin.broken()) return { counts, failures }
      }
    }
  } catch (error) {
    failures.push(`${label}: ${error instanceof Error ? error.stack ?? error.message : String(error)}`)
  }
  return { counts, failures }
}
