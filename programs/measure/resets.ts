/**
 * What it takes to put an instance back, by every rung that this machine has.
 *
 * @since 0.1.0
 */
import { resetHost, resetInstance, resetModule } from "../../layers/node/reset-instance.ts"
import { ByteWriter } from "../../src/binary/writer.ts"
import type { ResetRung } from "../../src/reset/checkpoint.ts"

/**
 * `(func (export "write") (param $at i32) (i32.store (local.get $at) (i32.const 77)))` over an exported memory.
 *
 * @category modules
 * @since 0.1.0
 */
export const writerModule = (mebibytes: number): Uint8Array<ArrayBuffer> => {
  const code = new ByteWriter().u8(0).u8(0x20).u32(0).u8(0x41).s32(77).u8(0x36).memarg(2, 0).u8(0x0b).finish()
  const out = new ByteWriter().fixed32(0x6d736100).fixed32(1)
  out.section(1, new ByteWriter().u32(1).u8(0x60).u32(1).u8(0x7f).u32(0))
  out.section(3, new ByteWriter().u32(1).u32(0))
  out.section(5, new ByteWriter().u32(1).u8(0).u32(mebibytes * 16))
  out.section(7, new ByteWriter().u32(2).name("memory").u8(2).u32(0).name("write").u8(0).u32(0))
  return out.section(10, new ByteWriter().u32(1).u32(code.length).bytes(code)).finish()
}

/** Bytes of a page of the system. */
const PAGE = 4_096

/**
 * Addresses on so many pages, spread over a memory: the same ones each time.
 *
 * @category modules
 * @since 0.1.0
 */
export const spread = (mebibytes: number, pages: number): ReadonlyArray<number> =>
  Array.from({ length: pages }, (_, index) => (index * 1_021 + 7) % (mebibytes * 256) * PAGE + 8 * index % PAGE)

/** The rungs that put back whatever was written, those that this machine has. @category queries @since 0.1.0 */
export const soundRungs = (): ReadonlyArray<ResetRung> => {
  const { kernel, severalMemories } = resetHost()
  return [
    "whole",
    ...severalMemories ? ["checkpoint" as const, "tracked-map" as const] : [],
    ...kernel === undefined ? ["tracked-kernel" as const] : []
  ]
}

/**
 * Microseconds of single resets of an instance, each behind a run, and of that run: `begin` takes a new instance to the
 * state that is put back. Rejects with `NotResettable`, and with what the guest throws. A reset that is refused (the memory has
 * grown) ends with its reason.
 *
 * @category measuring
 * @since 0.1.0
 */
export const measureResets = async (
  bytes: Uint8Array,
  rung: ResetRung,
  rounds: number,
  guest: {
    readonly imports: WebAssembly.Imports
    readonly begin: (exports: WebAssembly.Exports) => void | Promise<void>
    readonly run: (exports: WebAssembly.Exports) => void
  }
): Promise<{ readonly resetUs: ReadonlyArray<number>; readonly runUs: ReadonlyArray<number> } | string> => {
  const host = { ...resetHost(), ...rung === "tracked-map" ? { kernel: "another rung is measured" } : {} }
  const policy = rung === "tracked-map" || rung === "tracked-kernel" ? "tracked" : rung
  const { checkpoint, exports } = resetInstance(resetModule(bytes, { host, policy }), guest.imports)
  await guest.begin(exports)
  const state = checkpoint()
  const samples = { resetUs: new Array<number>(), runUs: new Array<number>() }
  try {
    // The first fifth warms up.
    for (let round = -Math.ceil(rounds / 5); round < rounds; round++) {
      const begin = performance.now()
      guest.run(exports)
      const between = performance.now()
      const refused = state.reset()
      const end = performance.now()
      if (refused !== undefined) return refused
      if (round < 0) continue
      samples.runUs.push((between - begin) * 1_000)
      samples.resetUs.push((end - between) * 1_000)
    }
    return samples
  } finally {
    state.release()
  }
}
