/**
 * Choices that are the same in every iteration: a merge whose branches are decided by invariant conditions is a select
 * that can be evaluated once, when the loop is entered.
 *
 * @since 0.1.0
 */
import type { Graph } from "./graph.ts"
import { Kind } from "./graph.ts"

/** Blocks passed on the way to a merge. */
const MAXIMUM_PATH = 24

/** Adds the node `condition ? chosen : otherwise`. @category constructors @since 0.1.0 */
export const addSelect = (graph: Graph, condition: number, chosen: number, otherwise: number): number =>
  graph.node(Kind.Select, 0, chosen, otherwise, condition, "i32", 0)

/**
 * A node that equals the value of the predecessor through which `merge` is reached, when only invariant conditions
 * decide about that; inner loops with one exit are passed over.
 *
 * @category analysis
 * @since 0.1.0
 */
export const chosenValue = (
  g: Graph,
  isInvariant: (node: number) => boolean,
  merge: number,
  values: ReadonlyMap<number, number>
): number | undefined => {
  const { body } = g.loops[0]
  let steps = 0
  const along = (from: number, to: number): number | undefined => {
    if (to === merge) return values.get(from)
    if (++steps > MAXIMUM_PATH || !body.has(to)) return undefined
    const inner = g.loops.find((loop) => loop.id > 0 && loop.header === to && loop.body.size > 0)
    if (inner !== undefined && !inner.body.has(merge)) {
      const exits = inner.exits.filter(({ edge }) => body.has(edge.to))
      return exits.length === 1 ? along(exits[0].from, exits[0].edge.to) : undefined
    }
    return leaving(to)
  }
  const leaving = (block: number): number | undefined => {
    const { condition } = g.blocks[block]
    // An iteration that goes on does not leave the loop.
    const succs = g.blocks[block].succs.filter((s) => body.has(s.to))
    if (succs.length === 1) return along(block, succs[0].to)
    const yes = succs.find((s) => s.kind === "true")
    const no = succs.find((s) => s.kind === "false")
    if (succs.length !== 2 || yes === undefined || no === undefined || !isInvariant(condition)) return undefined
    if (yes.to === no.to) return undefined
    const chosen = along(block, yes.to)
    const otherwise = chosen === undefined ? undefined : along(block, no.to)
    return otherwise === undefined ? undefined : addSelect(g, condition, chosen!, otherwise)
  }
  return body.has(g.idom[merge]) ? leaving(g.idom[merge]) : undefined
}
