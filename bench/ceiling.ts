/**
 * What two threads of this machine can do at best: the divisor of every claim about two. The same arithmetic and the
 * same streaming by one thread and, half each, by owner and lane; no guard, no plan, no decision.
 */
import { aliasMapping } from "../layers/node/alias.ts"
import { probeNative } from "../layers/node/ffi.ts"
import { NodeLanes } from "../layers/node/lanes.ts"
import { compileOptimised } from "../layers/node/optimised.ts"
import { sharedMapping } from "../layers/node/shared.ts"
import { distribution, median, ratios } from "../programs/measure/statistics.ts"
import { FRAME_BYTE } from "../src/lane/control.ts"
import type { MappedMemory } from "../src/lane/lanes.ts"
import { type ImportedMemory, instantiate, mixing } from "./fixtures/lanes/chunks.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { type Arm, pairedRounds, type RoundSamples } from "./lib/rounds.ts"

/**
 * Raw samples of the ceiling.
 *
 * @category models
 * @since 0.1.0
 */
export interface CeilingSamples {
  readonly rung: string
  readonly placed: boolean
  readonly arithmetic: RoundSamples<"one" | "two">
  readonly streaming: RoundSamples<"one" | "two">
  readonly unequalRounds: number
}

/** A memory that owner and lane can both reach, by the best rung there is. */
const reachable = (pages: number): { memory: WebAssembly.Memory; mapping: MappedMemory; kind: ImportedMemory } => {
  const calls = probeNative()
  if (typeof calls === "string") {
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
    return { memory, mapping: sharedMapping(memory, "shared-fixed"), kind: { pages } }
  }
  const memory = new WebAssembly.Memory({ initial: pages })
  return { memory, mapping: aliasMapping(memory, calls), kind: "owned" }
}

const measureOne = async (
  group: NodeLanes,
  slot: number,
  work: { readonly pages: number; readonly words: number; readonly mixes: number },
  options: { readonly rounds: number; readonly warmups: number }
): Promise<{ samples: RoundSamples<"one" | "two">; unequalRounds: number; rung: string }> => {
  const { kind, mapping, memory } = reachable(work.pages)
  const alone = new WebAssembly.Memory({ initial: work.pages })
  for (const { buffer } of [memory, alone]) {
    new Int32Array(buffer).forEach((_, index, words) => words[index] = index)
  }
  const kernel = { slot, module: compileOptimised(mixing(work.mixes, kind)) }
  if (!mapping.ensure() || !group.load(kernel, mapping)) {
    throw new Error(`no lane for the ceiling: ${mapping.reason ?? group.report().reasons.join("; ")}`)
  }
  const one = instantiate(compileOptimised(mixing(work.mixes)), alone, group.control)
  const own = instantiate(kernel.module, memory, group.control)
  const half = work.words / 2
  let turns = 0
  let unequalRounds = 0
  const verify = (): void => {
    if (++turns % 2 === 0 && Buffer.compare(Buffer.from(memory.buffer), Buffer.from(alone.buffer)) !== 0) {
      unequalRounds++
    }
  }
  const arms: Record<"one" | "two", Arm> = {
    one: { run: () => one(0, work.words, FRAME_BYTE), verify },
    two: {
      run: () => {
        group.fork(0, slot, 0, half, FRAME_BYTE)
        own(half, work.words - half, FRAME_BYTE)
        if (group.join(0) !== "done") throw new Error("the lane did not finish")
      },
      verify
    }
  }
  return { samples: await pairedRounds(arms, options), unequalRounds, rung: mapping.rung }
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<CeilingSamples> = {
  claim: "what two threads reach against one, doing the same arithmetic and the same streaming",
  measure: async ({ quick }) => {
    const group = new NodeLanes({ lanes: 1 })
    try {
      group.start()
      if (group.waitUntilReady(10_000) === 0) throw new Error(group.report().reasons.join("; "))
      const options = { rounds: quick ? 11 : 31, warmups: 3 }
      const arithmetic = await measureOne(group, 0, { pages: 1, words: 4096, mixes: 32_768 }, options)
      const streaming = await measureOne(group, 1, { pages: 4096, words: 4096 * 16_384, mixes: 1 }, options)
      return {
        rung: streaming.rung,
        placed: group.report().placed,
        arithmetic: arithmetic.samples,
        streaming: streaming.samples,
        unequalRounds: arithmetic.unequalRounds + streaming.unequalRounds
      }
    } finally {
      await group.close()
    }
  },
  summarise: ({ arithmetic, placed, rung, streaming, unequalRounds }) => ({
    figure: median(ratios(arithmetic.one.wallMs, arithmetic.two.wallMs)),
    unit: "times one thread (arithmetic)",
    checks: [check("rounds with another byte", unequalRounds, { atMost: 0 })],
    rows: {
      "arithmetic, two against one": distribution(ratios(arithmetic.one.wallMs, arithmetic.two.wallMs)),
      "streaming, two against one": distribution(ratios(streaming.one.wallMs, streaming.two.wallMs)),
      "arithmetic, processor time": median(ratios(arithmetic.two.cpuMs, arithmetic.one.cpuMs)),
      "streaming, processor time": median(ratios(streaming.two.cpuMs, streaming.one.cpuMs)),
      "one thread ms": { arithmetic: median(arithmetic.one.wallMs), streaming: median(streaming.one.wallMs) },
      memory: rung,
      placed
    }
  })
}
