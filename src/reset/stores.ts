/**
 * Which stores of a function need a mark in the store map, and of which kind.
 *
 * ```wat
 * (i32.store offset=8 (local.get $p) …)     ;; page: marks it with a store of one byte
 * (i32.store offset=12 (local.get $p) …)    ;; covered: an earlier store on every way here has marked a page near it
 *
 * (loop … (f32.store (local.tee $q (i32.add (local.get $q) (i32.const 4))) …))
 *                                           ;; window: compares with the bytes that the loop has marked already
 * ```
 *
 * One walk over the code with values known as `root + constant`. A root is one value of one moment: locals that a
 * construct assigns have a new one behind it, and those that a loop assigns have a new one at its beginning. What a
 * block, an arm or a handler has marked counts to its end and no further, so whatever counts was executed before.
 *
 * Which stores are covered is a matter of soundness and follows from roots alone. Whether a window pays, because
 * addresses advance evenly or stay within a small table, is a guess about the loop and only a matter of speed.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import { localTypes, type WasmModule } from "../binary/module.ts"
import { loadShape, numericShape } from "../binary/opcodes.ts"
import { MARK_REACH } from "./layout.ts"
import { type Candidate, chooseWindows, type Loop, type Value, type Window } from "./windows.ts"
import { leavesValue, WRITE_BYTES, writeOperands, writesRange } from "./writes.ts"

/**
 * How a store is marked. `base` plus `offset`, modulo 2³², is the address of its first byte, where that is known
 * without asking the store: a local, or 0 for `"zero"`.
 *
 * @category models
 * @since 0.1.0
 */
export type StoreMark =
  | { readonly kind: "covered" }
  | { readonly kind: "page"; readonly base: number | "zero" | undefined; readonly offset: number }
  | { readonly kind: "window"; readonly base: number | undefined; readonly offset: number } & Window

/**
 * The marks of a function.
 *
 * @category models
 * @since 0.1.0
 */
export interface FunctionMarks {
  /** By the offset of the instruction: every store of at most 16 bytes. */
  readonly stores: ReadonlyMap<number, StoreMark>
  /** How many windows there are. */
  readonly windows: number
}

/** Locals that a value may depend on before it counts as wild. */
const MAXIMUM_DEPENDENCIES = 6

/** The root of constants. */
const ZERO = 0

/** Marked pages: those of `root + offset` in a memory. */
class MarkedPages {
  readonly #all: Array<readonly [root: number, memory: number, offset: number]> = []
  readonly #byRoot = new Map<number, Array<readonly [root: number, memory: number, offset: number]>>()

  get count(): number {
    return this.#all.length
  }

  add(root: number, memory: number, offset: number): void {
    const mark = [root, memory, offset] as const
    this.#all.push(mark)
    const same = this.#byRoot.get(root)
    if (same === undefined) this.#byRoot.set(root, [mark])
    else same.push(mark)
  }

  keep(count: number): void {
    while (this.#all.length > count) this.#byRoot.get(this.#all.pop()![0])!.pop()
  }

  /** Whether a reset that puts one of the pages back reaches what is stored at `root + offset`. */
  covers(root: number, memory: number, offset: number): boolean {
    return this.#byRoot.get(root)?.some((mark) =>
      mark[1] === memory && offset >= mark[2] - MARK_REACH && offset + WRITE_BYTES <= mark[2] + 1 + MARK_REACH
    ) ?? false
  }
}

interface Frame {
  readonly marked: number
  readonly journal: number
  readonly loop: Loop | undefined
}

const opensBlock = (opcode: number): boolean =>
  opcode === 0x02 || opcode === 0x03 || opcode === 0x04 || opcode === 0x06 || opcode === 0x1f

const unique = (journal: Array<number>, from: number): ReadonlyArray<number> => {
  const kept = [...new Set(journal.slice(from))]
  journal.length = from
  journal.push(...kept)
  return kept
}

/** The locals that each loop assigns, by the offset of the `loop`; `undefined` for a function without stores. */
const loopAssignments = (reader: InstructionReader): Map<number, ReadonlySet<number>> | undefined => {
  const assigned = new Map<number, ReadonlySet<number>>()
  const journal: Array<number> = []
  const open: Array<readonly [at: number, journal: number, loop: boolean]> = []
  let stores = false
  while (reader.next()) {
    const { opcode } = reader
    if (opcode === 0x21 || opcode === 0x22) journal.push(reader.index)
    else if (opensBlock(opcode)) open.push([reader.start, journal.length, opcode === 0x03])
    else if (opcode === 0x0b || opcode === 0x18) {
      const [at, from, loop] = open.pop() ?? [0, 0, false]
      const kept = unique(journal, from)
      if (loop) assigned.set(at, new Set(kept))
    } else stores ||= writeOperands(opcode) !== undefined
  }
  return stores ? assigned : undefined
}

class Walk {
  readonly #m: WasmModule
  readonly #reader: InstructionReader
  readonly #loops: ReadonlyMap<number, ReadonlySet<number>>
  readonly #locals: Array<Value | undefined> = []
  readonly #frames: Array<Frame> = [{ marked: 0, journal: 0, loop: undefined }]
  readonly #journal: Array<number> = []
  /** Values on the stack as far down as they are known. */
  #stack: Array<Value> = []
  readonly #marked = new MarkedPages()
  #roots = ZERO
  #piece = 0
  readonly stores = new Map<number, StoreMark>()
  readonly candidates: Array<Candidate> = []

  constructor(m: WasmModule, reader: InstructionReader, loops: ReadonlyMap<number, ReadonlySet<number>>) {
    this.#m = m
    this.#reader = reader
    this.#loops = loops
  }

  run(): void {
    while (this.#reader.next()) this.#step(this.#reader.opcode)
  }

  #value(dependencies: ReadonlyArray<number>, spread: number): Value {
    const wild = dependencies.length > MAXIMUM_DEPENDENCIES
    return {
      root: ++this.#roots,
      constant: 0,
      local: undefined,
      dependencies: wild ? [] : dependencies,
      spread: wild ? Infinity : spread,
      piece: this.#piece
    }
  }

  #wild(): Value {
    return this.#value([], Infinity)
  }

  #pop(): Value {
    return this.#stack.pop() ?? this.#wild()
  }

  #get(local: number): Value {
    const known = this.#locals[local] ??= this.#value([local], 0)
    const value = { ...known, local, ...(known.piece === this.#piece ? {} : { dependencies: [local], spread: 0 }) }
    return { ...value, piece: this.#piece }
  }

  #set(local: number, value: Value): void {
    this.#locals[local] = value
    this.#journal.push(local)
    for (const { loop } of this.#frames) loop?.assignments.push({ local, value })
  }

  #forget(locals: Iterable<number>): void {
    for (const local of locals) this.#locals[local] = undefined
  }

  /** A border of straight code: what is on the stack is not followed across it. */
  #border(): void {
    this.#stack = []
    this.#piece++
  }

  #open(opcode: number): void {
    this.#border()
    const assigned = opcode === 0x03 ? this.#loops.get(this.#reader.start) ?? new Set<number>() : undefined
    this.#frames.push({
      marked: this.#marked.count,
      journal: this.#journal.length,
      loop: assigned === undefined ? undefined : { assigned, assignments: [] }
    })
    if (assigned !== undefined) this.#forget(assigned)
  }

  /** The end of a construct, or of one of its arms: only what was marked before it counts from here on. */
  #close(pop: boolean): void {
    this.#border()
    const { journal, marked } = this.#frames.at(-1) ?? { journal: 0, marked: 0 }
    this.#marked.keep(marked)
    this.#forget(unique(this.#journal, journal))
    if (pop) this.#frames.pop()
  }

  #store(operands: number): void {
    const { memory, offset, opcode, start } = this.#reader
    for (let operand = 0; operand < operands; operand++) this.#pop()
    const address = this.#pop()
    const at = address.constant + offset
    if (leavesValue(opcode)) this.#stack.push(this.#wild())
    if (this.#marked.covers(address.root, memory, at)) {
      this.stores.set(start, { kind: "covered" })
      return
    }
    this.#marked.add(address.root, memory, at)
    const held = address.local === undefined ? undefined : this.#locals[address.local]
    const base = address.root === ZERO ? "zero" : held?.root === address.root ? address.local : undefined
    const from = base === "zero" ? at : base === undefined ? offset : at - held!.constant
    this.stores.set(start, { kind: "page", base, offset: from | 0 })
    const loop = this.#frames.findLast((frame) => frame.loop !== undefined)?.loop
    if (loop !== undefined && base !== "zero") this.candidates.push({ at: start, loop, value: address })
  }

  #binary(opcode: number): void {
    const second = this.#pop()
    const first = this.#pop()
    this.#stack.push(this.#combine(opcode, first, second))
  }

  #combine(opcode: number, first: Value, second: Value): Value {
    const all = [...new Set([...first.dependencies, ...second.dependencies])]
    if (opcode === 0x6a) {
      if (second.root === ZERO) return { ...first, constant: (first.constant + second.constant) | 0 }
      if (first.root === ZERO) return { ...second, constant: (first.constant + second.constant) | 0 }
      return this.#value(all, first.spread + second.spread)
    }
    if (opcode === 0x6b) {
      if (second.root === ZERO) return { ...first, constant: (first.constant - second.constant) | 0 }
      return this.#value(all, first.spread + second.spread)
    }
    if (second.root !== ZERO) return this.#wild()
    const { constant } = second
    switch (opcode) {
      case 0x6c:
        return this.#value(all, first.spread * Math.abs(constant))
      case 0x71:
        return constant < 0 ? this.#value(all, first.spread) : this.#value([], constant)
      case 0x74:
        return this.#value(all, first.spread * 2 ** (constant & 31))
      default: {
        const wide = 2 ** (32 - (constant & 31))
        return first.spread < wide ? this.#value(all, first.spread) : this.#value([], wide - 1)
      }
    }
  }

  #step(opcode: number): void {
    const reader = this.#reader
    switch (opcode) {
      case 0x20:
        this.#stack.push(this.#get(reader.index))
        return
      case 0x21:
        this.#set(reader.index, this.#pop())
        return
      case 0x22:
        this.#set(reader.index, this.#pop())
        this.#stack.push(this.#get(reader.index))
        return
      case 0x41:
        this.#stack.push({ ...this.#value([], 0), root: ZERO, constant: reader.i32 })
        return
      case 0x6a: // i32.add, sub, mul, and, shl, shr_u
      case 0x6b:
      case 0x6c:
      case 0x71:
      case 0x74:
      case 0x76:
        this.#binary(opcode)
        return
      case 0x2d: // i32.load8_u
        this.#pop()
        this.#stack.push(this.#value([], 255))
        return
      case 0x0d: // br_if, drop, global.set
      case 0x1a:
      case 0x24:
        this.#pop()
        return
      case 0x23: // global.get, memory.size
      case 0x3f:
        this.#stack.push(this.#wild())
        return
      case 0x1b: // select
        for (let operand = 0; operand < 3; operand++) this.#pop()
        this.#stack.push(this.#wild())
        return
      case 0x10:
        this.#call(this.#m.functions[reader.index].typeIndex, 0)
        return
      case 0x11:
        this.#call(reader.index, 1)
        return
      case 0x05: // else, catch, catch_all
      case 0x07:
      case 0x19:
        this.#close(false)
        return
      case 0x0b: // end, delegate
      case 0x18:
        this.#close(true)
        return
      default:
        if (opensBlock(opcode)) this.#open(opcode)
        else this.#other(opcode)
    }
  }

  #call(typeIndex: number, above: number): void {
    const type = this.#m.types[typeIndex]
    if (type === undefined) {
      this.#border()
      return
    }
    for (let operand = 0; operand < type.params.length + above; operand++) this.#pop()
    for (let result = 0; result < type.results.length; result++) this.#stack.push(this.#wild())
  }

  #other(opcode: number): void {
    const operands = writeOperands(opcode)
    if (operands !== undefined) {
      this.#store(operands.length)
      return
    }
    const pops = writesRange(opcode) ? 3 : loadShape(opcode) !== undefined ? 1 : numericShape(opcode)?.pops
    if (pops === undefined) {
      // Not followed: the values below are found again by whoever takes them as wild ones.
      this.#border()
      return
    }
    for (let operand = 0; operand < pops; operand++) this.#pop()
    if (!writesRange(opcode)) this.#stack.push(this.#wild())
  }
}

/**
 * The marks of a defined function, or `undefined` where it stores nothing.
 *
 * @category analysis
 * @since 0.1.0
 */
export const functionMarks = (m: WasmModule, functionIndex: number): FunctionMarks | undefined => {
  const { codeStart } = localTypes(m, functionIndex)
  const reader = new InstructionReader(m.bytes, codeStart, m.functions[functionIndex].body!.end)
  const loops = loopAssignments(reader)
  if (loops === undefined) return undefined
  reader.reset(codeStart, m.functions[functionIndex].body!.end)
  const walk = new Walk(m, reader, loops)
  walk.run()
  const windows = chooseWindows(walk.candidates)
  for (const [at, window] of windows) {
    const mark = walk.stores.get(at)
    if (mark?.kind === "page" && mark.base !== "zero") {
      walk.stores.set(at, { ...mark, base: mark.base, kind: "window", ...window })
    }
  }
  return { stores: walk.stores, windows: new Set([...windows.values()].map(({ window }) => window)).size }
}
