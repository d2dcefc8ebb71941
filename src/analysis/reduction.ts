/**
 * Integer reductions: a local that every iteration only combines with something by one associative and commutative
 * operation, so that lanes can combine apart and the results be combined afterwards with equal bits.
 *
 * Floating-point sums are never reassociated.
 *
 * @since 0.1.0
 */
import type { Graph } from "./graph.ts"
import { Kind } from "./graph.ts"

/**
 * Operations that may be reassociated.
 *
 * @category models
 * @since 0.1.0
 */
export type ReductionOperation = "add" | "mul" | "and" | "or" | "xor"

/**
 * A reduction of a local.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reduction {
  readonly phi: number
  readonly local: number
  readonly type: "i32" | "i64"
  readonly operation: ReductionOperation
  /** Values that hold a partial result. */
  readonly chain: ReadonlySet<number>
}

const OPERATIONS: Readonly<Record<number, ReductionOperation>> = {
  0x6a: "add",
  0x6c: "mul",
  0x71: "and",
  0x72: "or",
  0x73: "xor",
  0x7c: "add",
  0x7e: "mul",
  0x83: "and",
  0x84: "or",
  0x85: "xor"
}

/**
 * The reduction that a header phi of loop 0 stands for, or `undefined`. `marks` are the demanded nodes: uses by values
 * that do not matter do not count.
 *
 * @category analysis
 * @since 0.1.0
 */
export const findReduction = (graph: Graph, marks: Uint8Array, phi: number): Reduction | undefined => {
  const type = graph.type[phi]
  if (type !== "i32" && type !== "i64") return undefined
  // The chain: values that hold the partial result. Each is used once in the loop, by the next link.
  const chain = new Set<number>([phi])
  let operation: ReductionOperation | undefined
  const work = [phi]
  while (work.length > 0) {
    for (const node of graph.usersOf(work.pop()!)) {
      if (marks[node] === 0 || chain.has(node) || !graph.loops[0].body.has(graph.block[node])) continue
      chain.add(node)
      work.push(node)
      if (graph.kind[node] === Kind.Phi) {
        // A merge of partial results; an inner loop that goes on with the partial result.
        if (graph.phi(node).loop === 0) return undefined
        continue
      }
      if (graph.kind[node] === Kind.Select) continue
      const isSubtraction = graph.op[node] === 0x6b || graph.op[node] === 0x7d
      const found = graph.kind[node] !== Kind.Op ? undefined : isSubtraction ? "add" : OPERATIONS[graph.op[node]]
      if (found === undefined || (operation !== undefined && operation !== found)) return undefined
      operation = found
    }
  }
  if (operation === undefined) return undefined
  for (const link of chain) {
    if (graph.kind[link] !== Kind.Phi) continue
    const inputs = graph.phi(link).inputs
    for (const [index, input] of inputs.entries()) {
      if (link === phi && index === 0) continue
      if (graph.order[input.block] >= 0 && !chain.has(input.value)) return undefined
    }
  }
  // Each link holds the partial result once.
  for (const link of chain) {
    if (graph.kind[link] === Kind.Select) {
      if (!chain.has(graph.a[link]) || !chain.has(graph.b[link]) || chain.has(graph.c[link])) return undefined
      continue
    }
    if (graph.kind[link] !== Kind.Op) continue
    const inA = chain.has(graph.a[link])
    const inB = chain.has(graph.b[link])
    if (inA && inB) return undefined
    if (inB && (graph.op[link] === 0x6b || graph.op[link] === 0x7d)) return undefined
  }
  if (escapes(graph, chain)) return undefined
  return { phi, local: graph.phi(phi).local, type, operation, chain }
}

/** True when a partial result is stored, addresses memory or decides a branch inside the loop. */
const escapes = (graph: Graph, chain: ReadonlySet<number>): boolean => {
  const body = graph.loops[0].body
  for (const access of graph.accesses) {
    if (!body.has(access.block)) continue
    if (chain.has(access.address) || (access.kind === "store" && chain.has(access.node))) return true
  }
  for (const block of graph.blocks) if (body.has(block.id) && chain.has(block.condition)) return true
  return graph.used.some((node) => chain.has(node))
}
