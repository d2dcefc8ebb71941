/**
 * Control flow of a whole function in one pass, without values: basic blocks with the locals that they read and write,
 * where its loops stand, and instructions that no iteration of a planned loop may execute.
 *
 * What it shows (`liveness.ts`, `screening.ts`) costs little beside a value graph, and rules most loops out.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import type { WasmModule } from "../binary/module.ts"
import { localTypes } from "../binary/module.ts"
import { opaqueStep } from "./effects.ts"
import type { Effect, EffectCode } from "./graph.ts"
import { isIntegerGlobal, type Summaries } from "./summary.ts"

/**
 * A loop as blocks. Its first predecessor is the way in, all others lead back from inside.
 *
 * @category models
 * @since 0.1.0
 */
export interface FlowLoop {
  readonly header: number
  /** Block of each label outside, the innermost first; -1 leaves the function. */
  readonly labels: ReadonlyArray<number>
  /** Block behind its `end`. */
  readonly after: number
}

/**
 * Blocks of a function; block 0 is its entry.
 *
 * @category models
 * @since 0.1.0
 */
export interface Flow {
  readonly succs: ReadonlyArray<ReadonlyArray<number>>
  readonly preds: ReadonlyArray<ReadonlyArray<number>>
  /** 1 for a block that ends in a branch on a condition. */
  readonly twoWay: Uint8Array
  /** Words of a set of locals; block b's are words b · `words` and on. */
  readonly words: number
  /** Locals that a block reads before it writes them. */
  readonly use: Uint32Array
  /** Locals that it writes. */
  readonly def: Uint32Array
  /** By the offset of the `loop` instruction. */
  readonly loops: ReadonlyMap<number, FlowLoop>
  /** In code order. */
  readonly effects: ReadonlyArray<Effect>
  /** Offsets of calls that are followed, in code order. */
  readonly calls: ReadonlyArray<number>
}

/** Above this many words of state the pass gives up (about 64 MiB). */
const MAXIMUM_WORDS = 1 << 24

/**
 * The flow of a function; `undefined` when it uses control that the pass does not model (exceptions, casts that branch)
 * or is too large. Calls that `summaries` follow are no effects.
 *
 * @category analysis
 * @since 0.1.0
 */
export const functionFlow = (
  module: WasmModule,
  functionIndex: number,
  summaries: Summaries | undefined
): Flow | undefined => {
  const { codeStart, types } = localTypes(module, functionIndex)
  const reader = new InstructionReader(module.bytes, codeStart, module.functions[functionIndex].body!.end)
  return new FlowBuilder(module, (types.length + 31) >>> 5, summaries).run(reader)
}

interface Frame {
  /** Block that a branch to this label reaches; -1 leaves the function. */
  readonly target: number
  readonly after: number
  elseFrom: number
}

class FlowBuilder {
  readonly module: WasmModule
  readonly words: number
  readonly summaries: Summaries | undefined
  readonly succs: Array<Array<number>> = []
  readonly preds: Array<Array<number>> = []
  readonly conditional: Array<number> = []
  readonly loops = new Map<number, FlowLoop>()
  readonly effects: Array<Effect> = []
  readonly calls: Array<number> = []
  use: Uint32Array
  def: Uint32Array

  constructor(module: WasmModule, words: number, summaries: Summaries | undefined) {
    this.module = module
    this.words = words
    this.summaries = summaries
    this.use = new Uint32Array(64 * words)
    this.def = new Uint32Array(64 * words)
  }

  run(reader: InstructionReader): Flow | undefined {
    const { words } = this
    let current = this.block()
    const frames: Array<Frame> = [{ target: -1, after: -1, elseFrom: -1 }]
    const branch = (depth: number): void => this.edge(current, frames[frames.length - 1 - depth].target)
    while (reader.next()) {
      const { index, opcode } = reader
      switch (opcode) {
        case 0x20: {
          const word = current * words + (index >>> 5)
          const bit = 1 << (index & 31)
          if ((this.def[word] & bit) === 0) this.use[word] |= bit
          break
        }
        case 0x21:
        case 0x22:
          this.def[current * words + (index >>> 5)] |= 1 << (index & 31)
          break
        case 0x02:
        case 0x03:
        case 0x04: {
          const after = this.block()
          const inside = this.block()
          this.edge(current, inside)
          if (opcode === 0x03) {
            this.loops.set(reader.start, { header: inside, labels: frames.map((f) => f.target).reverse(), after })
          } else if (opcode === 0x04) this.conditional.push(current)
          frames.push({ target: opcode === 0x03 ? inside : after, after, elseFrom: opcode === 0x04 ? current : -1 })
          current = inside
          break
        }
        case 0x05: {
          const frame = frames[frames.length - 1]
          this.edge(current, frame.after)
          current = this.block()
          this.edge(frame.elseFrom, current)
          frame.elseFrom = -1
          break
        }
        case 0x0b: {
          const frame = frames.pop()!
          if (frames.length === 0) break
          this.edge(current, frame.after)
          this.edge(frame.elseFrom, frame.after)
          current = frame.after
          break
        }
        case 0x0d:
        case 0xd5:
        case 0xd6: {
          branch(index)
          const next = this.block()
          this.edge(current, next)
          if (opcode === 0x0d) this.conditional.push(current)
          current = next
          break
        }
        case 0x0c:
          branch(index)
          current = this.block()
          break
        case 0x0e:
          for (const depth of reader.targets!) branch(depth)
          current = this.block()
          break
        case 0x00:
        case 0x0f:
        case 0x08:
        case 0x09:
        case 0x0a:
        case 0x12:
        case 0x13:
        case 0x15:
          current = this.block()
          break
        case 0x06:
        case 0x07:
        case 0x18:
        case 0x19:
        case 0x1f:
        case 0xfb018: // casts that branch
        case 0xfb019:
          return undefined
        default: {
          const code = this.effectOf(reader)
          if (code !== undefined) this.effects.push({ code, block: current, position: reader.start })
        }
      }
      if (this.succs.length * words * 3 > MAXIMUM_WORDS) return undefined
    }
    const twoWay = new Uint8Array(this.succs.length)
    for (const id of this.conditional) twoWay[id] = 1
    return {
      succs: this.succs,
      preds: this.preds,
      twoWay,
      words,
      use: this.use,
      def: this.def,
      loops: this.loops,
      effects: this.effects,
      calls: this.calls
    }
  }

  block(): number {
    const id = this.succs.length
    this.succs.push([])
    this.preds.push([])
    if (this.use.length < (id + 1) * this.words) {
      this.use = grown(this.use)
      this.def = grown(this.def)
    }
    return id
  }

  /** -1 on either side leaves the function, or is no edge. */
  edge(from: number, to: number): void {
    if (from < 0 || to < 0) return
    this.succs[from].push(to)
    this.preds[to].push(from)
  }

  effectOf({ index, index2, opcode, position, start }: InstructionReader): EffectCode | undefined {
    switch (opcode) {
      case 0x10:
        if (this.summaries?.follows(index, position) !== true) return "call"
        this.calls.push(start)
        return undefined
      case 0x11:
        if (this.summaries?.targets(index, index2, position) === undefined) return "call-indirect"
        this.calls.push(start)
        return undefined
      case 0x24:
        return isIntegerGlobal(this.module, index) ? undefined : "global-write"
      default:
        return opcode < 0x25 ? undefined : opaqueStep(opcode)?.code
    }
  }
}

const grown = (words: Uint32Array): Uint32Array => {
  const larger = new Uint32Array(2 * words.length)
  larger.set(words)
  return larger
}
