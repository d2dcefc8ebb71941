/**
 * The chunk module of a loop: its original body, told how many iterations to run.
 *
 * before
 *
 *     (loop $l  body…  (br_if $l (i32.lt_u (local.tee $i …) (local.get $n))))
 *
 * after
 *
 *     (func (export "run") (param $ticket i32) (param $piece i32) (param $out i32)
 *       (loop $claim
 *         (br_if $end (i32.ge_u (local.tee $k (i32.atomic.rmw.add $control (local.get $ticket) (i32.const 1))) limit))
 *         (call $iterations (local.get $ticket) …$k × $piece… …iterations of the piece… (local.get $out))
 *         …count the piece as finished…  (br $claim)))
 *     (func $iterations (param $ticket i32) (param $first i32) (param $rest i32) (param $out i32)
 *       …captured values into the original locals, induction variables for iteration $first, $end for $first + $rest…
 *       (block $abort (block $done
 *         (loop $l  body…  (drop (i32.lt_u …))  (br_if $l (i32.ne (local.get $i) (local.get $end)))  (br $done))
 *         (br $abort))
 *       (unreachable))                                      ;; left early: the dispatcher discards everything
 *
 * The loop stands in a function of its own, and an induction variable says when the piece is done: nested in the loop
 * that claims pieces, or with a count of its own, V8 14.6 makes code of it that is up to 1.15 times slower. Where no
 * variable has a constant step that reaches no value twice within a piece (`tellsApart`), `$rest` is counted down.
 *
 * Original local `i` is local `i + 4`. Globals and `memory.size` are read from captured values, so a lane needs only
 * the two memories.
 *
 * @since 0.1.0
 */
import type { AccessGroup } from "../analysis/footprint.ts"
import type { LoopShape } from "../analysis/scan.ts"
import type { IndirectTarget } from "../analysis/tables.ts"
import { testsOf } from "../analysis/trip.ts"
import { InstructionReader } from "../binary/instruction.ts"
import type { ValueType, WasmModule } from "../binary/module.ts"
import type { FrameLayout } from "../plan/frame.ts"
import type { LoopFacts } from "../plan/loop.ts"
import type { Obligation } from "../plan/types.ts"
import { assembleModule, Assembler, CONTROL, functionBody, TYPE_BYTE } from "./assembler.ts"
import type { ChunkSpace } from "./callee.ts"
import { calleeBody, inlineCallee, isInlined, isOutside, LOOP } from "./callee.ts"
import { Checks } from "./checks.ts"
import { polynomialNodes } from "./evaluate.ts"
import { claimPieces, PIECE_TYPES, savePiece, tellsApart } from "./pieces.ts"
import { Polling } from "./polling.ts"

/** Parameters of the function with the loop, before the original locals; the ticket is number 0. */
const FIRST = 1
const REST = 2
const OUT = 3
const SHIFT = 4

/**
 * Bytes of the chunk module. `omit` drops the effect of an obligation (mutation tests only).
 *
 * @category transforms
 * @since 0.1.0
 */
export const chunkModule = (
  module: WasmModule,
  types: ReadonlyArray<ValueType>,
  shape: LoopShape,
  facts: LoopFacts,
  layout: FrameLayout,
  saved: ReadonlyArray<AccessGroup>,
  sharedMaximum: number | undefined,
  omit: (obligation: Obligation) => boolean = () => false
): Uint8Array => {
  const emitter = new ChunkEmitter(module, types, shape, facts, layout, saved, omit)
  const iterations = emitter.emit()
  const callees = [...emitter.calleeIndex.keys()].map((index) => ({
    name: undefined,
    typeIndex: emitter.typeOf(module.functions[index].typeIndex),
    body: calleeBody(module, index, emitter)
  }))
  const finder = emitter.checks === undefined ? [] : [
    { name: undefined, typeIndex: 0, body: emitter.checks.finder(layout, saved.length, facts.privately.windows.length) }
  ]
  return assembleModule({
    types: [...PIECE_TYPES, ...emitter.blockTypes],
    imports: [],
    functions: [
      { name: "run", typeIndex: 0, body: claimPieces(facts.aborts.length > 0, facts.keeps) },
      { name: undefined, typeIndex: 1, body: iterations },
      ...callees,
      ...finder
    ],
    globals: emitter.globalTypes,
    sharedMaximum
  })
}

class ChunkEmitter implements ChunkSpace {
  readonly code = new Assembler()
  readonly extra: Array<ValueType> = []
  readonly blockTypes: Array<{ params: ReadonlyArray<ValueType>; results: ReadonlyArray<ValueType> }> = []
  readonly blockTypeIndex = new Map<number, number>()
  readonly globalLocal = new Map<number, number>()
  /** Globals of the chunk module, for callees: captured globals by index, the size of memory by -1. */
  readonly globalTypes: Array<ValueType> = []
  readonly chunkGlobal = new Map<number, number>()
  /** Function index in the chunk module by function index in the guest. */
  readonly calleeIndex: ReadonlyMap<number, number>
  memorySizeLocal = -1
  /** An induction variable and the value it has behind the piece. */
  last: { readonly local: number; readonly end: number; readonly wide: boolean } | undefined
  /** Whether the piece has the last iteration. */
  ends = 0
  checks: Checks | undefined
  /** Holds the address of the load that is compared. */
  address = 0
  polling: Polling | undefined

  readonly module: WasmModule
  readonly types: ReadonlyArray<ValueType>
  readonly shape: LoopShape
  readonly facts: LoopFacts
  readonly layout: FrameLayout
  readonly saved: ReadonlyArray<AccessGroup>
  readonly omit: (obligation: Obligation) => boolean

  constructor(
    module: WasmModule,
    types: ReadonlyArray<ValueType>,
    shape: LoopShape,
    facts: LoopFacts,
    layout: FrameLayout,
    saved: ReadonlyArray<AccessGroup>,
    omit: (obligation: Obligation) => boolean
  ) {
    this.module = module
    this.types = types
    this.shape = shape
    this.facts = facts
    this.layout = layout
    this.saved = saved
    this.omit = omit
    const functions = [...facts.graph.callees].filter((index) => !isInlined(module, index))
    this.calleeIndex = new Map(functions.map((index, k) => [index, PIECE_TYPES.length + k]))
  }

  local(type: ValueType): number {
    this.extra.push(type)
    return SHIFT + this.types.length + this.extra.length - 1
  }

  emit(): Uint8Array {
    const { code, facts, layout } = this
    facts.captures.forEach((capture, k) => {
      const target = capture.source === "local"
        ? SHIFT + capture.index
        : this.local(capture.source === "global" ? this.module.globals[capture.index].valueType : "i32")
      if (capture.source === "global") this.globalLocal.set(capture.index, target)
      if (capture.source === "memory-size") this.memorySizeLocal = target
      if (this.omit({ kind: "captured-input", source: capture.source, index: capture.index })) return
      code.loadControl(this.captureType(k), layout.capture(k)).set(target)
      const written = capture.source === "global" && facts.graph.writtenGlobals.has(capture.index)
      if (capture.source === "local" || (facts.graph.callees.size === 0 && !written)) return
      this.chunkGlobal.set(capture.source === "global" ? capture.index : -1, this.globalTypes.length)
      code.get(target).setGlobal(this.globalTypes.length)
      this.globalTypes.push(this.captureType(k))
    })
    if (facts.checked.size > 0) {
      this.address = this.local("i32")
      const global = (type: ValueType): number => this.globalTypes.push(type) - 1
      this.checks = new Checks(
        facts,
        this.calleeIndex.size === 0 ? undefined : this.shape,
        PIECE_TYPES.length + this.calleeIndex.size,
        (type) => this.local(type),
        global
      )
    }
    if (facts.polled.size > 0) {
      const inRun = this.calleeIndex.size === 0
      this.polling = new Polling(inRun, (type) => inRun ? this.local(type) : this.globalTypes.push(type) - 1)
      this.polling.enter(code)
    }
    facts.reductions.forEach((reduction, k) => {
      code.get(OUT).access(reduction.type === "i32" ? 0x28 : 0x29, CONTROL, 8 * k).set(SHIFT + reduction.local)
    })
    if (facts.handed.length > 0) {
      this.ends = this.local("i32")
      code.get(FIRST).get(REST).op(0x6a).loadControl("i32", layout.iterations).op(0x46).set(this.ends)
    }
    savePiece(code, layout, this.saved.length, [FIRST, REST], (type) => this.local(type))
    this.polling?.start(code)
    this.checks?.start(code, FIRST, REST)
    this.startVariables()
    code.block().block()
    this.copyLoop()
    code.br(1).end() // fell out of the loop
    this.handOver()
    // Results before the piece is counted: after the last one the owner may read them.
    facts.reductions.forEach((reduction, k) => {
      code.get(OUT).get(SHIFT + reduction.local).access(reduction.type === "i32" ? 0x36 : 0x37, CONTROL, 8 * k)
    })
    code.op(0x0f).end()
    code.op(0x00)
    return functionBody([...this.types, ...this.extra], code)
  }

  writes(index: number): boolean {
    return this.facts.graph.writtenGlobals.has(index)
  }

  /** The chunk module's own copy of a global that the loop writes. */
  ownGlobal(index: number): number {
    let own = this.chunkGlobal.get(index)
    if (own === undefined) {
      own = this.globalTypes.length
      this.globalTypes.push(this.module.globals[index].valueType)
      this.chunkGlobal.set(index, own)
    }
    return own
  }

  captureType(k: number): ValueType {
    const capture = this.facts.captures[k]
    return capture.source === "local"
      ? this.types[capture.index]
      : capture.source === "global"
      ? this.module.globals[capture.index].valueType
      : "i32"
  }

  call(code: Assembler, reader: InstructionReader, fresh: (type: ValueType) => number, address: () => number): void {
    const { graph } = this.facts
    const { index, opcode, position, start } = reader
    // A call that does not return is none of an iteration's, even of a function that iterations call elsewhere.
    if (this.module.bytes[position] === 0x00) code.op(0x00)
    else if (opcode === 0x10) this.callFunction(code, index, fresh, address)
    else if (graph.indirect.has(start)) this.callOneOf(code, index, graph.indirect.get(start)!, fresh, address)
    else code.op(0x00)
  }

  callFunction(code: Assembler, index: number, fresh: (type: ValueType) => number, address: () => number): void {
    const callee = this.calleeIndex.get(index)
    if (!this.facts.graph.callees.has(index)) code.op(0x00)
    else if (callee !== undefined) code.call(callee)
    else inlineCallee(this.module, index, this, code, fresh, address)
  }

  /** A chunk has no table: (if (i32.eq element constant) (then call) (else … (unreachable))). */
  callOneOf(
    code: Assembler,
    typeIndex: number,
    targets: ReadonlyArray<IndirectTarget>,
    fresh: (type: ValueType) => number,
    address: () => number
  ): void {
    const { params, results } = this.module.types[typeIndex]!
    const element = fresh("i32")
    const operands = params.map(fresh)
    code.set(element)
    for (const operand of [...operands].reverse()) code.set(operand)
    for (const { elements, functionIndex } of targets) {
      elements.forEach((one, k) => {
        code.get(element).i32(one).op(0x46)
        if (k > 0) code.op(0x72)
      })
      code.out.u8(0x04).u8(results.length === 0 ? 0x40 : TYPE_BYTE[results[0]])
      for (const operand of operands) code.get(operand)
      this.callFunction(code, functionIndex, fresh, address)
      code.op(0x05)
    }
    code.op(0x00)
    for (const _ of targets) code.end()
  }

  /** Leaves locals of the last iteration in the frame. */
  handOver(): void {
    const { code, facts, layout } = this
    if (facts.handed.length === 0) return
    code.get(this.ends).if()
    facts.handed.forEach(({ local }, k) => {
      if (this.omit({ kind: "last-value", local })) return
      code.i32(layout.handed(k)).get(SHIFT + local).storeControl(this.types[local])
    })
    code.end()
  }

  /** Sets each induction variable to `initial + step · first`. */
  startVariables(): void {
    const { code, facts, layout } = this
    facts.variables.forEach((variable, k) => {
      const slot = facts.captures.findIndex((c) => c.node === variable.initial)
      const target = SHIFT + variable.local
      if (variable.wideStep !== undefined) {
        code.loadControl("i64", layout.capture(slot)).get(FIRST).op(0xad).i64(variable.wideStep).op(0x7e).op(0x7c)
      } else {
        code.loadControl("i32", layout.capture(slot)).get(FIRST)
        if (polynomialNodes(variable.step).length === 0) code.i32(variable.step.constant)
        else code.loadControl("i32", layout.step(k))
        code.op(0x6c).op(0x6a)
      }
      code.set(target)
    })
    this.endVariable()
  }

  /** Chooses the variable that tells when the piece is done, and computes its value there. */
  endVariable(): void {
    const { code, facts } = this
    const variable = facts.variables.find(tellsApart)
    if (variable === undefined) return
    const wide = variable.wideStep !== undefined
    const local = SHIFT + variable.local
    const end = this.local(wide ? "i64" : "i32")
    if (variable.wideStep !== undefined) {
      code.get(local).get(REST).op(0xad).i64(variable.wideStep).op(0x7e).op(0x7c).set(end)
    } else code.get(local).get(REST).i32(variable.step.constant).op(0x6c).op(0x6a).set(end)
    this.last = { local, end, wide }
  }

  /** Copies the loop, label depth 0 inside it being its own; $done is one further out, $abort two. */
  copyLoop(): void {
    const { code, facts, module, shape } = this
    const tests = new Map(testsOf(facts.trip).map((test) => [test.branchOffset, test]))
    code.out.u8(0x03)
    this.blockType(shape.blockType)
    const reader = new InstructionReader(module.bytes, shape.bodyStart, shape.end)
    const copy = (): void => void code.out.bytes(module.bytes, reader.start, reader.position)
    /** Labels opened inside the loop. */
    let depth = 0
    const goOn = (level: number): void => {
      if (this.last === undefined) code.get(REST).i32(1).op(0x6b).tee(REST)
      else code.get(this.last.local).get(this.last.end).op(this.last.wide ? 0x52 : 0x47)
      code.brIf(level).br(level + 1)
    }
    const stays = this.staysAfterBranch()
    while (reader.next()) {
      const opcode = reader.opcode
      if (facts.cut.has(reader.start)) {
        code.op(0x00)
        if (opcode !== LOOP) continue
      }
      switch (opcode) {
        case 0x20:
          code.get(reader.index + SHIFT)
          break
        case 0x21:
          code.set(reader.index + SHIFT)
          break
        case 0x22:
          code.tee(reader.index + SHIFT)
          break
        case 0x23: {
          const written = facts.graph.writtenGlobals.has(reader.index)
          const local = written ? undefined : this.globalLocal.get(reader.index)
          const init = module.globals[reader.index].init
          if (written) code.getGlobal(this.ownGlobal(reader.index))
          else if (local !== undefined) code.get(local)
          else if (init?.opcode === 0x41 && init.i32 !== undefined && !module.globals[reader.index].mutable) {
            code.i32(init.i32)
          } else code.zero(module.globals[reader.index].valueType) // nothing depends on it
          break
        }
        case 0x24:
          if (facts.graph.writtenGlobals.has(reader.index)) code.setGlobal(this.ownGlobal(reader.index))
          else code.op(0x00)
          break
        case 0x3f:
          if (this.memorySizeLocal >= 0) code.get(this.memorySizeLocal)
          else code.i32(0)
          break
        case 0x02:
        case 0x03:
        case 0x04:
          depth++
          code.out.u8(opcode)
          this.blockType(reader.blockType)
          if (facts.polled.has(reader.start)) this.polling!.poll(code)
          break
        case 0x0b:
          depth--
          copy()
          break
        case 0x0c:
          if (reader.index < depth) copy()
          else if (reader.index === depth) goOn(depth)
          else code.br(depth + 2)
          break
        case 0x0d: {
          if (reader.index < depth) copy()
          else if (reader.index > depth) {
            if (tests.has(reader.start)) code.op(0x1a)
            else code.brIf(depth + 2)
          } else if (tests.get(reader.start)?.edge.kind === "false") {
            code.op(0x1a)
            goOn(depth)
          } else if (stays.has(reader.start)) {
            code.if()
            goOn(depth + 1)
            code.end()
          } else {
            code.op(0x45).brIf(depth + 2)
            goOn(depth)
          }
          break
        }
        case 0x0e: {
          // A way back to the header is counted in a block of its own.
          const targets = reader.targets!
          const returns = targets.includes(depth)
          const map = (target: number): number =>
            target < depth ? target + (returns ? 1 : 0) : target === depth ? 0 : depth + 2 + (returns ? 1 : 0)
          if (!returns) {
            code.out.u8(0x0e).u32(targets.length - 1)
            for (const target of targets) code.out.u32(map(target))
          } else this.countedTable(targets, map, goOn, depth)
          break
        }
        case 0x0f:
          code.br(depth + 2)
          break
        case 0x10:
        case 0x11:
          this.call(code, reader, (type) => this.local(type), () => this.address)
          break
        default:
          if (facts.checked.has(reader.start)) this.compare(code, reader, this.address)
          if (isOutside(opcode) && !facts.graph.bulk.has(reader.start)) code.op(0x00)
          else copy()
      }
    }
    code.end()
    const results = shape.blockType >= 0
      ? module.types[shape.blockType]?.results.length ?? 0
      : shape.blockType === -64
      ? 0
      : 1
    for (let k = 0; k < results; k++) code.op(0x1a)
  }

  /** br_table with a way back to the header: (block (block (br_table …)) count, branch). */
  countedTable(
    targets: ReadonlyArray<number>,
    map: (target: number) => number,
    goOn: (level: number) => void,
    depth: number
  ): void {
    const { code } = this
    const selector = this.local("i32")
    code.set(selector).block().get(selector)
    code.out.u8(0x0e).u32(targets.length - 1)
    for (const target of targets) code.out.u32(map(target))
    code.end()
    goOn(depth)
  }

  /** Offsets of conditional branches to the header behind which the iteration may go on. */
  staysAfterBranch(): Set<number> {
    const { graph } = this.facts
    const { body, header } = graph.loops[0]
    const result = new Set<number>()
    for (const id of body) {
      const block = graph.blocks[id]
      if (block.condition === 0 || !block.succs.some((s) => s.to === header && s.kind === "true")) continue
      if (block.succs.some((s) => s.kind === "false" && body.has(s.to))) result.add(block.branchOffset)
    }
    return result
  }

  /** Traps when the load that the reader stands on, its address on the stack, meets what other pieces store. */
  compare(code: Assembler, reader: InstructionReader, address: number): void {
    if (!this.omit({ kind: "checked-load", offset: reader.start })) this.checks!.compare(code, reader, address)
  }

  blockType(immediate: number): void {
    this.code.out.s33(immediate < 0 ? immediate : this.typeOf(immediate))
  }

  /** Index in the chunk module of a type of the guest. */
  typeOf(index: number): number {
    let own = this.blockTypeIndex.get(index)
    if (own === undefined) {
      const type = this.module.types[index]
      if (type === undefined) throw new Error("not a function type")
      own = PIECE_TYPES.length + this.blockTypes.length
      this.blockTypes.push(type)
      this.blockTypeIndex.set(index, own)
    }
    return own
  }
}
