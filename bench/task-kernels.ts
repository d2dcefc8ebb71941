/**
 * Tasks of 0.1 ms and more on two lanes, each on a context that is put back behind it, against what two threads reach
 * with the same calls when nobody puts anything back: half of them each, by hand, on plain instances.
 *
 * Kernels are those of `fixtures/tasks/kernels.ts`. Each is called as often in a task as the task's length asks for.
 * The three arms take turns round by round; all outputs are compared with those of new instances.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { fileURLToPath } from "node:url"
import { Worker } from "node:worker_threads"
import * as NodeTasks from "../layers/node/NodeTasks.ts"
import { distribution, median, ratios } from "../programs/measure/statistics.ts"
import { overlapOf, type TasksShape } from "../services/Tasks.ts"
import type { Guest } from "../src/tasks/context.ts"
import { install } from "./corpus/folder.ts"
import {
  begin,
  imports,
  type Kernel,
  type KernelInput,
  type KernelModule,
  kernelModules,
  kernelsOf,
  tasks
} from "./fixtures/tasks/kernels.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import type { Timing } from "./lib/rounds.ts"
import { plainGuest } from "./lib/task-kernels-guest.ts"
import type { HandData } from "./lib/task-kernels-worker.ts"

/**
 * Milliseconds of rounds, by kernel and length of a task.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskKernelSamples {
  readonly rows: ReadonlyArray<{
    readonly kernel: string
    /** Milliseconds that a task takes at least, and that one takes on one thread. */
    readonly length: number
    readonly taskMs: number
    readonly tasks: number
    readonly one: ReadonlyArray<Timing>
    readonly two: ReadonlyArray<Timing>
    readonly lanes: ReadonlyArray<Timing>
    /** Tasks that ran at a time, in the mean, as their records say. */
    readonly overlap: ReadonlyArray<number>
    readonly unequal: number
  }>
}

/** Least milliseconds of a task. */
const LENGTHS = [0.1, 0.5]
/** Milliseconds of an arm that runs on one thread. */
const ARM_MILLISECONDS = 160
/** Inputs of a kernel that differ. */
const INPUTS = 8

const inputsOf = (module: string, kernel: Kernel, times: number): ReadonlyArray<KernelInput> =>
  Array.from({ length: INPUTS }, (_, seed) => ({
    module,
    kernel: kernel.name,
    times,
    bytes: Uint8Array.from({ length: kernel.input[1] }, (_, at) => Math.imul(at + 7 * seed + 1, 0x9e37_79b1) >>> 24)
  }))

/** How often a task calls the kernel to take so long, and how long it then takes. */
const fit = (module: string, kernel: Kernel, guest: Guest, milliseconds: number): readonly [number, number] => {
  let times = 1
  for (;;) {
    const inputs = inputsOf(module, kernel, times)
    const lengths = Array.from({ length: 40 }, (_, index) => {
      const start = performance.now()
      tasks.call(inputs[index % INPUTS], guest)
      return performance.now() - start
    })
    const ms = Math.min(...lengths.slice(20))
    if (ms >= milliseconds) return [times, ms]
    times = Math.max(times + 1, Math.floor(times * Math.min(8, milliseconds / ms)))
  }
}

class Hand {
  readonly #words = new Int32Array(new SharedArrayBuffer(16))
  readonly #workers: ReadonlyArray<Worker>

  constructor(module: WebAssembly.Module, inputs: HandData["inputs"]) {
    const workerData: HandData = { module, inputs, words: this.#words }
    this.#workers = [1, 2].map(() => new Worker(new URL("lib/task-kernels-worker.ts", import.meta.url), { workerData }))
  }

  async ready(): Promise<void> {
    while (Atomics.load(this.#words, 1) < 2) await Atomics.waitAsync(this.#words, 1, Atomics.load(this.#words, 1)).value
  }

  /** Half of the tasks in each thread, while this one sleeps. */
  run(kernel: number, count: number): void {
    this.#words[2] = kernel
    this.#words[3] = count / 2
    Atomics.store(this.#words, 1, 0)
    Atomics.add(this.#words, 0, 1)
    Atomics.notify(this.#words, 0)
    for (let done = 0; done < 2; done = Atomics.load(this.#words, 1)) Atomics.wait(this.#words, 1, done)
  }

  close(): Promise<unknown> {
    return Promise.all(this.#workers.map((worker) => worker.terminate()))
  }
}

const sameBytes = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0

const timed = async (run: () => unknown): Promise<Timing> => {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await run()
  const wallMs = performance.now() - start
  const { system, user } = process.cpuUsage(cpu)
  return { wallMs, cpuMs: (user + system) / 1_000 }
}

const wall = ({ wallMs }: Timing): number => wallMs
const cpu = ({ cpuMs }: Timing): number => cpuMs

type Row = TaskKernelSamples["rows"][number]

const measureModule = async ({ bytes, name }: KernelModule, rounds: number): Promise<ReadonlyArray<Row>> => {
  const module = new WebAssembly.Module(bytes as BufferSource)
  const open = (): Guest => {
    const guest = plainGuest(module, imports())
    begin(guest)
    return guest
  }
  const guest = open()
  const cases = kernelsOf(name, guest.exports).flatMap((kernel) =>
    LENGTHS.map((length) => {
      const [times, taskMs] = fit(name, kernel, guest, length)
      const count = 2 * Math.ceil(ARM_MILLISECONDS / taskMs / 2)
      return { kernel, length, taskMs, count, inputs: inputsOf(name, kernel, times) }
    })
  )
  const scope = await Effect.runPromise(Scope.make())
  const program = new URL("fixtures/tasks/kernels.ts", import.meta.url)
  const pool: TasksShape = await Effect.runPromise(
    Effect.provideService(NodeTasks.make({ program, module: bytes, lanes: 2 }), Scope.Scope, scope)
  )
  const hand = new Hand(module, cases.map(({ inputs }) => inputs))
  await hand.ready()
  const rows: Array<Row> = []
  for (const [index, { count, inputs, kernel, length, taskMs }] of cases.entries()) {
    const all = Array.from({ length: count }, (_, at) => inputs[at % INPUTS])
    const expected = inputs.map((input) => tasks.call(input, open()))
    const samples = { one: [] as Array<Timing>, two: [] as Array<Timing>, lanes: [] as Array<Timing> }
    const overlap: Array<number> = []
    let unequal = 0
    for (let round = -2; round < rounds; round++) {
      const one = await timed(() => all.forEach((input) => tasks.call(input, guest)))
      const two = await timed(() => hand.run(index, count))
      let outputs: ReadonlyArray<unknown> = []
      const lanes = await timed(async () => (outputs = await Effect.runPromise(pool.map("call", all))))
      unequal += outputs.filter((output, at) => !sameBytes(output as Uint8Array, expected[at % INPUTS])).length
      if (round < 0) continue
      samples.one.push(one)
      samples.two.push(two)
      samples.lanes.push(lanes)
      const { busyMs, workMs } = overlapOf(pool.records().slice(-count))
      overlap.push(workMs / busyMs)
    }
    rows.push({ kernel: `${name} ${kernel.name}`, length, taskMs, tasks: count, ...samples, overlap, unequal })
  }
  await hand.close()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  return rows
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<TaskKernelSamples> = {
  claim: "tasks of 0.1 ms and more on two lanes, put back behind each: at least 0.93 of what two threads reach by hand",
  measure: async ({ quick }) => {
    install(fileURLToPath(new URL("corpus/", import.meta.url)), console.error)
    const rows: Array<Row> = []
    for (const module of await kernelModules()) rows.push(...await measureModule(module, quick ? 3 : 15))
    return { rows }
  },
  summarise: ({ rows }) => {
    const least = (some: ReadonlyArray<Row>): number => Math.min(...some.map(share))
    const share = ({ lanes, two }: Row): number => median(ratios(two.map(wall), lanes.map(wall)))
    const [short, long] = LENGTHS.map((length) => rows.filter((row) => row.length === length))
    return {
      figure: least(rows),
      unit: "of what two threads reach by hand, the least of all kernels",
      checks: [
        check(`share of the ceiling, tasks of ${LENGTHS[0]} ms, the least of all kernels`, least(short), {
          atLeast: 0.93
        }),
        check(`share of the ceiling, tasks of ${LENGTHS[1]} ms, the least of all kernels`, least(long), {
          atLeast: 0.93
        }),
        check("outputs with another byte", rows.reduce((sum, { unequal }) => sum + unequal, 0), { atMost: 0 }),
        check("milliseconds of the shortest task", Math.min(...rows.map(({ taskMs }) => taskMs)), { atLeast: 0.1 })
      ],
      rows: {
        [`share, tasks of ${LENGTHS[0]} ms`]: distribution(short.map(share)),
        [`share, tasks of ${LENGTHS[1]} ms`]: distribution(long.map(share)),
        "two threads by hand against one": distribution(
          rows.map(({ one, two }) => median(ratios(one.map(wall), two.map(wall))))
        ),
        ...Object.fromEntries(rows.map((row) => [
          `${row.kernel}, ${row.taskMs.toFixed(2)} ms`,
          {
            share: share(row),
            "two lanes against one thread": median(ratios(row.one.map(wall), row.lanes.map(wall))),
            "processor time against two threads": median(ratios(row.lanes.map(cpu), row.two.map(cpu))),
            "tasks at a time": median(row.overlap)
          }
        ]))
      }
    }
  }
}
