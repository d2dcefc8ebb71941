/**
 * The value graph of one loop region: static single assignment over the locals and globals of the region, with a
 * control-flow graph of basic blocks beside it.
 *
 * Nodes live in parallel arrays indexed by a node id; id 0 is "no node". Blocks are records. The graph is built by
 * `build.ts` and only read afterwards.
 *
 * @since 0.1.0
 */
import type { ValueType } from "../binary/module.ts"
import type { Dominators } from "./dominators.ts"
import { dominates, dominators } from "./dominators.ts"
import type { IndirectTarget } from "./tables.ts"

/** Kinds of value nodes. @category model @since 0.1.0 */
export const Kind = {
  /** A local as it is when the region is entered; `a` = local index. */
  Entry: 1,
  /** An i32 constant; `a` = value. */
  Const32: 2,
  /** An i64 constant; `aux` = bigint. */
  Const64: 3,
  /** A float or vector constant, opaque to the analysis. */
  ConstOther: 4,
  /** A merge of values; `aux` = {@link Phi}. */
  Phi: 5,
  /** A pure numeric instruction; `op` = opcode, operands `a`, `b`, `c`. */
  Op: 6,
  /** A load from memory 0; `op` = opcode, `a` = address, `aux` = {@link LoadInfo}. */
  Load: 7,
  /** A global as it is when the region is entered; `a` = global index. */
  Global: 8,
  /** `select`; operands `a` (when true), `b`, condition `c`. */
  Select: 9,
  /** `memory.size` of memory 0. */
  MemorySize: 10,
  /** A value the analysis knows nothing about (a call's result, a reference). */
  Opaque: 11,
  /** An i32 made up by the analysis; `aux` = the polynomial that it stands for. */
  Derived: 12
} as const

/** A merge of values at a block. @category model @since 0.1.0 */
export interface Phi {
  /** Block the merge stands in. */
  readonly block: number
  /** One value a predecessor, in the order of `Block.preds`. */
  readonly inputs: Array<{ readonly block: number; readonly value: number }>
  /** Loop id when the block is a loop header, else -1. */
  readonly loop: number
  /** Local (or -1) and global (or -1) whose value this is; both -1 for an operand-stack value. */
  readonly local: number
  readonly global: number
}

/** Immediate facts of a load. @category model @since 0.1.0 */
export interface LoadInfo {
  readonly offset: number
  readonly bytes: number
}

/** How control leaves a block. @category model @since 0.1.0 */
export interface Edge {
  readonly to: number
  /** `true`/`false`: sides of a two-way branch. */
  readonly kind: "jump" | "true" | "false" | "case"
}

/** A basic block. @category model @since 0.1.0 */
export interface Block {
  readonly id: number
  readonly preds: Array<number>
  readonly succs: Array<Edge>
  /** Condition node of a two-way branch, 0 when there is none. */
  condition: number
  /** Offset of the branching instruction in the module, 0 when there is none. */
  branchOffset: number
  /** True for a pseudo block that stands for leaving the region. */
  readonly exit: ExitInfo | undefined
}

/** A way out of the region. @category model @since 0.1.0 */
export interface ExitInfo {
  readonly kind: "branch" | "return" | "fallthrough"
  /** Offset of the instruction that leaves. */
  readonly offset: number
  /** Values that leave: operands, globals that the region writes, and locals that are read behind the loop. */
  readonly values: Array<number>
  /** How many of them, the first ones, are operands. */
  readonly operands: number
  /** The label that a branch leaves by, counted from the one around the region; -1 for other ways out. */
  readonly label: number
  /** Locals among the values. */
  readonly locals: Map<number, number>
}

/** One access to memory 0 (or an access the analysis cannot describe). @category model @since 0.1.0 */
export interface Access {
  readonly kind: "load" | "store"
  readonly address: number
  /** Static offset of the memarg. */
  readonly offset: number
  readonly bytes: number
  readonly block: number
  /** Load node, or the stored value's node. */
  readonly node: number
  /** Offset of the instruction in the module. */
  readonly position: number
}

/** Something in a block that a chunk may not do. @category model @since 0.1.0 */
export interface Effect {
  readonly code: EffectCode
  readonly block: number
  readonly position: number
}

/** What kind of effect. @category model @since 0.1.0 */
export type EffectCode =
  | "call"
  | "call-indirect"
  | "global-write"
  | "memory-grow"
  | "atomic"
  | "bulk-memory"
  | "table"
  | "exception"
  | "reference"
  | "other-memory"
  | "tail-call"
  | "unknown-instruction"

/** A loop of the region (0 is the region's own loop). @category model @since 0.1.0 */
export interface Loop {
  readonly id: number
  readonly parent: number
  readonly header: number
  /** Offset of the `loop` instruction. */
  readonly offset: number
  readonly latches: Array<number>
  /** Header phis. */
  readonly phis: Array<number>
  /** Blocks of the natural loop; filled by {@link Graph.finish}. */
  body: Set<number>
  /** Edges that leave the natural loop. */
  exits: Array<{ readonly from: number; readonly edge: Edge }>
}

const NOBODY: ReadonlyArray<number> = []

/**
 * The graph. @category model @since 0.1.0
 */
export class Graph {
  readonly kind: Array<number> = [0]
  readonly op: Array<number> = [0]
  readonly a: Array<number> = [0]
  readonly b: Array<number> = [0]
  readonly c: Array<number> = [0]
  readonly type: Array<ValueType> = ["i32"]
  readonly block: Array<number> = [0]
  readonly aux: Array<unknown> = [undefined]
  readonly blocks: Array<Block> = []
  readonly loops: Array<Loop> = []
  readonly accesses: Array<Access> = []
  /** Loads whose nodes have become the value of a store of the same iteration. */
  readonly forwarded: Array<{ readonly load: Access; readonly store: Access }> = []
  readonly effects: Array<Effect> = []
  /** Copies and fills of constant length, which stand among the accesses: where they are. */
  readonly bulk = new Set<number>()
  /** Calls that were followed: where they stand. */
  readonly calls: Array<{ readonly position: number; readonly block: number }> = []
  /** What calls through tables, which were followed, may reach: by where they stand. */
  readonly indirect = new Map<number, ReadonlyArray<IndirectTarget>>()
  /** Opaque results of calls that were not followed, by node. */
  readonly given = new Map<number, { readonly callee: number; readonly operands: ReadonlyArray<number> }>()
  /** Functions whose bodies were followed. */
  readonly callees = new Set<number>()
  /** Globals that the region writes, callees included. */
  readonly writtenGlobals = new Set<number>()
  /** What these globals are when a load is executed, by its node: seen from outside where it traps. */
  readonly globalsAt = new Map<number, ReadonlyArray<number>>()
  /** Trap-capable operations: division, remainder, float-to-integer truncation. */
  readonly trapping: Array<number> = []
  /** Values that something depends on which is not in the graph: choices among many ways, operands of effects. */
  readonly used: Array<number> = []
  /** Immediate dominator of each block, -1 when unreachable. */
  idom: Int32Array = new Int32Array(0)
  /** Reverse post-order number of each block, -1 when unreachable. */
  order: Int32Array = new Int32Array(0)
  /** Innermost natural loop of each block, -1 outside. */
  inner: Int32Array = new Int32Array(0)
  #backwards: Dominators | undefined
  #users: Array<Array<number> | undefined> | undefined
  #places: ReadonlyMap<Access, number> | undefined

  /** Adds a node and returns its id. */
  node(
    kind: number,
    op: number,
    a: number,
    b: number,
    c: number,
    type: ValueType,
    block: number,
    aux?: unknown
  ): number {
    const id = this.kind.length
    this.kind.push(kind)
    this.op.push(op)
    this.a.push(a)
    this.b.push(b)
    this.c.push(c)
    this.type.push(type)
    this.block.push(block)
    this.aux.push(aux)
    return id
  }

  /** Adds a block and returns its id. */
  newBlock(exit?: ExitInfo): number {
    const id = this.blocks.length
    this.blocks.push({ id, preds: [], succs: [], condition: 0, branchOffset: 0, exit })
    return id
  }

  /** Adds an edge. */
  edge(from: number, to: number, kind: Edge["kind"]): void {
    this.blocks[from].succs.push({ to, kind })
    this.blocks[to].preds.push(from)
  }

  /** The phi record of a phi node. */
  phi(node: number): Phi {
    return this.aux[node] as Phi
  }

  /** True when block `x` dominates block `y`. */
  dominates(x: number, y: number): boolean {
    return dominates(this, x, y)
  }

  /**
   * True when an iteration of loop 0 that goes on, and has come to block `y`, comes to block `x` as well: `x`
   * post-dominates `y` in the body, which ends where it returns to the header. An inner loop is left in the end.
   */
  postDominates(x: number, y: number): boolean {
    this.#backwards ??= this.#postDominators()
    return dominates(this.#backwards, x, y)
  }

  #postDominators(): Dominators {
    const { body, header, latches } = this.loops[0]
    const end = this.blocks.length
    const onwards = this.blocks.map(({ id, succs }) =>
      body.has(id) ? succs.map(({ to }) => to).filter((to) => body.has(to) && to !== header) : []
    )
    const backwards: Array<Array<number>> = onwards.map(() => [])
    onwards.forEach((targets, from) => targets.forEach((to) => backwards[to].push(from)))
    backwards.push(latches.filter((id) => body.has(id)))
    for (const id of backwards[end]) onwards[id].push(end)
    return dominators(end + 1, end, (id) => backwards[id], (id) => onwards[id])
  }

  /** Nodes with a node as an operand, or as what a reached block brings to a merge; of nodes added later, none. */
  usersOf(node: number): ReadonlyArray<number> {
    this.#users ??= this.#findUsers()
    return this.#users[node] ?? NOBODY
  }

  #findUsers(): Array<Array<number> | undefined> {
    const users = new Array<Array<number> | undefined>(this.kind.length).fill(undefined)
    const add = (operand: number, user: number): void => {
      if (operand <= 0) return
      const known = users[operand]
      if (known === undefined) users[operand] = [user]
      else known.push(user)
    }
    for (let node = 1; node < this.kind.length; node++) {
      switch (this.kind[node]) {
        case Kind.Phi:
          for (const { block, value } of this.phi(node).inputs) if (this.order[block] >= 0) add(value, node)
          break
        case Kind.Op:
        case Kind.Select:
        case Kind.Load:
          add(this.a[node], node)
          add(this.b[node], node)
          add(this.c[node], node)
      }
    }
    return users
  }

  /** True when an access is executed before another whenever that is, in the same iteration of the loops around both. */
  precedes(first: Access, second: Access): boolean {
    return first.block === second.block
      ? this.placeOf(first) < this.placeOf(second)
      : this.dominates(first.block, second.block)
  }

  /** A number that grows along a block. */
  placeOf(access: Access): number {
    this.#places ??= new Map(this.accesses.map((one, index) => [one, index]))
    return this.#places.get(access)!
  }

  /** True when the node is an i32 constant. */
  isConst32(node: number): boolean {
    return this.kind[node] === Kind.Const32
  }

  /** Orders blocks, computes dominators and natural loops. Call once, when everything is added. */
  finish(): this {
    const succs = this.blocks.map((block) => block.succs.map(({ to }) => to))
    const found = dominators(this.blocks.length, 0, (id) => succs[id], (id) => this.blocks[id].preds)
    this.idom = found.idom
    this.order = found.order
    this.#naturalLoops()
    return this
  }

  #naturalLoops(): void {
    this.inner = new Int32Array(this.blocks.length).fill(-1)
    for (const loop of this.loops) {
      const work = loop.latches.filter((b) => this.order[b] >= 0)
      loop.body = new Set(work.length === 0 ? [] : [loop.header, ...work])
      while (work.length > 0) {
        const block = work.pop()!
        if (block === loop.header) continue
        for (const pred of this.blocks[block].preds) {
          if (this.order[pred] >= 0 && !loop.body.has(pred)) {
            loop.body.add(pred)
            work.push(pred)
          }
        }
      }
      loop.exits = []
      for (const from of loop.body) {
        for (const edge of this.blocks[from].succs) if (!loop.body.has(edge.to)) loop.exits.push({ from, edge })
      }
    }
    // Loops are recorded outermost first, so a later one overwrites with the more deeply nested.
    for (const loop of this.loops) for (const block of loop.body) this.inner[block] = loop.id
  }
}
