/**
 * A plan as people read it: by function, with names, reasons and remedies.
 *
 * @since 0.1.0
 */
import type { Extracted, FunctionInspection, Inspection, LoopInspection } from "../../services/Extraction.ts"
import type { WasmModule } from "../../src/binary/module.ts"
import type { Plan, PlannedLoop, Reason, ReasonCode, RefusedLoop } from "../../src/plan/types.ts"
import { groupBy } from "./group.ts"
import { remedyFor } from "./remedies.ts"

const explained = ({ code, detail, offset }: Reason) => ({ code, offset, detail, remedy: remedyFor(code) })

const inspectLoop = (loop: PlannedLoop | RefusedLoop): LoopInspection =>
  loop._tag === "planned"
    ? {
      offset: loop.offset,
      tier: loop.tier,
      obligations: [...new Set(loop.obligations.map((obligation) => obligation.kind))],
      reasons: []
    }
    : { offset: loop.offset, tier: undefined, obligations: [], reasons: loop.reasons.map(explained) }

const functionsOf = (decoded: WasmModule, plan: Plan): ReadonlyArray<FunctionInspection> => {
  const loops = groupBy(plan.loops, (loop) => loop.functionIndex)
  const exported = groupBy(decoded.exports.filter((entry) => entry.kind === "function"), (entry) => entry.index)
  const indices = new Set([...loops.keys(), ...exported.keys()].filter((index) => index >= decoded.importedFunctions))
  return [...indices].sort((a, b) => a - b).map((index) => {
    const exports = exported.get(index)?.map((entry) => entry.name) ?? []
    return {
      index,
      name: decoded.functionNames.get(index) ?? exports[0] ?? `func[${index}]`,
      exports,
      loops: loops.get(index)?.map(inspectLoop) ?? []
    }
  })
}

const isInside = ({ reasons }: LoopInspection): boolean => reasons[0]?.code === ("inside-planned" satisfies ReasonCode)

const countReasons = (loops: ReadonlyArray<LoopInspection>): Record<string, number> => {
  const counts = new Map<string, number>()
  for (const { reasons } of loops) {
    if (reasons.length > 0) counts.set(reasons[0].code, (counts.get(reasons[0].code) ?? 0) + 1)
  }
  return Object.fromEntries([...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)))
}

/**
 * What was found in a module; with an entry, in the functions that are exported under that name.
 *
 * @category formatting
 * @since 0.1.0
 */
export const inspection = (extracted: Extracted, entry?: string): Inspection => {
  const { bytes, decoded, name, nativeReason, prepared } = extracted
  const all = decoded === undefined || prepared === undefined ? [] : functionsOf(decoded, prepared.plan)
  const functions = entry === undefined ? all : all.filter((one) => one.exports.includes(entry))
  const loops = functions.flatMap((one) => one.loops)
  const planned = loops.filter((loop) => loop.tier !== undefined).length
  const refused = loops.filter((loop) => loop.tier === undefined && !isInside(loop))
  return {
    source: name,
    bytes: bytes?.length,
    nativeReason,
    complete: prepared?.plan.complete ?? true,
    functions,
    totals: {
      functions: entry === undefined
        ? decoded === undefined ? 0 : decoded.functions.length - decoded.importedFunctions
        : functions.length,
      loops: loops.length,
      planned,
      inside: loops.length - planned - refused.length,
      refused: refused.length,
      reasons: countReasons(refused)
    }
  }
}
