/**
 * Builds the value graph of one loop region from the bytes between `loop` and `end`.
 *
 * Wasm is structured, so a single pass suffices: a loop header gets a phi for every local written inside, and the end
 * of a block merges what its branches bring. Values from before the region are opaque entries: what is known of them
 * is found out at run time, by the guard. Calls of small callees are followed as if their bodies stood in the place.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import type { FunctionType, ValueType, WasmModule } from "../binary/module.ts"
import { localTypes } from "../binary/module.ts"
import type { NumericShape } from "../binary/opcodes.ts"
import { laneShape, loadShape, numericShape, storeShape } from "../binary/opcodes.ts"
import { Locals } from "./cells.ts"
import { type OpaqueStep, opaqueStep } from "./effects.ts"
import { foldI32 } from "./fold.ts"
import type { EffectCode, Graph, LoadInfo } from "./graph.ts"
import { Kind } from "./graph.ts"
import type { LoopLiveness } from "./liveness.ts"
import type { Frame, RegionLimits, Snapshot } from "./region-model.ts"
import { RegionTooLarge } from "./region-model.ts"
import { RegionState } from "./region.ts"
import type { LoopShape } from "./scan.ts"
import { isIntegerGlobal, type Summaries } from "./summary.ts"

/**
 * Builds and finishes the graph of `shape`. `liveness` prunes values that nobody reads behind the loop; without it
 * every written local counts as read.
 *
 * @category analysis
 * @since 0.1.0
 */
export const buildRegion = (
  module: WasmModule,
  functionIndex: number,
  types: ReadonlyArray<ValueType>,
  functionType: FunctionType,
  shape: LoopShape,
  liveness: LoopLiveness | undefined,
  limits: RegionLimits
): Graph => new Builder(module, functionIndex, types, functionType, shape, liveness, limits).run()

/** Longest copy or fill that counts as an access (bytes). */
const MAXIMUM_BULK = 1 << 20

class Builder extends RegionState {
  run(): Graph {
    for (const index of writtenGlobals(this.module, this.shape, this.limits.summaries)) {
      this.written.add(index)
      this.globals.set(index, this.readGlobal(index))
    }
    this.context.assigned.forEach((local, slot) => this.locals.set(slot, this.entry(local)))
    this.openLoop(this.blockType(this.shape.blockType), this.shape.offset)
    while (this.reader.next()) this.step()
    if (this.frames.length !== 1) throw new Error("unbalanced control in region")
    if (this.reachable) {
      const results = this.frames[0].results.length
      this.leave("fallthrough", "jump", results, this.liveness === undefined ? "all" : this.liveness.after)
    }
    return this.graph.finish()
  }

  step(): void {
    const { reader } = this
    const opcode = reader.opcode
    if (!this.reachable) {
      if (opcode === 0x02 || opcode === 0x03 || opcode === 0x04) this.skipped++
      else if (opcode === 0x0b) {
        if (this.skipped > 0) this.skipped--
        else this.end()
      } else if (opcode === 0x05 && this.skipped === 0) this.startElse()
      return
    }
    const numeric = opcode < 0x45 ? undefined : numericShape(opcode)
    if (numeric !== undefined) return this.numeric(opcode, numeric)
    switch (opcode) {
      case 0x20:
        this.stack.push(this.readLocal(reader.index))
        return
      case 0x21:
        this.locals.set(this.slot(reader.index), this.pop())
        return
      case 0x22:
        this.locals.set(this.slot(reader.index), this.stack[this.stack.length - 1])
        return
      case 0x41:
        this.stack.push(this.constant(reader.i32))
        return
      case 0x42:
        this.stack.push(this.node(Kind.Const64, 0, 0, 0, 0, "i64", reader.i64))
        return
      case 0x43:
      case 0x44:
        this.stack.push(this.node(Kind.ConstOther, 0, 0, 0, 0, opcode === 0x43 ? "f32" : "f64"))
        return
      case 0x23:
        this.stack.push(this.readGlobal(reader.index))
        return
      case 0x24:
        if (!this.written.has(reader.index)) {
          this.effect("global-write")
          this.graph.used.push(this.stack[this.stack.length - 1])
        }
        this.globals.set(reader.index, this.pop())
        return
      case 0x1a:
        this.pop()
        return
      case 0x1b:
      case 0x1c: {
        const condition = this.pop()
        const otherwise = this.pop()
        const chosen = this.pop()
        this.stack.push(this.node(Kind.Select, 0, chosen, otherwise, condition, this.graph.type[chosen]))
        return
      }
      case 0x01:
        return
      case 0x00:
        this.useWritten()
        this.reachable = false
        return
      default:
        if (opcode <= 0x0f) return this.control(opcode)
        return this.other(opcode)
    }
  }

  control(opcode: number): void {
    const { reader } = this
    switch (opcode) {
      case 0x02: {
        const type = this.blockType(reader.blockType)
        this.frames.push(this.frame("block", type, undefined))
        return
      }
      case 0x03:
        return this.openLoop(this.blockType(reader.blockType), reader.start)
      case 0x04: {
        const condition = this.pop()
        const type = this.blockType(reader.blockType)
        const from = this.twoWay(condition)
        const params = this.stack.slice(this.stack.length - type.params.length)
        this.frames.push(this.frame("if", type, this.snapshot(type.params.length === 0 ? [] : params, "false")))
        const next = this.graph.newBlock()
        this.graph.edge(from, next, "true")
        this.current = next
        return
      }
      case 0x05:
        return this.startElse()
      case 0x0b:
        return this.end()
      case 0x0c:
        this.branch(reader.index, "jump")
        this.reachable = false
        return
      case 0x0d: {
        const from = this.twoWay(this.pop())
        this.branch(reader.index, "true")
        this.fallThrough(from)
        return
      }
      case 0x0e: {
        this.graph.used.push(this.pop())
        for (const depth of new Set(reader.targets!)) this.branch(depth, "case")
        this.reachable = false
        return
      }
      case 0x0f:
        if (this.callers.length > 0) this.branch(this.frames.length - 1 - this.context.base, "jump")
        else this.leave("return", "jump", this.context.functionType.results.length, undefined)
        this.reachable = false
        return
      default:
        throw new RegionTooLarge(`control instruction 0x${opcode.toString(16)}`)
    }
  }

  frame(kind: "block" | "if", type: FunctionType, elseState: Snapshot | undefined): Frame {
    return {
      kind,
      height: this.stack.length - type.params.length,
      params: type.params,
      results: type.results,
      branches: [],
      loop: -1,
      elseState
    }
  }

  numeric(opcode: number, { pops, traps, type }: NumericShape): void {
    const c = pops > 2 ? this.pop() : 0
    const b = pops > 1 ? this.pop() : 0
    const a = pops > 0 ? this.pop() : 0
    const { graph } = this
    if (graph.isConst32(a) && graph.isConst32(b)) {
      const folded = foldI32(opcode, graph.a[a], graph.a[b])
      if (folded !== undefined) {
        this.stack.push(this.constant(folded))
        return
      }
    }
    const node = pops === 0
      ? this.node(Kind.ConstOther, opcode, 0, 0, 0, type)
      : this.node(Kind.Op, opcode, a, b, c, type)
    if (traps) {
      graph.trapping.push(node)
      this.useWritten()
    }
    this.stack.push(node)
  }

  other(opcode: number): void {
    const { graph, reader } = this
    const load = loadShape(opcode)
    if (load !== undefined) {
      if (reader.memory !== 0) this.effect("other-memory")
      return this.load(opcode, load.bytes, load.type)
    }
    const store = storeShape(opcode)
    const lane = laneShape(opcode)
    if (store !== undefined || (lane !== undefined && lane.store)) {
      if (reader.memory !== 0) this.effect("other-memory")
      const value = this.pop()
      const address = this.pop()
      const bytes = (store ?? lane)!.bytes
      graph.accesses.push({
        kind: "store",
        address,
        offset: reader.offset,
        bytes,
        block: this.current,
        node: value,
        position: reader.start
      })
      return
    }
    if (lane !== undefined) {
      if (reader.memory !== 0) this.effect("other-memory")
      const vector = this.pop()
      this.load(opcode, lane.bytes, "v128")
      // The lane load keeps the other lanes of its vector operand.
      graph.b[this.stack[this.stack.length - 1]] = vector
      return
    }
    switch (opcode) {
      case 0x10:
        if (this.follow(reader.index)) return
        return this.call(this.module.types[this.module.functions[reader.index].typeIndex], false, "call", reader.index)
      case 0x12:
        return this.call(this.module.types[this.module.functions[reader.index].typeIndex], true, "call")
      case 0x11:
        if (this.followIndirect(reader.index, reader.index2)) return
        this.graph.used.push(this.pop())
        return this.call(this.module.types[reader.index], false, "call-indirect")
      case 0x13:
        this.graph.used.push(this.pop())
        return this.call(this.module.types[reader.index], true, "call-indirect")
      case 0x3f:
        if (reader.memory !== 0) this.effect("other-memory")
        this.stack.push(this.node(Kind.MemorySize, 0, 0, 0, 0, "i32"))
        return
      case 0xfc00a:
      case 0xfc00b:
        return this.bulk(opcode === 0xfc00a)
      default: {
        const step = opaqueStep(opcode)
        if (step === undefined) throw new RegionTooLarge(`instruction 0x${opcode.toString(16)}`)
        return this.opaqueStep(step)
      }
    }
  }

  /** `memory.copy` and `memory.fill` of a constant length are a load and a store, or a store, of so many bytes. */
  bulk(copies: boolean): void {
    const { graph, reader } = this
    const [target, source, length] = this.stack.slice(-3)
    const bytes = graph.isConst32(length) ? graph.a[length] : 0
    if (bytes < 1 || bytes > MAXIMUM_BULK || reader.memory !== 0 || (copies && reader.index2 !== 0)) {
      return this.opaqueStep({ code: "bulk-memory", pops: 3, result: undefined })
    }
    this.popMany(3)
    graph.bulk.add(reader.start)
    const place = { offset: 0, bytes, block: this.current, position: reader.start }
    if (copies) graph.accesses.push({ kind: "load", address: source, node: this.opaque("ref"), ...place })
    else graph.used.push(source)
    graph.accesses.push({ kind: "store", address: target, node: source, ...place })
  }

  load(opcode: number, bytes: number, type: ValueType): void {
    const { graph, reader } = this
    const address = this.pop()
    const info: LoadInfo = { offset: reader.offset, bytes }
    const node = this.node(Kind.Load, opcode, address, 0, 0, type, info)
    graph.accesses.push({
      kind: "load",
      address,
      offset: reader.offset,
      bytes,
      block: this.current,
      node,
      position: reader.start
    })
    if (this.written.size > 0) graph.globalsAt.set(node, this.writtenNow())
    this.stack.push(node)
  }

  /**
   * Goes on in the callee as if its body stood here. Not done for callees whose summary forbids it, and for calls that
   * never return.
   */
  follow(functionIndex: number): boolean {
    const { limits, module } = this
    if (limits.summaries?.follows(functionIndex, this.reader.position) !== true || this.isOpen(functionIndex)) {
      return false
    }
    const { body, typeIndex } = module.functions[functionIndex]
    const functionType = module.types[typeIndex]!
    const { codeStart, types } = localTypes(module, functionIndex)
    this.graph.calls.push({ position: this.reader.start, block: this.current })
    const callerLocals = this.locals
    const height = this.stack.length - functionType.params.length
    const locals = this.popMany(functionType.params.length)
    for (let index = functionType.params.length; index < types.length; index++) locals.push(this.zero(types[index]))
    this.callers.push(this.context)
    const base = this.frames.length
    this.context = {
      functionIndex,
      types,
      functionType,
      assigned: types.map((_, index) => index),
      slotOf: undefined,
      reader: new InstructionReader(module.bytes, codeStart, body!.end),
      base
    }
    this.locals = new Locals(locals)
    this.graph.callees.add(functionIndex)
    this.frames.push({
      kind: "block",
      height,
      params: [],
      results: functionType.results,
      branches: [],
      loop: -1,
      elseState: undefined
    })
    while (this.frames.length > base && this.reader.next()) this.step()
    this.context = this.callers.pop()!
    this.locals = callerLocals
    return true
  }

  isOpen(functionIndex: number): boolean {
    return [this.context, ...this.callers].some((context) => context.functionIndex === functionIndex)
  }

  /**
   * Goes on in each function that the call may reach, as behind a chain of comparisons of the element's index; where
   * none of them is meant, the call is a trap.
   */
  followIndirect(typeIndex: number, table: number): boolean {
    const { graph, limits, reader } = this
    const targets = limits.summaries?.targets(typeIndex, table, reader.position)
    if (targets === undefined || targets.some(({ functionIndex }) => this.isOpen(functionIndex))) return false
    const { params, results } = this.module.types[typeIndex]!
    graph.indirect.set(reader.start, targets)
    const element = this.pop()
    const operands = this.popMany(params.length)
    const frame = this.frame("block", { params: [], results }, undefined)
    this.frames.push(frame)
    for (const { elements, functionIndex } of targets) {
      const equal = elements.map((one) => this.node(Kind.Op, 0x46, element, this.constant(one), 0, "i32"))
      const from = this.twoWay(equal.reduce((x, y) => this.node(Kind.Op, 0x72, x, y, 0, "i32")))
      const otherwise = this.snapshot([], "false")
      const next = graph.newBlock()
      graph.edge(from, next, "true")
      this.current = next
      this.stack.push(...operands)
      this.follow(functionIndex)
      if (this.reachable) this.branch(0, "jump")
      this.stack.length = frame.height
      this.locals.restore(otherwise.locals)
      this.globals.restore(otherwise.globals)
      this.reachable = true
      this.fallThrough(otherwise.block)
    }
    graph.used.push(...this.writtenNow())
    this.reachable = false
    this.end()
    return true
  }

  zero(type: ValueType): number {
    return type === "i32"
      ? this.constant(0)
      : type === "i64"
      ? this.node(Kind.Const64, 0, 0, 0, 0, "i64", 0n)
      : this.node(Kind.ConstOther, 0, 0, 0, 0, type)
  }

  call(type: FunctionType | undefined, tail: boolean, code: EffectCode, callee = -1): void {
    if (type === undefined) throw new RegionTooLarge("call of a type that is not a function type")
    const operands = this.popMany(type.params.length)
    this.graph.used.push(...operands)
    this.effect(tail ? "tail-call" : code)
    for (const [index, global] of this.module.globals.entries()) {
      if (global.mutable && this.globalEntries.has(index)) this.globals.set(index, this.opaque(global.valueType))
    }
    if (tail) {
      this.reachable = false
      return
    }
    for (const result of type.results) {
      const node = this.opaque(result)
      this.stack.push(node)
      if (callee >= 0) this.graph.given.set(node, { callee, operands })
    }
  }

  opaqueStep({ code, pops, result }: OpaqueStep): void {
    this.graph.used.push(...this.popMany(pops))
    this.effect(code)
    if (result !== undefined) this.stack.push(this.opaque(result))
  }
}

/** Integer globals that the region or a followed callee writes. */
const writtenGlobals = (module: WasmModule, shape: LoopShape, summaries: Summaries | undefined): Set<number> => {
  const reader = new InstructionReader(module.bytes, shape.bodyStart, shape.end)
  const found = new Set<number>()
  while (reader.next()) {
    if (reader.opcode === 0x24 && isIntegerGlobal(module, reader.index)) found.add(reader.index)
    const callees = reader.opcode === 0x10 && summaries?.follows(reader.index, reader.position) === true
      ? [reader.index]
      : reader.opcode === 0x11
      ? summaries?.targets(reader.index, reader.index2, reader.position)?.map(({ functionIndex }) => functionIndex) ??
        []
      : []
    for (const callee of callees) for (const index of summaries!.of(callee).writes) found.add(index)
  }
  return found
}
