/**
 * Small tasks on two lanes, against the pools that people use: a round trip of one task, and how many end in a second
 * when many are submitted at once, with a number and with a record of text and numbers. Each of Folio's tasks is joined
 * in a fiber that can be interrupted, ends in a value or an error, and leaves a record, as in every use; the other pools
 * run as they come.
 *
 * The arms take turns round by round in one process; each has a pool of its own, whose threads sleep meanwhile. Beside
 * the claim stand round trips a millisecond apart, between which no thread of any pool polls.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as NodeTasks from "../layers/node/NodeTasks.ts"
import { distribution, median } from "../programs/measure/statistics.ts"
import { check, type Instrument } from "./lib/instrument.ts"

/**
 * Samples of one payload, by arm.
 *
 * @category models
 * @since 0.1.0
 */
export interface PayloadSamples {
  /** Microseconds of single round trips: medians of rounds. */
  readonly roundTripUs: Readonly<Record<string, ReadonlyArray<number>>>
  /** The same, a millisecond apart. */
  readonly apartUs: Readonly<Record<string, ReadonlyArray<number>>>
  /** Tasks a second. */
  readonly perSecond: Readonly<Record<string, ReadonlyArray<number>>>
}

/**
 * Raw samples, by payload.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskSamples {
  readonly payloads: Readonly<Record<string, PayloadSamples>>
  readonly tasksAtOnce: number
}

interface Payload {
  /** Name of the task. */
  readonly task: "next" | "score"
  readonly input: (index: number) => unknown
  /** Whether this is the result. */
  readonly fits: (index: number, output: unknown) => boolean
}

const weights = (index: number): ReadonlyArray<number> => Array.from({ length: 8 }, (_, at) => index + at / 8)

const payloads: Readonly<Record<string, Payload>> = {
  number: { task: "next", input: (index) => index, fits: (index, output) => output === index + 1 },
  record: {
    task: "score",
    input: (index) => ({ id: index, name: `item ${index}`, tags: ["new", "large"], weights: weights(index) }),
    fits: (index, output) => {
      const { label, scaled, total } = output as { label: string; total: number; scaled: ReadonlyArray<number> }
      const expected = weights(index).map((weight) => weight * index)
      return label === `item ${index} of 2` && scaled.length === 8 && scaled.every((x, at) => x === expected[at]) &&
        total === expected.reduce((sum, x) => sum + x, 0)
    }
  }
}

interface Arm {
  /** One task after the other. */
  readonly trips: (task: Payload["task"], inputs: ReadonlyArray<unknown>, apart: boolean) => Promise<Trips>
  readonly many: (task: Payload["task"], inputs: ReadonlyArray<unknown>) => Promise<ReadonlyArray<unknown>>
  readonly close: () => Promise<unknown>
}

interface Trips {
  /** Microseconds of each. */
  readonly us: ReadonlyArray<number>
  readonly outputs: ReadonlyArray<unknown>
}

const LANES = 2
const pools = fileURLToPath(new URL("pools/", import.meta.url))
const program = new URL("pools/task.mjs", import.meta.url)

const install = (): void => {
  if (existsSync(`${pools}node_modules/piscina`)) return
  const npm = spawnSync("npm", ["ci", "--prefer-offline"], { cwd: pools, encoding: "utf8", shell: true })
  if (npm.status !== 0) throw new Error(`the pools cannot be installed: ${npm.stderr}`)
}

interface Pool {
  readonly run: (input: unknown, options: { readonly name: string }) => Promise<unknown>
  readonly destroy: () => Promise<void>
}

type MakePool = new(
  options: { readonly filename: string; readonly minThreads: number; readonly maxThreads: number }
) => Pool

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1))

const peer = async (exported: "Piscina" | "Tinypool"): Promise<Arm> => {
  const loaded = await import(new URL("pools/peers.mjs", import.meta.url).href) as Record<string, MakePool>
  const pool = new loaded[exported]({ filename: fileURLToPath(program), minThreads: LANES, maxThreads: LANES })
  return {
    trips: async (name, inputs, apart) => {
      const us: Array<number> = []
      const outputs: Array<unknown> = []
      for (const input of inputs) {
        if (apart) await pause()
        const start = performance.now()
        const output = await pool.run(input, { name })
        us.push((performance.now() - start) * 1_000)
        outputs.push(output)
      }
      return { us, outputs }
    },
    many: (name, inputs) => Promise.all(inputs.map((input) => pool.run(input, { name }))),
    close: () => pool.destroy()
  }
}

const folio = async (): Promise<Arm> => {
  const scope = await Effect.runPromise(Scope.make())
  const tasks = await Effect.runPromise(
    Effect.provideService(NodeTasks.make({ program, lanes: LANES }), Scope.Scope, scope)
  )
  return {
    trips: (name, inputs, apart) =>
      Effect.runPromise(Effect.gen(function*() {
        const us: Array<number> = []
        const outputs: Array<unknown> = []
        for (const input of inputs) {
          if (apart) yield* Effect.promise(pause)
          const start = performance.now()
          const output = yield* Effect.flatMap(tasks.submit(name, input), tasks.join)
          us.push((performance.now() - start) * 1_000)
          outputs.push(output)
        }
        return { us, outputs }
      })),
    many: (name, inputs) => Effect.runPromise(tasks.map(name, inputs)),
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

const AT_ONCE = 4_000
const [TRIPS, TRIPS_APART] = [200, 15]

/** Rounds that warm up: what the pools run is small and compiled soon. */
const WARMUPS = 3

const byArm = (): Record<string, Array<number>> => ({ folio: [], piscina: [], tinypool: [] })

const round = async ({ many, trips }: Arm, { fits, input, task }: Payload) => {
  const inputs = Array.from({ length: AT_ONCE }, (_, index) => input(index))
  const verify = (outputs: ReadonlyArray<unknown>): void => {
    if (!outputs.every((output, index) => fits(index, output))) throw new Error(`a wrong result of ${task}`)
  }
  const together = await trips(task, inputs.slice(0, TRIPS), false)
  verify(together.outputs)
  const apart = await trips(task, inputs.slice(0, TRIPS_APART), true)
  verify(apart.outputs)
  const start = performance.now()
  const outputs = await many(task, inputs)
  const perSecond = AT_ONCE / (performance.now() - start) * 1_000
  verify(outputs)
  return { roundTripUs: median(together.us), apartUs: median(apart.us), perSecond }
}

const ratioOf = (samples: Readonly<Record<string, ReadonlyArray<number>>>, best: (...of: Array<number>) => number) =>
  median(samples["folio"]) / best(median(samples["piscina"]), median(samples["tinypool"]))

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
    const measured: Record<string, Record<keyof PayloadSamples, Record<string, Array<number>>>> = {}
    try {
      for (const [name, payload] of Object.entries(payloads)) {
        const samples = { roundTripUs: byArm(), apartUs: byArm(), perSecond: byArm() }
        measured[name] = samples
        for (let index = -WARMUPS; index < (quick ? 9 : 42); index++) {
          for (const [arm, run] of Object.entries(arms)) {
            const sample = await round(run, payload)
            if (index < 0) continue
            samples.roundTripUs[arm].push(sample.roundTripUs)
            samples.apartUs[arm].push(sample.apartUs)
            samples.perSecond[arm].push(sample.perSecond)
          }
        }
      }
    } finally {
      for (const { close } of Object.values(arms)) await close()
    }
    return { payloads: measured, tasksAtOnce: AT_ONCE }
  },
  summarise: ({ payloads, tasksAtOnce }) => {
    const rate = ({ perSecond }: PayloadSamples): number => ratioOf(perSecond, Math.max)
    const all = Object.entries(payloads)
    return {
      figure: Math.min(...all.map(([, samples]) => rate(samples))),
      unit: "times the tasks a second of the best other pool",
      checks: all.flatMap(([name, samples]) => [
        check(`${name}: round trip against the best other pool`, ratioOf(samples.roundTripUs, Math.min), {
          atMost: 0.6
        }),
        check(`${name}: tasks a second against the best other pool`, rate(samples), { atLeast: 8 })
      ]),
      rows: {
        ...Object.fromEntries(
          all.flatMap(([name, { apartUs, perSecond, roundTripUs }]) =>
            Object.keys(roundTripUs).flatMap((arm) => [
              [`${arm}, ${name}, round trip, µs`, distribution(roundTripUs[arm])],
              [`${arm}, ${name}, round trip, a millisecond apart, µs`, distribution(apartUs[arm])],
              [`${arm}, ${name}, tasks a second`, distribution(perSecond[arm])]
            ])
          )
        ),
        "tasks at once": tasksAtOnce
      }
    }
  }
}
