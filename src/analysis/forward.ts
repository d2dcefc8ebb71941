/**
 * Forwarding: a load from a fixed address whose bytes the same iteration has stored before has the stored value.
 *
 * Compilers keep what does not fit into registers, and what they pass by reference, in a frame: an index is stored
 * there, a callee loads it and makes an address of it. Only with the stored value in place of the load is that address a
 * polynomial.
 *
 * before
 *
 *     (i32.store offset=28 (local.get $frame) (local.get $i))  …  (i32.load offset=28 (local.get $frame))
 *
 * after, in the graph
 *
 *     (i32.store offset=28 (local.get $frame) (local.get $i))  …  (i32.add (local.get $i) (i32.const 0))
 *
 * Stores to other fixed addresses are told apart by constants, or by the guard (the obligation `forwarded`). Stores that
 * move with the iterations keep away from private windows in any case.
 *
 * @since 0.1.0
 */
import { loadShape } from "../binary/opcodes.ts"
import type { Access, Graph } from "./graph.ts"
import { Kind } from "./graph.ts"
import type { Induction } from "./induction.ts"
import { fingerprint, varies } from "./polynomial.ts"

/** An access at the same address in every iteration: what `key` stands for, plus a constant. */
interface Fixed {
  readonly access: Access
  readonly key: string
  readonly constant: number
}

/** Where the bytes of one access begin behind those of another with the same key. */
const distance = (from: Fixed, to: Fixed): number =>
  ((to.constant - from.constant) | 0) + to.access.offset - from.access.offset

const overlap = (x: Fixed, y: Fixed): boolean => {
  const between = distance(x, y)
  return x.key === y.key && between < x.access.bytes && -between < y.access.bytes
}

/**
 * Turns the nodes of loads into what was stored; returns how many. What was learnt of the graph before is then out of
 * date.
 *
 * @category analysis
 * @since 0.1.0
 */
export const forwardLoads = (induction: Induction): number => {
  const { graph } = induction
  /** By key: only accesses of the same one are compared. */
  const stores = new Map<string, Array<Fixed>>()
  const loads: Array<Fixed> = []
  const { body } = graph.loops[0]
  for (const access of graph.accesses) {
    if (!body.has(access.block)) continue
    if (access.kind === "load" && !isWhole(graph, access)) continue
    const address = induction.at(access.address, access.block)
    if (address === undefined || varies(address)) continue
    const fixed = { access, key: fingerprint(address, false), constant: address.constant }
    if (access.kind === "load") {
      loads.push(fixed)
      continue
    }
    const same = stores.get(fixed.key)
    if (same === undefined) stores.set(fixed.key, [fixed])
    else same.push(fixed)
  }
  const between = new Between(graph)
  let count = 0
  for (const load of loads) {
    const same = stores.get(load.key)?.filter((store) => overlap(store, load)) ?? []
    const source = lastBefore(graph, same, load)
    if (source === undefined) continue
    const shift = distance(source, load)
    const whole = shift >= 0 && shift + load.access.bytes <= source.access.bytes && isInteger(graph, source.access.node)
    if (!whole) continue
    if (same.some((other) => other !== source && between.comes(source.access, other.access, load.access))) continue
    replace(graph, load.access, source.access, shift)
    graph.forwarded.push({ load: load.access, store: source.access })
    count++
  }
  return count
}

/** The last of the stores that precede a load; each of them precedes, or is preceded by, each other. */
const lastBefore = (graph: Graph, stores: ReadonlyArray<Fixed>, load: Fixed): Fixed | undefined => {
  let last: Fixed | undefined
  for (const store of stores) {
    if (!graph.precedes(store.access, load.access)) continue
    if (last === undefined || graph.precedes(last.access, store.access)) last = store
  }
  return last
}

const isInteger = (graph: Graph, node: number): boolean => graph.type[node] === "i32" || graph.type[node] === "i64"

/** True for a load of one integer. */
const isWhole = (graph: Graph, { node }: Access): boolean =>
  graph.kind[node] === Kind.Load && isInteger(graph, node) && graph.op[node] < 0x100 &&
  loadShape(graph.op[node]) !== undefined

/** What may be executed between two accesses, within an iteration of loop 0. */
class Between {
  readonly #graph: Graph
  /** By blocks: whether control gets from behind the first to the second without passing the third. */
  readonly #known = new Map<number, boolean>()
  /** By block: number of the last search that came there. */
  readonly #seen: Int32Array
  #search = 0

  constructor(graph: Graph) {
    this.#graph = graph
    this.#seen = new Int32Array(graph.blocks.length)
  }

  /** True when `other` may be executed behind `store`, which precedes `load`, and before it. */
  comes(store: Access, other: Access, load: Access): boolean {
    const graph = this.#graph
    if (other.block === store.block) {
      if (graph.precedes(other, store)) return false
      return load.block !== store.block || graph.precedes(other, load)
    }
    if (other.block === load.block && graph.precedes(other, load)) return true
    const count = graph.blocks.length
    const key = (other.block * count + load.block) * count + store.block
    let known = this.#known.get(key)
    if (known === undefined) this.#known.set(key, known = this.#reaches(other.block, load.block, store.block))
    return known
  }

  #reaches(from: number, to: number, past: number): boolean {
    const { blocks, loops } = this.#graph
    const { body, header } = loops[0]
    const search = ++this.#search
    const work = [from]
    while (work.length > 0) {
      for (const next of blocks[work.pop()!].succs) {
        if (this.#seen[next.to] === search || next.to === header || next.to === past || !body.has(next.to)) continue
        if (next.to === to) return true
        this.#seen[next.to] = search
        work.push(next.to)
      }
    }
    return false
  }
}

/** Makes the load's node compute its value from the stored one, `shift` bytes behind the store's low end. */
const replace = (graph: Graph, load: Access, store: Access, shift: number): void => {
  const { node } = load
  const block = graph.block[node]
  const wide = graph.type[node] === "i64"
  const stored = graph.type[store.node] === "i64"
  const literal = (value: number): number => graph.node(Kind.Const32, 0, value, 0, 0, "i32", 0)
  const wideLiteral = (value: bigint): number => graph.node(Kind.Const64, 0, 0, 0, 0, "i64", 0, value)
  let value = store.node
  if (shift > 0) {
    value = stored
      ? graph.node(Kind.Op, 0x88, value, wideLiteral(BigInt(8 * shift)), 0, "i64", block)
      : graph.node(Kind.Op, 0x76, value, literal(8 * shift), 0, "i32", block)
  }
  if (wide && !stored) value = graph.node(Kind.Op, 0xad, value, 0, 0, "i64", block)
  if (!wide && stored) value = graph.node(Kind.Op, 0xa7, value, 0, 0, "i32", block)
  const op = graph.op[node]
  const turn = (opcode: number, a: number, b: number): void => {
    graph.kind[node] = Kind.Op
    graph.op[node] = opcode
    graph.a[node] = a
    graph.b[node] = b
    graph.c[node] = 0
    graph.aux[node] = undefined
  }
  const extend = SIGNED[op]
  if (extend !== undefined) turn(extend, value, 0)
  else if (wide) {
    if (load.bytes === 8) turn(0x7c, value, wideLiteral(0n))
    else turn(0x83, value, wideLiteral((1n << BigInt(8 * load.bytes)) - 1n))
  } else if (load.bytes === 4) turn(0x6a, value, literal(0))
  else turn(0x71, value, literal(2 ** (8 * load.bytes) - 1))
}

/** Sign extensions by the loads that make them. */
const SIGNED: Readonly<Record<number, number>> = { 0x2c: 0xc0, 0x2e: 0xc1, 0x30: 0xc2, 0x32: 0xc3, 0x34: 0xc4 }
