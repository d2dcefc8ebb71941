/**
 * Which locals are still read after a loop, so that a value no one reads does not count as carried.
 *
 * A classic backward data-flow over basic blocks with one bit a local. Blocks follow the structured control of the
 * code; an instruction that the pass does not model makes it give up, and the caller takes every local as live.
 *
 * @since 0.1.0
 */
import { InstructionReader } from "../binary/instruction.ts"
import type { WasmModule } from "../binary/module.ts"
import { localTypes } from "../binary/module.ts"

/**
 * Locals live at the targets that a loop can leave to.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoopLiveness {
  /** Live locals at the label `depth` levels outside the loop (0 = the innermost label around it); `undefined`: none. */
  readonly atLabel: (depth: number) => Uint32Array | undefined
  /** Live locals behind the loop's `end`. */
  readonly after: Uint32Array | undefined
}

interface FlowBlock {
  readonly use: Uint32Array
  readonly def: Uint32Array
  readonly succs: Array<number>
}

interface Frame {
  readonly loop: boolean
  /** Block that a branch to this label reaches; -1 leaves the function. */
  readonly target: number
  readonly after: number
  elseFrom: number
}

/** Above this many words of state the pass gives up (about 64 MiB). */
const MAXIMUM_WORDS = 1 << 24

/**
 * Liveness at each loop of a function, by the offset of the `loop` instruction; `undefined` when the function uses
 * control that the pass does not model or is too large.
 *
 * @category analysis
 * @since 0.1.0
 */
export const loopLiveness = (
  module: WasmModule,
  functionIndex: number
): Map<number, LoopLiveness> | undefined => {
  const { codeStart, types } = localTypes(module, functionIndex)
  const words = (types.length + 31) >>> 5
  const reader = new InstructionReader(module.bytes, codeStart, module.functions[functionIndex].body!.end)
  const blocks: Array<FlowBlock> = []
  const newBlock = (): number => {
    if (blocks.length * words * 3 > MAXIMUM_WORDS) throw new TooLarge()
    blocks.push({ use: new Uint32Array(words), def: new Uint32Array(words), succs: [] })
    return blocks.length - 1
  }
  const places = new Map<number, { labels: Array<number>; after: number }>()
  try {
    let current = newBlock()
    const frames: Array<Frame> = [{ loop: false, target: -1, after: -1, elseFrom: -1 }]
    const branch = (depth: number): void => {
      const target = frames[frames.length - 1 - depth].target
      if (target >= 0) blocks[current].succs.push(target)
    }
    while (reader.next()) {
      const opcode = reader.opcode
      switch (opcode) {
        case 0x20: {
          const block = blocks[current]
          const word = reader.index >>> 5
          const bit = 1 << (reader.index & 31)
          if ((block.def[word] & bit) === 0) block.use[word] |= bit
          break
        }
        case 0x21:
        case 0x22:
          blocks[current].def[reader.index >>> 5] |= 1 << (reader.index & 31)
          break
        case 0x02:
        case 0x03:
        case 0x04: {
          const after = newBlock()
          const inside = newBlock()
          blocks[current].succs.push(inside)
          if (opcode === 0x03) {
            places.set(reader.start, { labels: frames.map((f) => f.target).reverse(), after })
          }
          frames.push({
            loop: opcode === 0x03,
            target: opcode === 0x03 ? inside : after,
            after,
            elseFrom: opcode === 0x04 ? current : -1
          })
          current = inside
          break
        }
        case 0x05: {
          const frame = frames[frames.length - 1]
          blocks[current].succs.push(frame.after)
          current = newBlock()
          blocks[frame.elseFrom].succs.push(current)
          frame.elseFrom = -1
          break
        }
        case 0x0b: {
          const frame = frames.pop()!
          if (frames.length === 0) break
          blocks[current].succs.push(frame.after)
          if (frame.elseFrom >= 0) blocks[frame.elseFrom].succs.push(frame.after)
          current = frame.after
          break
        }
        case 0x0c:
          branch(reader.index)
          current = newBlock()
          break
        case 0x0d:
        case 0xd5:
        case 0xd6: {
          branch(reader.index)
          const next = newBlock()
          blocks[current].succs.push(next)
          current = next
          break
        }
        case 0x0e:
          for (const depth of reader.targets!) branch(depth)
          current = newBlock()
          break
        case 0x00:
        case 0x0f:
        case 0x08:
        case 0x09:
        case 0x0a:
        case 0x12:
        case 0x13:
        case 0x15:
          current = newBlock()
          break
        case 0x06:
        case 0x07:
        case 0x18:
        case 0x19:
        case 0x1f:
          return undefined
        default:
          // br_on_cast and its kin branch too
          if (opcode === 0xfb018 || opcode === 0xfb019) return undefined
      }
    }
  } catch (error) {
    if (error instanceof TooLarge) return undefined
    throw error
  }
  const liveIn = solve(blocks, words)
  const result = new Map<number, LoopLiveness>()
  for (const [offset, place] of places) {
    result.set(offset, {
      atLabel: (depth) => {
        const target = place.labels[depth]
        return target === undefined || target < 0 ? undefined : liveIn[target]
      },
      after: liveIn[place.after]
    })
  }
  return result
}

class TooLarge extends Error {}

/** live-in(b) = use(b) ∪ (live-out(b) − def(b)), to the fixed point. */
const solve = (blocks: ReadonlyArray<FlowBlock>, words: number): Array<Uint32Array> => {
  const liveIn = blocks.map((block) => block.use.slice())
  const preds: Array<Array<number>> = blocks.map(() => [])
  blocks.forEach((block, index) => {
    for (const succ of block.succs) preds[succ].push(index)
  })
  const work = blocks.map((_, index) => index)
  const queued = new Uint8Array(blocks.length).fill(1)
  while (work.length > 0) {
    const index = work.pop()!
    queued[index] = 0
    const own = liveIn[index]
    for (const pred of preds[index]) {
      const into = liveIn[pred]
      const def = blocks[pred].def
      let changed = false
      for (let w = 0; w < words; w++) {
        const next = (into[w] | (own[w] & ~def[w])) >>> 0
        if (next !== into[w]) {
          into[w] = next
          changed = true
        }
      }
      if (changed && queued[pred] === 0) {
        queued[pred] = 1
        work.push(pred)
      }
    }
  }
  return liveIn
}
