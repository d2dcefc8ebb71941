/**
 * Dominators of a directed graph: the iterative algorithm of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
 * Algorithm" (2001).
 *
 * @since 0.1.0
 */

/**
 * Order and dominators of the nodes that a root reaches.
 *
 * @category models
 * @since 0.1.0
 */
export interface Dominators {
  /** Immediate dominator of each node, -1 when it is not reached; the root's is itself. */
  readonly idom: Int32Array
  /** Reverse post-order number of each node, -1 when it is not reached. */
  readonly order: Int32Array
}

/** Finds order and dominators of nodes 0 … `count` − 1. @category analysis @since 0.1.0 */
export const dominators = (
  count: number,
  root: number,
  succs: (node: number) => ReadonlyArray<number>,
  preds: (node: number) => ReadonlyArray<number>
): Dominators => {
  const sorted = reversePostOrder(count, root, succs)
  const order = new Int32Array(count).fill(-1)
  sorted.forEach((node, index) => order[node] = index)
  const idom = new Int32Array(count).fill(-1)
  idom[root] = root
  const meet = (x: number, y: number): number => {
    while (x !== y) {
      while (order[x] > order[y]) x = idom[x]
      while (order[y] > order[x]) y = idom[y]
    }
    return x
  }
  for (let changed = true; changed;) {
    changed = false
    for (const node of sorted) {
      if (node === root) continue
      let next = -1
      const before = preds(node)
      for (let at = 0; at < before.length; at++) {
        const pred = before[at]
        if (order[pred] >= 0 && idom[pred] >= 0) next = next < 0 ? pred : meet(pred, next)
      }
      if (next >= 0 && idom[node] !== next) {
        idom[node] = next
        changed = true
      }
    }
  }
  return { idom, order }
}

/** True when node `x`, which is reached, dominates node `y`, which is reached. @category queries @since 0.1.0 */
export const dominates = ({ idom, order }: Dominators, x: number, y: number): boolean => {
  while (order[y] > order[x]) y = idom[y]
  return x === y
}

const reversePostOrder = (
  count: number,
  root: number,
  succs: (node: number) => ReadonlyArray<number>
): Array<number> => {
  const seen = new Uint8Array(count)
  const post: Array<number> = []
  const stack = [root]
  /** Successors that were followed, by the depth of the stack. */
  const followed = [0]
  seen[root] = 1
  while (stack.length > 0) {
    const top = stack.length - 1
    const targets = succs(stack[top])
    const at = followed[top]++
    if (at >= targets.length) {
      post.push(stack[top])
      stack.pop()
      followed.pop()
    } else if (seen[targets[at]] === 0) {
      seen[targets[at]] = 1
      stack.push(targets[at])
      followed.push(0)
    }
  }
  return post.reverse()
}
