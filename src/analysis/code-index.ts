/**
 * Where the loops of a function end and what they write, found in one pass and kept.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import type { WasmModule } from "../binary/module.ts"
import { localTypes } from "../binary/module.ts"

/**
 * A loop's extent and writes.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoopCode {
  /** Locals written inside, ascending. */
  readonly assigned: ReadonlyArray<number>
  /** Locals with the `i32` constants that they hold when the loop is entered, as far as straight code shows. */
  readonly constants: ReadonlyMap<number, number>
}

/** An open loop. */
interface Label {
  readonly offset: number
  readonly written: Set<number>
  readonly constants: ReadonlyMap<number, number>
}

/**
 * Loops of the functions of one module, by the offset of the `loop` instruction.
 *
 * @category analysis
 * @since 0.1.0
 */
export class CodeIndex {
  readonly #module: WasmModule
  readonly #known = new Map<number, ReadonlyMap<number, LoopCode>>()

  constructor(module: WasmModule) {
    this.#module = module
  }

  /** The loops of a function. */
  of(functionIndex: number): ReadonlyMap<number, LoopCode> {
    let loops = this.#known.get(functionIndex)
    if (loops === undefined) this.#known.set(functionIndex, loops = this.#scan(functionIndex))
    return loops
  }

  #scan(functionIndex: number): ReadonlyMap<number, LoopCode> {
    const { bytes, functions } = this.#module
    const { codeStart } = localTypes(this.#module, functionIndex)
    const reader = new InstructionReader(bytes, codeStart, functions[functionIndex].body!.end)
    const loops = new Map<number, LoopCode>()
    /** Open labels; a set of written locals for a loop. */
    const labels: Array<Label | undefined> = []
    const open: Array<Set<number>> = []
    let constants = new Map<number, number>()
    /** The constant that the instruction before has pushed. */
    let pushed: number | undefined
    while (reader.next()) {
      const before = pushed
      pushed = undefined
      switch (reader.opcode) {
        case 0x03: {
          const written = new Set<number>()
          labels.push({ offset: reader.start, written, constants })
          open.push(written)
          constants = new Map()
          break
        }
        case 0x41:
          pushed = reader.i32
          break
        case 0x05:
        case 0x07:
        case 0x19:
          constants = new Map()
          break
        case 0x02:
        case 0x04:
        case 0x06:
        case 0x1f:
          labels.push(undefined)
          break
        case 0x21:
        case 0x22:
          open[open.length - 1]?.add(reader.index)
          if (before === undefined) constants.delete(reader.index)
          else constants.set(reader.index, before)
          if (reader.opcode === 0x22) pushed = before
          break
        case 0x0b:
        case 0x18: {
          const label = labels.pop()
          constants = new Map()
          if (label === undefined) break
          open.pop()
          loops.set(label.offset, {
            assigned: [...label.written].sort((x, y) => x - y),
            constants: label.constants
          })
          const outer = open[open.length - 1]
          if (outer !== undefined) { for (const local of label.written) outer.add(local) }
        }
      }
    }
    return loops
  }
}
