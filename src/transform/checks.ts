/**
 * Checked loads: loads of unknown address, compared when they are executed with what other pieces store.
 *
 * A load may read what no iteration stores, and what iterations of its own piece store: those run one after the other in
 * the participant that runs the load. Around the bytes of a load that is allowed lies an interval that is safe as a whole,
 * between two places where other pieces store; as long as the next loads of the same instruction stay inside it, one
 * comparison is enough.
 *
 * before
 *
 *     (i32.load offset=8 (…address…))
 *
 * after
 *
 *     (local.tee $address (…address…))
 *     (if (i32.ge_u (i32.sub (local.get $address) (local.get $low)) (local.get $length))
 *       (then (call $find (local.get $address) (i32.const 8) (i32.const 4))      ;; or a trap
 *         (local.set $low (global.get $foundLow)) (local.set $length (global.get $foundLength))))
 *     (i32.load offset=8)
 *
 * `find` looks at one group of stores after the other. Those that move stand `stride` apart, `width` bytes each; where
 * `width` is larger than `stride`, and for private windows, everything from their first byte to their last is forbidden.
 *
 *     own piece      [ own − (stride − width), own end + (stride − width) )
 *     between two    [ low + q·stride + width, low + (q + 1)·stride ),  q = (address − low) / stride
 *
 * @since 0.1.0
 */
import type { LoopShape } from "../analysis/scan.ts"
import type { InstructionReader } from "../binary/instruction.ts"
import type { ValueType } from "../binary/module.ts"
import type { FrameLayout } from "../plan/frame.ts"
import { Saved } from "../plan/frame.ts"
import type { LoopFacts } from "../plan/loop.ts"
import { Assembler, functionBody } from "./assembler.ts"

/** End of the addresses that a load can have: above it every memory ends. */
const TOP = 2 ** 32 - 65536

/** Where an instruction keeps the low end and the length of what is safe: locals of the loop, globals for callees. */
interface Memory {
  readonly low: number
  readonly length: number
  readonly inLoop: boolean
}

/**
 * The checks of one chunk module.
 *
 * @category transforms
 * @since 0.1.0
 */
export class Checks {
  readonly #memories = new Map<number, Memory>()
  readonly #facts: LoopFacts
  readonly #find: number
  readonly #foundLow: number
  readonly #foundLength: number
  readonly #first: number
  readonly #count: number

  /** `shape`: the loop, where there are callees as functions; `find`: index of what {@link Checks.finder} makes. */
  constructor(
    facts: LoopFacts,
    shape: LoopShape | undefined,
    find: number,
    local: (type: ValueType) => number,
    global: (type: ValueType) => number
  ) {
    this.#facts = facts
    this.#find = find
    this.#foundLow = global("i32")
    this.#foundLength = global("i32")
    this.#first = global("i32")
    this.#count = global("i32")
    for (const position of facts.checked.keys()) {
      const inLoop = shape === undefined || (position >= shape.bodyStart && position < shape.end)
      const own = inLoop ? local : global
      this.#memories.set(position, { low: own("i32"), length: own("i32"), inLoop })
    }
  }

  /** At the start of a piece of `count` iterations from `first` on: what others store is not what it was. */
  start(code: Assembler, first: number, count: number): void {
    code.get(first).setGlobal(this.#first).get(count).setGlobal(this.#count)
    for (const { inLoop, length } of this.#memories.values()) {
      code.i32(0)
      if (inLoop) code.set(length)
      else code.setGlobal(length)
    }
  }

  /** In front of the load that the reader stands on, its address on the stack; `address` is a free local. */
  compare(code: Assembler, reader: InstructionReader, address: number): void {
    const { inLoop, low, length } = this.#memories.get(reader.start)!
    const get = (from: number): Assembler => inLoop ? code.get(from) : code.getGlobal(from)
    const set = (to: number): Assembler => inLoop ? code.set(to) : code.setGlobal(to)
    code.tee(address).get(address)
    get(low).op(0x6b)
    get(length).op(0x4f).if()
    const span = this.#facts.checked.get(reader.start)!
    code.get(address).i32(reader.offset + span.low).i32(span.high - span.low).call(this.#find)
    code.getGlobal(this.#foundLow)
    set(low).getGlobal(this.#foundLength)
    set(length).end()
  }

  /** The function (address, signed distance from it, bytes) that finds what is safe around a load, or traps. */
  finder(layout: FrameLayout, saved: number, windows: number): Uint8Array {
    const code = new Assembler()
    const [at, low, high, start, end, stride, width, other] = [3, 4, 5, 6, 7, 8, 9, 10]
    const atLeast = (to: number, value: () => void): void => {
      value()
      code.tee(other).get(to).get(other).get(to).op(0x55).op(0x1b).set(to)
    }
    const atMost = (to: number, value: () => void): void => {
      value()
      code.tee(other).get(to).get(other).get(to).op(0x53).op(0x1b).set(to)
    }
    /** Forbids [start, end). */
    const forbid = (): void => {
      code.get(at).get(end).op(0x59).if()
      atLeast(low, () => code.get(end))
      code.op(0x05)
      code.get(at).get(start).op(0x59).if().op(0x00).end()
      atMost(high, () => code.get(start))
      code.end()
    }
    code.get(0).op(0xad).get(1).op(0xac).op(0x7c).tee(at).i64(0).op(0x53).if().op(0x00).end()
    code.i64(0).set(low).i64(TOP).set(high)
    for (let k = 0; k < saved; k++) {
      const facts = layout.saved(k)
      const load = (field: number): Assembler => code.loadControl("i64", facts + field)
      code.block()
      load(Saved.LOW).tee(start)
      load(Saved.HIGH).tee(end).op(0x51).brIf(0)
      load(Saved.STRIDE).set(stride)
      code.i64(0).get(stride).op(0x7d).get(stride).get(stride).i64(0).op(0x53).op(0x1b).set(stride)
      load(Saved.FIRST_HIGH)
      load(Saved.FIRST_LOW).op(0x7d).set(width)
      // Outside of all, or not told apart.
      code.get(at).get(start).op(0x53).get(at).get(end).op(0x59).op(0x72)
      code.get(width).get(stride).op(0x55).op(0x72).get(stride).op(0x50).op(0x72).if()
      forbid()
      code.br(1).end()
      // The own piece, with what lies free around it.
      this.#ownPiece(code, facts, start, end)
      code.get(stride).get(width).op(0x7d).set(width)
      code.get(start).get(width).op(0x7d).set(start).get(end).get(width).op(0x7c).set(end)
      code.get(at).get(start).op(0x59).get(at).get(end).op(0x53).op(0x71).if()
      atLeast(low, () => code.get(start))
      atMost(high, () => code.get(end))
      code.br(1).end()
      // Between two others; width is now what lies free between them.
      load(Saved.LOW)
      code.get(at)
      load(Saved.LOW).op(0x7d).get(stride).op(0x80).i64(1).op(0x7c).get(stride).op(0x7e).op(0x7c).set(end)
      code.get(end).get(width).op(0x7d).set(start)
      code.get(at).get(start).op(0x53).if().op(0x00).end()
      atLeast(low, () => code.get(start))
      atMost(high, () => code.get(end))
      code.end()
    }
    for (let k = 0; k < windows; k++) {
      code.block()
      code.loadControl("i64", layout.range(k)).tee(start)
      code.loadControl("i64", layout.range(k) + 8).tee(end).op(0x51).brIf(0)
      forbid()
      code.end()
    }
    code.get(high).get(at).op(0x7d).get(2).op(0xad).op(0x53).if().op(0x00).end()
    code.get(low).op(0xa7).get(1).op(0x6b).setGlobal(this.#foundLow)
    code.get(high).get(low).op(0x7d).get(2).op(0xad).op(0x7d).i64(1).op(0x7c).op(0xa7).setGlobal(this.#foundLength)
    return functionBody(["i64", "i64", "i64", "i64", "i64", "i64", "i64", "i64"], code)
  }

  /** Sets `start` and `end` to where the piece stores through a group. */
  #ownPiece(code: Assembler, facts: number, start: number, end: number): void {
    const travel = (iteration: () => void): void => {
      iteration()
      code.op(0xad).loadControl("i64", facts + Saved.STRIDE).op(0x7e)
    }
    travel(() => code.getGlobal(this.#first))
    code.set(start)
    travel(() => code.getGlobal(this.#first).getGlobal(this.#count).op(0x6a).i32(1).op(0x6b))
    code.set(end)
    // Of a group that descends the last iteration stores lowest.
    code.get(start).get(end).get(start).get(end).op(0x53).op(0x1b)
    code.get(end).get(start).get(end).get(start).op(0x55).op(0x1b)
    code.loadControl("i64", facts + Saved.FIRST_HIGH).op(0x7c).set(end)
    code.loadControl("i64", facts + Saved.FIRST_LOW).op(0x7c).set(start)
  }
}
