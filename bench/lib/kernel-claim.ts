/**
 * Measures one kernel three ways in the same run: native, through the library's own path (preparation, engine, lanes),
 * and cut in two by hand over a shared memory. Every byte of the three memories is compared after every round.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type EngineReport, NodeEngine } from "../../layers/node/engine.ts"
import { prepare } from "../../src/plan/prepare.ts"
import { HandSplit } from "./hand-split.ts"
import { type Arm, pairedRounds, type RoundSamples } from "./rounds.ts"
import { root } from "./sources.ts"

/**
 * A kernel over an array of words, `(words: address, count, …rest)`.
 *
 * @category models
 * @since 0.1.0
 */
export interface KernelClaim {
  /** File names below `bench/fixtures/kernels`. */
  readonly module: string
  readonly sharedModule: string
  readonly entry: string
  readonly words: number
  readonly rest: ReadonlyArray<number>
}

/**
 * Raw samples of a kernel.
 *
 * @category models
 * @since 0.1.0
 */
export interface KernelSamples {
  readonly rounds: RoundSamples<"native" | "folio" | "split">
  readonly firstCallMs: { readonly native: number; readonly folio: number }
  readonly comparedBytes: number
  readonly unequalRounds: number
  readonly dispatches: number
  readonly planned: number
  readonly rung: string | undefined
  /** Why the newest loop execution that stayed native did so. */
  readonly reason: string | undefined
}

const read = (name: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(readFileSync(join(root, "bench/fixtures/kernels", name)))

type Kernel = (...args: ReadonlyArray<number>) => void

/** The same bytes in every memory: xorshift32 over the words. */
const fill = (memory: WebAssembly.Memory, from: number, words: number): void => {
  const view = new Uint32Array(memory.buffer, from, words)
  let state = 0x9e3779b9
  for (let index = 0; index < words; index++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    view[index] = state
  }
}

const bytesOf = (memory: WebAssembly.Memory): Buffer => Buffer.from(memory.buffer)

const timed = (run: () => void): number => {
  const start = performance.now()
  run()
  return performance.now() - start
}

/**
 * Runs a claim.
 *
 * @category running
 * @since 0.1.0
 */
export const measureKernel = async (
  claim: KernelClaim,
  options: { readonly rounds: number; readonly warmups: number }
): Promise<KernelSamples> => {
  const bytes = read(claim.module)
  const native = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports
  const prepared = prepare(bytes)
  const engine = new NodeEngine({ workers: 2 })
  const binding = engine.bind(
    new WebAssembly.Instance(new WebAssembly.Module((prepared.guest ?? bytes) as BufferSource)),
    prepared,
    // Whether lanes pay is what is measured here: no call is to be left native to find it out.
    true
  )
  const memories = [native.memory as WebAssembly.Memory, binding.exports.memory as WebAssembly.Memory]
  const base = (native.__heap_base as WebAssembly.Global).value as number
  const split = await HandSplit.start(read(claim.sharedModule), memories[0]!.buffer.byteLength / 65536)
  memories.push(split.memory)
  try {
    for (const memory of memories) fill(memory, base, claim.words)
    const call = (kernel: Kernel) => (): void => kernel(base, claim.words, ...claim.rest)
    const half = claim.words >>> 1
    const byHand = split.kernel(claim.entry)
    const runs = {
      native: call(native[claim.entry] as Kernel),
      folio: call(binding.exports[claim.entry] as Kernel),
      split: () => void byHand([base, half, ...claim.rest], [base + 4 * half, claim.words - half, ...claim.rest])
    }
    const firstCallMs = { native: timed(runs.native), folio: timed(runs.folio) }
    runs.split()

    let turns = 0
    let unequalRounds = 0
    const arms: Record<keyof typeof runs, Arm> = {
      native: { run: runs.native, verify: () => compare() },
      folio: { run: runs.folio, verify: () => compare() },
      split: { run: runs.split, verify: () => compare() }
    }
    /** After the last arm of a round all memories have been through the kernel equally often. */
    const compare = (): void => {
      if (++turns % 3 !== 0) return
      const [reference, ...others] = memories.map(bytesOf)
      if (others.some((other) => Buffer.compare(reference!, other) !== 0)) unequalRounds++
    }
    const rounds = await pairedRounds(arms, options)
    const report: EngineReport = engine.report()
    return {
      rounds,
      firstCallMs,
      comparedBytes: memories[0]!.buffer.byteLength,
      unequalRounds,
      dispatches: report.dispatches,
      planned: prepared.plan.loops.filter((loop) => loop._tag === "planned").length,
      rung: report.rung,
      reason: report.reason
    }
  } finally {
    await split.close()
    await engine.close()
  }
}
