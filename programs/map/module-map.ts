/**
 * A module as a tree of functions and loops with sizes, verdicts and, where there is a profile, what a run executed.
 *
 * @since 0.1.0
 */
import type { Inspection, LoopInspection } from "../../services/Extraction.ts"
import { scanLoops } from "../../src/analysis/scan.ts"
import { ModuleFormatError, type WasmModule } from "../../src/binary/module.ts"
import { loopShares, type Profile } from "../../src/profile/profile.ts"

/**
 * A loop with those inside it.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoopNode {
  readonly offset: number
  /** From its `loop` to its `end`. */
  readonly bytes: number
  /** Bytes, or with a profile instructions, of loops inside it included. */
  readonly weight: number
  /** What was found; undefined where the module as a whole is native. */
  readonly found: LoopInspection | undefined
  /** What a run did; undefined without a profile, or where it did not reach it. */
  readonly run: { readonly executions: number; readonly iterations: number; readonly share: number } | undefined
  readonly inner: ReadonlyArray<LoopNode>
}

/**
 * A function with its loops.
 *
 * @category models
 * @since 0.1.0
 */
export interface FunctionNode {
  readonly index: number
  readonly name: string
  readonly exports: ReadonlyArray<string>
  readonly bytes: number
  readonly weight: number
  readonly calls: number | undefined
  /** Why nothing in it was looked at; undefined where it was. */
  readonly refused: LoopInspection | undefined
  readonly loops: ReadonlyArray<LoopNode>
}

/**
 * A module as a tree.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModuleMap {
  /** By falling weight. */
  readonly functions: ReadonlyArray<FunctionNode>
  readonly weighs: "bytes" | "instructions"
  readonly weight: number
  /** Weight inside of planned loops; with a profile, of functions that they call, too. */
  readonly planned: number
}

const shapesOf = (
  module: WasmModule,
  index: number
): ReadonlyArray<{ offset: number; end: number; parent: number }> => {
  try {
    return scanLoops(module, index) ?? []
  } catch (error) {
    if (error instanceof ModuleFormatError) return []
    throw error
  }
}

const sum = <A>(items: ReadonlyArray<A>, of: (item: A) => number): number =>
  items.reduce((total, item) => total + of(item), 0)

/** Planned loops that no other one is around. */
const outermost = (loops: ReadonlyArray<LoopNode>): ReadonlyArray<LoopNode> =>
  loops.flatMap((loop) => loop.found?.tier === undefined ? outermost(loop.inner) : [loop])

/**
 * Makes the tree.
 *
 * @category constructors
 * @since 0.1.0
 */
export const moduleMap = (module: WasmModule, inspection: Inspection, profile: Profile | undefined): ModuleMap => {
  const inspected = new Map(inspection.functions.map((one) => [one.index, one]))
  const ran = new Map(profile?.functions.map((one) => [one.index, one]))
  const shares = profile === undefined ? undefined : loopShares(profile)

  const functionNode = (index: number): FunctionNode => {
    const { end, sizeStart } = module.functions[index].body!
    const known = inspected.get(index)
    const found = new Map(known?.loops.map((loop) => [loop.offset, loop]))
    const counted = ran.get(index)
    const counts = new Map(counted?.loops.map((loop) => [loop.offset, loop]))
    const shapes = shapesOf(module, index)
    const nodesIn = (parent: number): ReadonlyArray<LoopNode> =>
      shapes.flatMap((shape, position): ReadonlyArray<LoopNode> => {
        if (shape.parent !== parent) return []
        const inner = nodesIn(position)
        const bytes = shape.end - shape.offset
        const count = counts.get(shape.offset)
        return [{
          offset: shape.offset,
          bytes,
          weight: profile === undefined ? bytes : (count?.instructions ?? 0) + sum(inner, ({ weight }) => weight),
          found: found.get(shape.offset),
          run: count === undefined || count.executions === 0
            ? undefined
            : { executions: count.executions, iterations: count.iterations, share: shares?.get(shape.offset) ?? 0 },
          inner
        }]
      })
    const offsets = new Set(shapes.map(({ offset }) => offset))
    return {
      index,
      name: known?.name ?? module.functionNames.get(index) ?? `func[${index}]`,
      exports: known?.exports ?? [],
      bytes: end - sizeStart,
      weight: profile === undefined ? end - sizeStart : counted?.instructions ?? 0,
      calls: profile === undefined ? undefined : counted?.calls ?? 0,
      refused: known?.loops.find(({ offset }) => !offsets.has(offset)),
      loops: nodesIn(-1)
    }
  }

  const functions: Array<FunctionNode> = []
  for (let index = module.importedFunctions; index < module.functions.length; index++) {
    functions.push(functionNode(index))
  }
  functions.sort((a, b) => b.weight - a.weight || a.index - b.index)
  const planned = functions.flatMap(({ loops }) => outermost(loops))
  const weight = sum(functions, (one) => one.weight)
  return {
    functions,
    weighs: profile === undefined ? "bytes" : "instructions",
    weight,
    planned: profile === undefined
      ? sum(planned, (loop) => loop.weight)
      : Math.min(1, sum(planned, ({ run }) => run?.share ?? 0)) * weight
  }
}
