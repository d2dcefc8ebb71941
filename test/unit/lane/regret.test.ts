/**
 * What a loop loses by being handed out, on a simulated machine: over any two seconds at most 1 % of its native time, however
 * slow the lane is and whoever takes its core. And a lane that is as fast as it should be is used.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { prepare } from "../../../src/plan/prepare.ts"
import { type Machine, type SimulatedCall, Simulation } from "../../support/simulated-lanes.ts"

const kernels = new URL("../../../bench/fixtures/kernels/work-o2.wasm", import.meta.url)
const prepared = prepare(new Uint8Array(readFileSync(kernels)))

const ITERATIONS = 256
const CALL_MS = [0.3, 1, 5]
const SIMULATED_MS = 8_000
const WINDOW_MS = 2_000

/** Calls of a loop that natively takes `ms`, `duty` of the time. */
const simulate = (
  machine: Omit<Machine, "iterationMs">,
  ms: number,
  duty: number,
  minimumWorkNs = 100
): { readonly calls: ReadonlyArray<SimulatedCall>; readonly apart: number } => {
  const simulation = new Simulation(
    prepared,
    { ...machine, iterationMs: ms / ITERATIONS },
    // Before its first timing nothing but a guess by instructions says that the simulated loop is worth it.
    { minimumWorkNs, hotNs: 100, evidenceNs: 0, evidenceNsEach: 0 }
  )
  const base = (simulation.exports["__heap_base"] as WebAssembly.Global).value as number
  const args = [base, ITERATIONS]
  const calls: Array<SimulatedCall> = []
  while (simulation.now < SIMULATED_MS) {
    calls.push(simulation.call("mix", args, ITERATIONS))
    simulation.now += ms * (1 / duty - 1)
  }
  return { calls, apart: simulation.dispatches() }
}

/** The largest share of native time that any window loses, what is gained in it counted against what is lost. */
const regret = (calls: ReadonlyArray<SimulatedCall>): number => {
  let [from, lost, native, worst] = [0, 0, 0, 0]
  calls.forEach((call, to) => {
    lost += call.took - call.native
    native += call.native
    for (; call.start - calls[from].start > WINDOW_MS; from++) {
      lost -= calls[from].took - calls[from].native
      native -= calls[from].native
    }
    // A window that is not full yet is part of one that is.
    if (call.start - calls[0].start > WINDOW_MS && from < to) worst = Math.max(worst, lost / native)
  })
  return worst
}

/** A lane whose core is taken for `off` of every `on + off` milliseconds. */
const stolen = (on: number, off: number): Machine["laneEnd"] => (start, work) => {
  let [at, left] = [start, work]
  for (;;) {
    const within = at % (on + off)
    if (within >= on) at += on + off - within
    else if (left <= on - within) return at + left
    else {
      left -= on - within
      at += on - within + off
    }
  }
}

const slow = (factor: number): Machine["laneEnd"] => (start, work) => start + factor * work

const LOSING: ReadonlyArray<readonly [name: string, laneEnd: Machine["laneEnd"]]> = [
  ["a lane that is 10 times slower", slow(10)],
  ["a lane that is 20 times slower", slow(20)],
  ["a core that is taken half of the time", stolen(3, 3)],
  ["a core that is taken nearly always", stolen(1, 6)],
  ["a core that is taken for longer spans", stolen(400, 6)]
]

describe("at most 1 % of the native time is lost over any two seconds", () => {
  for (const [name, laneEnd] of LOSING) {
    for (const duty of [1, 0.4]) {
      it(`${name}, ${duty * 100} % of the time in the loop`, () => {
        for (const ms of CALL_MS) {
          assert.isAtMost(regret(simulate({ laneEnd }, ms, duty).calls), 0.01, `calls of ${ms} ms`)
        }
      })
    }
  }

  it("and it is lost where nothing watches", () => {
    for (const ms of CALL_MS) {
      assert.isAbove(regret(simulate({ laneEnd: slow(30) }, ms, 1, 0).calls), 0.1, `calls of ${ms} ms`)
    }
  })
})

describe("a lane that gains", () => {
  it("works on nearly every call", () => {
    for (const ms of CALL_MS) {
      const { apart, calls } = simulate({ laneEnd: slow(1) }, ms, 1)
      assert.isAbove(apart / calls.length, 0.9)
      const took = calls.reduce((sum, call) => sum + call.took, 0)
      const native = calls.reduce((sum, call) => sum + call.native, 0)
      assert.isAbove(native / took, 1.7)
    }
  })

  it("is used again when its core comes back", () => {
    // Taken for the first second.
    const laneEnd: Machine["laneEnd"] = (start, work) => start < 1_000 ? start + 50 * work : start + work
    const { calls } = simulate({ laneEnd }, 1, 1)
    const late = calls.filter(({ start }) => start > 6_500)
    assert.isAbove(late.filter(({ native, took }) => took < native / 1.5).length / late.length, 0.9)
  })
})
