/**
 * What becomes of each loop of a module, as text that a person can read and a test can compare.
 */
import type { Plan, PlannedLoop, RefusedLoop } from "../../src/plan/types.ts"

/** One line a loop: `planned direct`, `planned abortable, 2 reductions`, or `refused: …`. */
export const describeLoop = (loop: PlannedLoop | RefusedLoop): string => {
  if (loop._tag === "refused") return `refused: ${[...new Set(loop.reasons.map(({ code }) => code))].sort().join(", ")}`
  const parts = [`planned ${loop.tier}`]
  if (loop.reductions.length > 0) parts.push(`reduces ${loop.reductions.map(({ operation }) => operation).join(", ")}`)
  if (loop.windows > 0) parts.push("private bytes")
  return parts.join("; ")
}

/** The loops of each function, in the order of the code, by the function's name. */
export const loopTable = (plan: Plan): Record<string, Array<string>> => {
  const table: Record<string, Array<string>> = {}
  for (const loop of plan.loops) {
    ;(table[loop.functionName ?? `function ${loop.functionIndex}`] ??= []).push(describeLoop(loop))
  }
  return table
}
