/**
 * The state of a graph under construction: which values locals, globals and the operand stack hold, the open labels,
 * and how control joins.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import type { FunctionType, ValueType, WasmModule } from "../binary/module.ts"
import { Globals, Locals } from "./cells.ts"
import type { Effect, EffectCode, ExitInfo, Phi } from "./graph.ts"
import { Graph, Kind } from "./graph.ts"
import type { LoopLiveness } from "./liveness.ts"
import type { Context, Frame, RegionLimits, Snapshot } from "./region-model.ts"
import { RegionTooLarge } from "./region-model.ts"
import type { LoopShape } from "./scan.ts"

const EMPTY: FunctionType = { params: [], results: [] }

/**
 * What {@link buildRegion} steps through the code with.
 *
 * @category analysis
 * @since 0.1.0
 */
export class RegionState {
  readonly graph = new Graph()
  readonly entries = new Map<number, number>()
  readonly constants = new Map<number, number>()
  readonly globalEntries = new Map<number, number>()
  context: Context
  readonly callers: Array<Context> = []
  frames: Array<Frame> = []
  stack: Array<number> = []
  locals: Locals
  readonly globals = new Globals()
  /** Globals that the region writes, callees included; loop headers get a phi for each. */
  readonly written: Set<number>
  current: number
  reachable = true
  /** Labels opened in unreachable code. */
  skipped = 0
  /** Values of globals that were last told to be seen. */
  #used: ReadonlyArray<number> | undefined

  readonly module: WasmModule
  readonly shape: LoopShape
  readonly liveness: LoopLiveness | undefined
  readonly limits: RegionLimits

  constructor(
    module: WasmModule,
    functionIndex: number,
    types: ReadonlyArray<ValueType>,
    functionType: FunctionType,
    shape: LoopShape,
    liveness: LoopLiveness | undefined,
    limits: RegionLimits
  ) {
    this.module = module
    this.shape = shape
    this.liveness = liveness
    this.limits = limits
    this.written = this.graph.writtenGlobals
    const assigned = limits.index.of(functionIndex).get(shape.offset)!.assigned
    this.context = {
      functionIndex,
      types,
      functionType,
      assigned,
      slotOf: new Int32Array(types.length).fill(-1),
      reader: new InstructionReader(module.bytes, shape.bodyStart, shape.end),
      base: 0
    }
    assigned.forEach((local, slot) => this.context.slotOf![local] = slot)
    this.locals = new Locals(new Array<number>(assigned.length).fill(0))
    this.current = this.graph.newBlock()
  }

  get reader(): InstructionReader {
    return this.context.reader
  }

  // --- values ------------------------------------------------------------------------------------------------

  node(kind: number, op: number, a: number, b: number, c: number, type: ValueType, aux?: unknown): number {
    if (this.graph.kind.length >= this.limits.nodes) throw new RegionTooLarge("too many values")
    return this.graph.node(kind, op, a, b, c, type, this.current, aux)
  }

  entry(local: number): number {
    let node = this.entries.get(local)
    if (node === undefined) {
      node = this.graph.node(Kind.Entry, 0, local, 0, 0, this.context.types[local], 0)
      this.entries.set(local, node)
    }
    return node
  }

  constant(value: number): number {
    let node = this.constants.get(value)
    if (node === undefined) {
      node = this.graph.node(Kind.Const32, 0, value, 0, 0, "i32", 0)
      this.constants.set(value, node)
    }
    return node
  }

  opaque(type: ValueType): number {
    return this.node(Kind.Opaque, 0, 0, 0, 0, type)
  }

  slot(local: number): number {
    const { slotOf } = this.context
    return slotOf === undefined ? local : slotOf[local]
  }

  readLocal(local: number): number {
    const slot = this.slot(local)
    return slot < 0 ? this.entry(local) : this.locals.get(slot)
  }

  readGlobal(index: number): number {
    const known = this.globals.get(index)
    if (known !== undefined) return known
    let node = this.globalEntries.get(index)
    if (node === undefined) {
      const global = this.module.globals[index]
      const init = global.mutable || global.import !== undefined ? undefined : global.init
      if (init?.opcode === 0x41 && init.i32 !== undefined) return this.constant(init.i32)
      node = this.graph.node(Kind.Global, 0, index, 0, 0, global.valueType, 0)
      this.globalEntries.set(index, node)
    }
    return node
  }

  pop(): number {
    const node = this.stack.pop()
    if (node === undefined) throw new Error("operand stack underflow")
    return node
  }

  popMany(count: number): Array<number> {
    return count === 0 ? [] : this.stack.splice(this.stack.length - count, count)
  }

  // --- control -----------------------------------------------------------------------------------------------

  blockType(immediate: number): FunctionType {
    if (immediate >= 0) {
      const type = this.module.types[immediate]
      if (type === undefined) throw new Error("block of a type that is not a function type")
      return type
    }
    if (immediate === -64) return EMPTY
    const type =
      ({ [-1]: "i32", [-2]: "i64", [-3]: "f32", [-4]: "f64", [-5]: "v128" } as Record<number, ValueType>)[immediate]
    return { params: [], results: [type ?? "ref"] }
  }

  snapshot(values: ReadonlyArray<number>, kind: Snapshot["kind"]): Snapshot {
    return { block: this.current, locals: this.locals.share(), globals: this.globals.share(), values, kind }
  }

  openLoop(type: FunctionType, offset: number): void {
    const { graph } = this
    const parent = this.frames.findLast((frame) => frame.kind === "loop")?.loop ?? -1
    const id = graph.loops.length
    const before = this.current
    const header = graph.newBlock()
    graph.edge(before, header, "jump")
    const phis: Array<number> = []
    graph.loops.push({ id, parent, header, offset, latches: [], phis, body: new Set(), exits: [] })
    this.current = header
    const phi = (value: number, valueType: ValueType, local: number, global: number): number => {
      const aux: Phi = { block: header, inputs: [{ block: before, value }], loop: id, local, global }
      const node = this.node(Kind.Phi, 0, 0, 0, 0, valueType, aux)
      phis.push(node)
      return node
    }
    const writes = this.limits.index.of(this.context.functionIndex).get(offset)!.assigned
    for (const local of writes) {
      const slot = this.slot(local)
      this.locals.set(slot, phi(this.locals.get(slot), this.context.types[local], local, -1))
    }
    for (const index of this.written) {
      this.globals.set(index, phi(this.globals.get(index)!, this.module.globals[index].valueType, -1, index))
    }
    const params = this.popMany(type.params.length)
    params.forEach((value, index) => this.stack.push(phi(value, type.params[index], -1, -1)))
    this.frames.push({
      kind: "loop",
      height: this.stack.length - params.length,
      params: type.params,
      results: type.results,
      branches: [],
      loop: id,
      elseState: undefined
    })
  }

  branch(depth: number, kind: Snapshot["kind"]): void {
    const { graph } = this
    const index = this.frames.length - 1 - depth
    if (index < 0) {
      const outer = depth - this.frames.length
      // The label's arity is not known here: every operand on the stack may leave with the branch.
      const live = this.liveness === undefined ? "all" : this.liveness.atLabel(outer)
      this.leave("branch", kind, this.stack.length, live, outer)
      return
    }
    const frame = this.frames[index]
    if (frame.kind === "loop") {
      const loop = graph.loops[frame.loop]
      graph.edge(this.current, loop.header, kind)
      loop.latches.push(this.current)
      const values = this.stack.slice(this.stack.length - frame.params.length)
      const operands = loop.phis.filter((p) => graph.phi(p).local < 0 && graph.phi(p).global < 0)
      for (const p of loop.phis) {
        const info = graph.phi(p)
        const value = info.global >= 0
          ? this.globals.get(info.global)!
          : info.local >= 0
          ? this.locals.get(this.slot(info.local))
          : values[operands.indexOf(p)]
        info.inputs.push({ block: this.current, value })
      }
      return
    }
    const count = frame.results.length
    frame.branches.push(this.snapshot(count === 0 ? [] : this.stack.slice(this.stack.length - count), kind))
  }

  /** Records a way out of the region and the values that leave with it. */
  leave(
    exit: ExitInfo["kind"],
    kind: Snapshot["kind"],
    operands: number,
    liveLocals: Uint32Array | "all" | undefined,
    label = -1
  ): void {
    const { graph } = this
    const values: Array<number> = []
    const locals = new Map<number, number>()
    const block = graph.newBlock({ kind: exit, offset: this.reader.start, values, operands, label, locals })
    graph.edge(this.current, block, kind)
    for (let i = 0; i < operands; i++) values.push(this.stack[this.stack.length - 1 - i])
    values.push(...this.writtenNow())
    if (liveLocals === undefined) return
    this.context.assigned.forEach((local, slot) => {
      if (liveLocals === "all" || (liveLocals[local >>> 5] & (1 << (local & 31))) !== 0) {
        const value = this.locals.get(slot)
        values.push(value)
        locals.set(local, value)
      }
    })
  }

  merge(incoming: ReadonlyArray<Snapshot>, results: ReadonlyArray<ValueType>): void {
    const { graph } = this
    if (incoming.length === 0) {
      this.reachable = false
      return
    }
    this.reachable = true
    const first = incoming[0]
    const block = graph.newBlock()
    for (const one of incoming) graph.edge(one.block, block, one.kind)
    this.current = block
    this.locals.restore(first.locals)
    this.globals.restore(first.globals)
    if (incoming.length === 1) {
      for (const value of first.values) this.stack.push(value)
      return
    }
    /** A value that is the same from everywhere, or a merge of it. */
    const phi = (pick: (s: Snapshot) => number, type: ValueType, local: number, global: number): number => {
      const value = pick(first)
      if (incoming.every((s) => pick(s) === value)) return value
      const inputs = incoming.map((s) => ({ block: s.block, value: pick(s) }))
      return this.node(Kind.Phi, 0, 0, 0, 0, type, { block, inputs, loop: -1, local, global } satisfies Phi)
    }
    if (incoming.some(({ locals }) => locals !== first.locals)) {
      const { assigned, types } = this.context
      for (let slot = 0; slot < assigned.length; slot++) {
        if (isSame(incoming, slot)) continue
        const local = assigned[slot]
        this.locals.set(slot, phi((s) => s.locals[slot], types[local], local, -1))
      }
    }
    if (incoming.some(({ globals }) => globals !== first.globals)) {
      const changed = new Set(incoming.flatMap((s) => [...s.globals.keys()]))
      for (const index of changed) {
        const entry = this.readGlobal(index)
        const type = this.module.globals[index].valueType
        this.globals.set(index, phi((s) => s.globals.get(index) ?? entry, type, -1, index))
      }
    }
    results.forEach((type, index) => this.stack.push(phi((s) => s.values[index], type, -1, -1)))
  }

  twoWay(condition: number): number {
    const block = this.graph.blocks[this.current]
    block.condition = condition
    block.branchOffset = this.reader.start
    return this.current
  }

  /** Starts the block that follows a conditional branch. */
  fallThrough(from: number): void {
    const next = this.graph.newBlock()
    this.graph.edge(from, next, "false")
    this.current = next
  }

  end(): void {
    const frame = this.frames.pop()!
    const incoming = frame.branches
    const count = frame.results.length
    if (this.reachable) {
      incoming.push(this.snapshot(count === 0 ? [] : this.stack.slice(this.stack.length - count), "jump"))
    }
    if (frame.elseState !== undefined) incoming.push(frame.elseState)
    this.stack.length = frame.height
    this.merge(incoming, frame.results)
  }

  startElse(): void {
    const frame = this.frames[this.frames.length - 1]
    const count = frame.results.length
    if (this.reachable) {
      frame.branches.push(this.snapshot(count === 0 ? [] : this.stack.slice(this.stack.length - count), "jump"))
    }
    this.stack.length = frame.height
    const state = frame.elseState!
    frame.elseState = undefined
    this.locals.restore(state.locals)
    this.globals.restore(state.globals)
    this.reachable = true
    this.fallThrough(state.block)
    for (const value of state.values) this.stack.push(value)
  }

  /** Values of the globals that the region writes, as they are now. */
  writtenNow(): ReadonlyArray<number> {
    return this.globals.list(this.written)
  }

  /** Something can be seen of the globals from outside here. */
  useWritten(): void {
    const now = this.writtenNow()
    if (now === this.#used) return
    this.#used = now
    this.graph.used.push(...now)
  }

  effect(code: EffectCode): void {
    this.useWritten()
    this.graph.effects.push({ code, block: this.current, position: this.reader.start } satisfies Effect)
  }
}

/** True when a slot holds the same value wherever control comes from. */
const isSame = (incoming: ReadonlyArray<Snapshot>, slot: number): boolean => {
  const value = incoming[0].locals[slot]
  for (let at = 1; at < incoming.length; at++) if (incoming[at].locals[slot] !== value) return false
  return true
}
