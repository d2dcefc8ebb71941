/**
 * Small tasks on two lanes, against the pools that people use: a round trip of one task, and how many end in a second
 * when many are submitted at once. Errors, cancellation and records are on, as in every use.
 *
 * The arms take turns round by round in one process; each has a pool of its own, whose threads sleep meanwhile.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as NodeTasks from "../layers/node/NodeTasks.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { distribution, median } from "./lib/statistics.ts"

/**
 * Raw samples, by arm.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskSamples {
  /** Microseconds of single round trips: medians of rounds. */
  readonly roundTripUs: Readonly<Record<string, ReadonlyArray<number>>>
  /** Tasks a second. */
  readonly perSecond: Readonly<Record<string, ReadonlyArray<number>>>
  readonly tasksAtOnce: number
}

interface Arm {
  /** Microseconds of single tasks, one after the other. */
  readonly trips: (count: number) => Promise<ReadonlyArray<number>>
  readonly many: (inputs: ReadonlyArray<number>) => Promise<ReadonlyArray<unknown>>
  readonly close: () => Promise<unknown>
}

const LANES = 2
const pools = fileURLToPath(new URL("pools/", import.meta.url))
const task = new URL("pools/task.mjs", import.meta.url)

const install = (): void => {
  if (existsSync(`${pools}node_modules/piscina`)) return
  const npm = spawnSync("npm", ["ci", "--prefer-offline"], { cwd: pools, encoding: "utf8", shell: true })
  if (npm.status !== 0) throw new Error(`the pools cannot be installed: ${npm.stderr}`)
}

interface Pool {
  readonly run: (input: number) => Promise<unknown>
  readonly destroy: () => Promise<void>
}

type MakePool = new(
  options: { readonly filename: string; readonly minThreads: number; readonly maxThreads: number }
) => Pool

const peer = async (exported: "Piscina" | "Tinypool"): Promise<Arm> => {
  const loaded = await import(new URL("pools/peers.mjs", import.meta.url).href) as Record<string, MakePool>
  const pool = new loaded[exported]({ filename: fileURLToPath(task), minThreads: LANES, maxThreads: LANES })
  return {
    trips: async (count) => {
      const times: Array<number> = []
      for (let trip = 0; trip < count; trip++) {
        const start = performance.now()
        const output = await pool.run(trip)
        times.push((performance.now() - start) * 1_000)
        verify([trip], [output])
      }
      return times
    },
    many: (inputs) => Promise.all(inputs.map((input) => pool.run(input))),
    close: () => pool.destroy()
  }
}

const folio = async (): Promise<Arm> => {
  const scope = await Effect.runPromise(Scope.make())
  const tasks = await Effect.runPromise(
    Effect.provideService(NodeTasks.make({ program: task, lanes: LANES }), Scope.Scope, scope)
  )
  return {
    trips: (count) =>
      Effect.runPromise(Effect.gen(function*() {
        const times: Array<number> = []
        for (let trip = 0; trip < count; trip++) {
          const start = performance.now()
          const output = yield* Effect.flatMap(tasks.submit("next", trip), tasks.join)
          times.push((performance.now() - start) * 1_000)
          verify([trip], [output])
        }
        return times
      })),
    many: (inputs) => Effect.runPromise(tasks.map("next", inputs)),
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

const verify = (inputs: ReadonlyArray<number>, outputs: ReadonlyArray<unknown>): void => {
  for (const [index, input] of inputs.entries()) if (outputs[index] !== input + 1) throw new Error("a wrong result")
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<TaskSamples> = {
  claim: "a small task takes at most 0.6 of the time of the best other pool, and 8 times as many end in a second",
  measure: async ({ quick }) => {
    install()
    const arms: Record<string, Arm> = {
      folio: await folio(),
      piscina: await peer("Piscina"),
      tinypool: await peer("Tinypool")
    }
    const tasksAtOnce = 4_000
    const inputs = Array.from({ length: tasksAtOnce }, (_, index) => index)
    const names = Object.keys(arms)
    const roundTripUs: Record<string, Array<number>> = Object.fromEntries(names.map((name) => [name, []]))
    const perSecond: Record<string, Array<number>> = Object.fromEntries(names.map((name) => [name, []]))
    const round = async (name: string, { many, trips }: Arm): Promise<void> => {
      roundTripUs[name].push(median(await trips(200)))
      const start = performance.now()
      const outputs = await many(inputs)
      perSecond[name].push(tasksAtOnce / (performance.now() - start) * 1_000)
      verify(inputs, outputs)
    }
    try {
      for (let index = 0; index < (quick ? 12 : 45); index++) {
        for (const name of names) {
          await round(name, arms[name])
          // The first rounds warm up.
          if (index >= 3) continue
          roundTripUs[name].length = 0
          perSecond[name].length = 0
        }
      }
    } finally {
      for (const { close } of Object.values(arms)) await close()
    }
    return { roundTripUs, perSecond, tasksAtOnce }
  },
  summarise: ({ perSecond, roundTripUs, tasksAtOnce }) => {
    const others = Object.keys(roundTripUs).filter((name) => name !== "folio")
    const trip = median(roundTripUs["folio"]) / Math.min(...others.map((name) => median(roundTripUs[name])))
    const rate = median(perSecond["folio"]) / Math.max(...others.map((name) => median(perSecond[name])))
    return {
      figure: rate,
      unit: "times the tasks a second of the best other pool",
      checks: [
        check("round trip against the best other pool", trip, { atMost: 0.6 }),
        check("tasks a second against the best other pool", rate, { atLeast: 8 })
      ],
      rows: {
        ...Object.fromEntries(
          Object.entries(roundTripUs).map(([name, values]) => [`${name}, round trip, µs`, distribution(values)])
        ),
        ...Object.fromEntries(
          Object.entries(perSecond).map(([name, values]) => [`${name}, tasks a second`, distribution(values)])
        ),
        "tasks at once": tasksAtOnce
      }
    }
  }
}
