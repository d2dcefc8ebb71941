/**
 * The patched guest: in front of each planned loop, a test of its length and a call of its guard.
 *
 * before
 *
 *     (loop $l …)
 *
 * after
 *
 *     (if (i32.gt_s (i32.sub (local.get $n) (local.get $i)) (global.get $threshold0))
 *       (then
 *         …captured values… (call_indirect $dispatch (type $enter0) (i32.const 0))
 *         …(local.set induction variables and reductions)…))
 *     (loop $l …)
 *
 * Where all iterations run apart, the `call_indirect` also answers whether they did, and a branch passes over the loop.
 *
 * Engines are told that the test hardly ever holds, so that what is live across the call costs the loop no register.
 * The threshold starts at the largest i32, so that the test fails until a runtime lowers it. The tested distance counts
 * iterations times the step.
 *
 * @since 0.1.0
 */
import { Kind } from "../analysis/graph.ts"
import type { Polynomial } from "../analysis/polynomial.ts"
import type { Trip } from "../analysis/trip.ts"
import type { ModuleEdits } from "../binary/emit.ts"
import { emitModule } from "../binary/emit.ts"
import { InstructionReader } from "../binary/instruction.ts"
import type { Limits, ValueType, WasmModule } from "../binary/module.ts"
import { ByteWriter } from "../binary/writer.ts"
import { hiddenPrefix, memoryName, NEVER, sectionName, tableName, thresholdName } from "../plan/hidden.ts"
import type { LoopFacts } from "../plan/loop.ts"
import { Assembler } from "./assembler.ts"
import { guardType } from "./guard.ts"

/**
 * A planned loop as the guest needs it.
 *
 * @category models
 * @since 0.1.0
 */
export interface GuestPlan {
  readonly functionIndex: number
  /** Offset of the `loop` instruction. */
  readonly offset: number
  readonly facts: LoopFacts
  readonly types: ReadonlyArray<ValueType>
}

/** True when an export of the module already has a hidden name. @category queries @since 0.1.0 */
export const usesHiddenNames = (module: WasmModule): boolean =>
  module.exports.some((e) => e.name.startsWith(hiddenPrefix))

/** Bytes of the patched guest. @category transforms @since 0.1.0 */
export const guestModule = (
  module: WasmModule,
  plans: ReadonlyArray<GuestPlan>,
  mark: Uint8Array,
  memoryLimits: ReadonlyMap<number, Limits> = new Map()
): Uint8Array => {
  const table = module.tables.length
  const firstType = module.types.length
  const firstGlobal = module.globals.length
  const bodies = new Map<number, Uint8Array>()
  const byFunction = new Map<number, Array<{ plan: GuestPlan; index: number }>>()
  plans.forEach((plan, index) => {
    const list = byFunction.get(plan.functionIndex)
    if (list === undefined) byFunction.set(plan.functionIndex, [{ plan, index }])
    else list.push({ plan, index })
  })
  const unlikely = new Map<number, ReadonlyArray<number>>()
  for (const [functionIndex, list] of byFunction) {
    const tests: Array<number> = []
    const body = module.functions[functionIndex].body!
    const out = new ByteWriter(body.end - body.start + 128 * list.length)
    let copied = body.start
    for (const { index, plan } of list.sort((x, y) => x.plan.offset - y.plan.offset)) {
      out.bytes(module.bytes, copied, plan.offset)
      const { code, test } = prologue(plan, index, firstType, firstGlobal, table)
      // Behind the end there is no label to branch to: the loop gets one around it.
      const wrapped = plan.facts.extent === "complete" && plan.facts.skip < 0
      if (wrapped) out.u8(0x02).u8(0x40)
      tests.push(out.length + test)
      out.append(code.out)
      copied = plan.offset
      if (wrapped) {
        copied = oneLabelMore(module, plan.offset, body.end, out)
        out.u8(0x0b)
      }
    }
    out.bytes(module.bytes, copied, body.end)
    bodies.set(functionIndex, out.finish())
    unlikely.set(functionIndex, tests)
  }
  const edits: ModuleEdits = {
    types: plans.map((plan) => guardType(module, plan)),
    tables: [{ min: plans.length, max: plans.length, type: "funcref" }],
    globals: plans.map(() => ({ valueType: "i32", mutable: true, init: NEVER }) as const),
    exports: [
      { name: tableName, kind: "table", index: table },
      { name: memoryName, kind: "memory", index: 0 },
      ...plans.map((_, k) => ({ name: thresholdName(k), kind: "global", index: firstGlobal + k }) as const)
    ],
    bodies,
    memoryLimits,
    unlikely,
    customs: [{ name: sectionName, data: mark }]
  }
  return emitModule(module, edits)
}

/** Test and call, and where the test's `if` stands in it. */
const prologue = (
  plan: GuestPlan,
  index: number,
  firstType: number,
  firstGlobal: number,
  table: number
): { readonly code: Assembler; readonly test: number } => {
  const code = new Assembler()
  const { facts } = plan
  distance(code, plan)
  code.op(0x23).out.u32(firstGlobal + index)
  code.op(0x4a)
  const test = code.out.length
  code.if()
  for (const capture of facts.captures) {
    if (capture.source === "local") code.get(capture.index)
    else if (capture.source === "global") code.op(0x23).out.u32(capture.index)
    else code.op(0x3f).out.u8(0)
  }
  code.i32(index)
  code.op(0x11).out.u32(firstType + index).u32(table)
  for (const { local } of [...facts.handed].reverse()) code.set(local)
  for (const reduction of [...facts.reductions].reverse()) code.set(reduction.local)
  for (const variable of [...facts.variables].reverse()) code.set(variable.local)
  if (facts.extent === "complete") code.brIf(facts.skip < 0 ? 1 : facts.skip + 1)
  return { code: code.end(), test }
}

/** Copies the loop at an offset, with a block more around it; returns where the code behind the loop starts. */
const oneLabelMore = (module: WasmModule, offset: number, end: number, out: ByteWriter): number => {
  const reader = new InstructionReader(module.bytes, offset, end)
  /** Labels inside, the loop's own among them. */
  let depth = 0
  const map = (label: number): number => label < depth ? label : label + 1
  while (reader.next()) {
    const { opcode } = reader
    if (opcode >= 0x02 && opcode <= 0x04) depth++
    if (opcode === 0x0b) depth--
    if (opcode === 0x0c || opcode === 0x0d) out.u8(opcode).u32(map(reader.index))
    else if (opcode === 0x0e) {
      const targets = reader.targets!
      out.u8(opcode).u32(targets.length - 1)
      for (const target of targets) out.u32(map(target))
    } else out.bytes(module.bytes, reader.start, reader.position)
    if (depth === 0) break
  }
  return reader.position
}

/** Pushes how far the tested value is from its limit, or a value above every useful threshold. */
const distance = (code: Assembler, plan: GuestPlan): void => {
  const { facts } = plan
  const { graph, trip } = facts
  const descending = stepSign(trip) < 0
  if (trip.wide) {
    const initial = trip.wideStart!.node
    const limit = trip.wideLimit
    const simple = (node: number): boolean =>
      node === 0 || graph.kind[node] === Kind.Entry || graph.kind[node] === Kind.Const64
    if (!simple(initial) || !simple(limit)) {
      code.i32(NEVER - 1)
      return
    }
    const push = (node: number): void => {
      if (node === 0) code.i64(0)
      else if (graph.kind[node] === Kind.Const64) code.i64(graph.aux[node] as bigint)
      else code.get(graph.a[node])
    }
    push(descending ? initial : limit)
    push(descending ? limit : initial)
    code.op(0x7d).op(0xa7)
    return
  }
  if (stepSign(trip) === 0 || !isSimple(plan, trip.start) || !isSimple(plan, trip.limit)) {
    code.i32(NEVER - 1)
    return
  }
  pushSimple(code, plan, descending ? trip.start : trip.limit)
  pushSimple(code, plan, descending ? trip.limit : trip.start)
  code.op(0x6b)
}

const stepSign = (trip: Trip): number =>
  trip.wide ? (trip.wideStep < 0n ? -1 : 1) : trip.step.terms.length === 0 ? Math.sign(trip.step.constant) : 0

/** A sum of few entries and a constant, which costs an instruction or two. */
const isSimple = (plan: GuestPlan, p: Polynomial): boolean => {
  const { graph } = plan.facts
  if (p.terms.length > 2) return false
  return p.terms.every((term) => {
    if (term.symbols.length !== 1 || !term.symbols[0].startsWith("n")) return false
    const node = Number(term.symbols[0].slice(1))
    return (graph.kind[node] === Kind.Entry || graph.kind[node] === Kind.Global) && graph.type[node] === "i32"
  })
}

const pushSimple = (code: Assembler, plan: GuestPlan, p: Polynomial): void => {
  const { graph } = plan.facts
  let first = true
  for (const term of p.terms) {
    const node = Number(term.symbols[0].slice(1))
    if (graph.kind[node] === Kind.Entry) code.get(graph.a[node])
    else code.op(0x23).out.u32(graph.a[node])
    if (term.coefficient !== 1) code.i32(term.coefficient).op(0x6c)
    if (!first) code.op(0x6a)
    first = false
  }
  if (first) code.i32(p.constant)
  else if (p.constant !== 0) code.i32(p.constant).op(0x6a)
}
