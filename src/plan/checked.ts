/**
 * Which loads of unknown address are compared when they are executed.
 *
 * Fields of one record are loaded from one unknown pointer: where a load is always preceded by another one from the same
 * pointer, that one is compared for both, with all bytes between them.
 *
 * @since 0.1.0
 */
import type { Access, Graph } from "../analysis/graph.ts"
import { Kind } from "../analysis/graph.ts"

/**
 * Bytes that a comparison is about, counted from the address of its load.
 *
 * @category models
 * @since 0.1.0
 */
export interface CheckedSpan {
  readonly low: number
  readonly high: number
}

/** Fields further apart are compared apart. */
const LONGEST_SPAN = 256

interface Leader {
  readonly access: Access
  readonly root: number
  readonly constant: number
  low: number
  high: number
}

/** The loads that are compared, by their offset in the module, for all of `loads`. @category planning @since 0.1.0 */
export const checkedLoads = (graph: Graph, loads: ReadonlyArray<Access>): ReadonlyMap<number, CheckedSpan> => {
  const times = new Map<number, number>()
  for (const { position } of loads) times.set(position, (times.get(position) ?? 0) + 1)
  const leaders: Array<Leader> = []
  for (const access of loads) {
    const { bytes, offset, position } = access
    const { constant, root } = split(graph, access.address)
    const leader = times.get(position)! > 1 ? undefined : leaders.find((one) => {
      const low = ((constant - one.constant) | 0) + offset - one.access.offset
      return one.root === root && times.get(one.access.position) === 1 && graph.precedes(one.access, access) &&
        Math.max(one.high, low + bytes) - Math.min(one.low, low) <= LONGEST_SPAN
    })
    if (leader === undefined) leaders.push({ access, root, constant, low: 0, high: bytes })
    else {
      const low = ((constant - leader.constant) | 0) + offset - leader.access.offset
      leader.low = Math.min(leader.low, low)
      leader.high = Math.max(leader.high, low + bytes)
    }
  }
  return new Map(leaders.map(({ access, high, low }) => [access.position, { low, high }]))
}

/** An address as a value plus a constant. */
const split = (graph: Graph, node: number): { readonly root: number; readonly constant: number } => {
  let constant = 0
  let root = node
  while (graph.kind[root] === Kind.Op && graph.op[root] === 0x6a) {
    const [a, b] = [graph.a[root], graph.b[root]]
    if (graph.isConst32(b)) {
      constant = (constant + graph.a[b]) | 0
      root = a
    } else if (graph.isConst32(a)) {
      constant = (constant + graph.a[a]) | 0
      root = b
    } else break
  }
  return { root, constant }
}
