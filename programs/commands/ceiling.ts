/**
 * What the machine can give at most: the same arithmetic on one thread and on two at once.
 *
 * A machine whose second CPU is a hyperthread, or is busy, gives less than twice; no program can beat that.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { sharedMapping } from "../../layers/node/shared.ts"
import { ByteWriter } from "../../src/binary/writer.ts"
import { CONTROL_MAXIMUM_PAGES } from "../../src/lane/control.ts"
import type { LaneGroup } from "../../src/lane/lanes.ts"

const I32 = 0x7f

/** `run(start, count, out)`: `count` rounds of a multiplication and a shift that nothing can shorten. */
const kernelBytes = (): Uint8Array<ArrayBuffer> => {
  const imports = new ByteWriter().u32(1).name("folio").name("control").u8(2).u8(3).u32(1).u32(CONTROL_MAXIMUM_PAGES)
  const body = new ByteWriter()
    .u32(1).u32(1).u8(I32)
    .u8(0x20).u32(0).u8(0x41).s32(1).u8(0x72).u8(0x21).u32(3) // mixed = start | 1
    .u8(0x03).u8(0x40) // loop
    .u8(0x20).u32(3).u8(0x41).s32(1664525).u8(0x6c).u8(0x41).s32(1013904223).u8(0x6a)
    .u8(0x22).u32(3).u8(0x20).u32(3).u8(0x41).s32(13).u8(0x76).u8(0x73).u8(0x21).u32(3)
    .u8(0x20).u32(1).u8(0x41).s32(1).u8(0x6b).u8(0x22).u32(1).u8(0x0d).u32(0) // until count is 0
    .u8(0x0b)
    .u8(0x20).u32(2).u8(0x20).u32(3).u8(0x36).memarg(2, 0) // leave it at `out`
    .u8(0x0b)
  return new ByteWriter().fixed32(0x6d736100).fixed32(1)
    .section(1, new ByteWriter().u32(1).u8(0x60).u32(3).u8(I32).u8(I32).u8(I32).u32(0))
    .section(2, imports)
    .section(3, new ByteWriter().u32(1).u32(0))
    .section(7, new ByteWriter().u32(1).name("run").u8(0).u32(0))
    .section(10, new ByteWriter().u32(1).u32(body.length).bytes(body.finish()))
    .finish()
}

/** Rounds of one measurement: some five milliseconds. */
const ROUNDS = 1_500_000
const REPEATS = 12

const milliseconds = (work: () => void): number => {
  const began = performance.now()
  work()
  return performance.now() - began
}

/**
 * Throughput of two threads over that of one; undefined when no lane could run it. Takes some 150 ms.
 *
 * @category measurement
 * @since 0.1.0
 */
export const measureCeiling = (lanes: LaneGroup): Effect.Effect<number | undefined> =>
  Effect.sync(() => {
    const module = new WebAssembly.Module(kernelBytes())
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
    const instance = new WebAssembly.Instance(module, { folio: { memory, control: lanes.control } })
    const run = instance.exports["run"] as (start: number, count: number, out: number) => void
    const frame = 8192
    if (lanes.ready() === 0 || !lanes.load({ slot: 0, module }, sharedMapping(memory, "shared-given"))) return undefined
    const both = () => {
      lanes.fork(0, 0, 1, ROUNDS, frame)
      run(2, ROUNDS, frame + 8)
      return lanes.join(0)
    }
    // The engine compiles both sides for good while they run for the first times.
    for (let warm = 0; warm < 3; warm++) if (both() !== "done") return undefined
    let one = Number.POSITIVE_INFINITY
    let two = Number.POSITIVE_INFINITY
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      one = Math.min(one, milliseconds(() => run(2, ROUNDS, frame + 8)))
      two = Math.min(two, milliseconds(both))
    }
    return 2 * one / two
  })
