/**
 * What a loop loses when its lane's core is taken: a program of its own keeps the core busy, all the time or by turns of
 * 300 ms (it is stopped and continued), while calls of the loop go on. Stretches of native calls in between say what the
 * same call takes at that moment. Lost is what calls that were handed out took longer than that.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { NodeEngine } from "../layers/node/engine.ts"
import { probeNative } from "../layers/node/ffi.ts"
import { median, significant } from "../programs/measure/statistics.ts"
import { prepare } from "../src/plan/prepare.ts"
import { check, type Instrument, Unavailable } from "./lib/instrument.ts"
import { root } from "./lib/sources.ts"

/**
 * A stretch of calls through Folio and the native calls behind it. Milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Stretch {
  readonly calls: number
  readonly folioMs: number
  /** A native call, the median of some. */
  readonly nativeMs: number
  /** Calls that were handed out. */
  readonly apart: number
  /** What these took longer than a native call, those that were slower. */
  readonly lostMs: number
}

/**
 * Stretches with nobody on the lane's core, with somebody, and with somebody by turns.
 *
 * @category models
 * @since 0.1.0
 */
export interface RegretSamples {
  readonly scenarios: ReadonlyArray<{
    readonly name: "alone" | "taken" | "by turns"
    readonly callMs: number
    readonly stretches: ReadonlyArray<Stretch>
  }>
}

const STRETCH_MS = 250
const NATIVE_CALLS_MS = 60
const TURN_MS = 300
const WINDOW_MS = 2_000

/** Words of a call, for about 0.3 and 2 ms. */
const SIZES = [16_384, 100_000]

const measureScenario = async (
  name: "alone" | "taken" | "by turns",
  words: number,
  seconds: number
): Promise<RegretSamples["scenarios"][number]> => {
  const bytes = new Uint8Array(readFileSync(join(root, "bench/fixtures/kernels/work-o2.wasm")))
  const prepared = prepare(bytes)
  const calls = probeNative()
  if (typeof calls === "string") throw new Unavailable(calls)
  const engine = new NodeEngine({ workers: 2 })
  let other: ChildProcess | undefined
  let turns: ReturnType<typeof setInterval> | undefined
  try {
    engine.lanes.start()
    if (engine.lanes.waitUntilReady(10_000) === 0) throw new Unavailable(engine.lanes.report().reasons.join("; "))
    const native = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports
    const guest = new WebAssembly.Instance(new WebAssembly.Module((prepared.guest ?? bytes) as BufferSource))
    const binding = engine.bind(guest, prepared, true)
    const base = (native["__heap_base"] as WebAssembly.Global).value as number
    const timed = (exports: WebAssembly.Exports): number => {
      const start = performance.now()
      ;(exports["mix"] as (at: number, count: number) => void)(base, words)
      return performance.now() - start
    }
    const dispatches = (): number => binding.report().dispatches
    for (let k = 0; k < 200; k++) for (const exports of [native, binding.exports]) timed(exports)
    if (name !== "alone") {
      other = spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" })
      calls.setAffinity(other.pid!, [engine.lanes.report().lanes[0].cpu])
      let stopped = false
      if (name === "by turns") {
        turns = setInterval(() => {
          stopped = !stopped
          other?.kill(stopped ? "SIGSTOP" : "SIGCONT")
        }, TURN_MS)
      }
    }
    const stretches: Array<Stretch> = []
    for (const end = performance.now() + seconds * 1_000; performance.now() < end;) {
      const took: Array<{ readonly ms: number; readonly apart: boolean }> = []
      for (const stop = performance.now() + STRETCH_MS; performance.now() < stop;) {
        const before = dispatches()
        const ms = timed(binding.exports)
        took.push({ ms, apart: dispatches() > before })
      }
      const alone: Array<number> = []
      for (const stop = performance.now() + NATIVE_CALLS_MS; performance.now() < stop;) alone.push(timed(native))
      const nativeMs = median(alone)
      const handed = took.filter(({ apart }) => apart)
      stretches.push({
        calls: took.length,
        folioMs: took.reduce((sum, { ms }) => sum + ms, 0),
        nativeMs,
        apart: handed.length,
        lostMs: handed.reduce((sum, { ms }) => sum + Math.max(0, ms - nativeMs), 0)
      })
      // Timers run here: the monitor's, and the turns.
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    return { name, callMs: median(stretches.map(({ nativeMs }) => nativeMs)), stretches }
  } finally {
    clearInterval(turns)
    other?.kill("SIGCONT")
    other?.kill("SIGKILL")
    await engine.close()
  }
}

/** The largest share of its native time that the loop lost over any two seconds in it. */
const worst = (stretches: ReadonlyArray<Stretch>): number => {
  const each = Math.ceil(WINDOW_MS / STRETCH_MS)
  const shares = stretches.slice(each - 1).map((_, from) => {
    const window = stretches.slice(from, from + each)
    const native = window.reduce((sum, { calls, nativeMs }) => sum + calls * nativeMs, 0)
    return window.reduce((sum, { lostMs }) => sum + lostMs, 0) / native
  })
  return Math.max(0, ...shares)
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<RegretSamples> = {
  claim: "a loop whose lane's core is taken loses at most 1 % of its native time over any 2 s",
  measure: async ({ quick }) => {
    const scenarios: Array<RegretSamples["scenarios"][number]> = []
    for (const words of SIZES) {
      for (const name of ["alone", "taken", "by turns"] as const) {
        scenarios.push(await measureScenario(name, words, quick ? 5 : 30))
      }
    }
    return { scenarios }
  },
  summarise: ({ scenarios }) => {
    const regrets = scenarios.filter(({ name }) => name !== "alone").map(({ stretches }) => worst(stretches))
    const most = Math.max(...regrets)
    return {
      figure: most,
      unit: "of the native time lost, at most",
      checks: [check("share of its native time that a losing loop loses over any 2 s", most, { atMost: 0.01 })],
      rows: Object.fromEntries(scenarios.map(({ callMs, name, stretches }) => {
        const sum = (pick: (stretch: Stretch) => number): number => stretches.reduce((all, one) => all + pick(one), 0)
        const native = sum((one) => one.calls * one.nativeMs)
        return [
          `${name}, calls of ${significant(callMs, 2)} ms`,
          `${significant(native / sum((one) => one.folioMs), 3)}×, ${
            significant(100 * sum((one) => one.apart) / sum((one) => one.calls), 3)
          } % apart, ${significant(100 * worst(stretches), 2)} % lost at worst`
        ]
      }))
    }
  }
}
