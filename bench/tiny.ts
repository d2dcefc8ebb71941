/**
 * What Folio costs where it cannot help: calls of some nanoseconds through a session's exports, beside two native
 * instances of the same module, in processes of their own. Exports with a planned loop have a test in front of it;
 * exports without one are the engine's own functions with the original code.
 */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { median, percentile, significant } from "../programs/measure/statistics.ts"
import { decodeModule } from "../src/binary/module.ts"
import { prepare } from "../src/plan/prepare.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { root } from "./lib/sources.ts"
import { TINY_CALLS, type TinyTimes } from "./lib/tiny-calls.ts"

/**
 * Raw samples: of each process the times of each call; exports without a plan whose code has other bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface TinySamples {
  readonly processes: ReadonlyArray<Readonly<Record<string, TinyTimes>>>
  readonly changed: ReadonlyArray<string>
}

const child = join(root, "bench/lib/tiny-child.ts")

/** Exports without a planned loop whose body differs in the patched module. */
const changedExports = (): ReadonlyArray<string> => {
  const bytes = new Uint8Array(readFileSync(join(root, "bench/fixtures/kernels/loops-o2.wasm")))
  const { guest, plan } = prepare(bytes)
  const planned = new Set(plan.loops.flatMap((loop) => loop._tag === "planned" ? [loop.functionIndex] : []))
  const [before, after] = [bytes, guest ?? bytes].map(decodeModule)
  const bodyOf = (module: typeof before, index: number): Buffer => {
    const { end, start } = module.functions[index].body!
    return Buffer.from(module.bytes.subarray(start, end))
  }
  return before.exports
    .filter(({ index, kind }) => kind === "function" && !planned.has(index))
    .filter(({ index }) => !bodyOf(before, index).equals(bodyOf(after, index)))
    .map(({ name }) => name)
}

/** Nanoseconds that a call takes more than natively, by process. */
const added = (all: ReadonlyArray<TinyTimes>): ReadonlyArray<number> =>
  all.map(({ folio, nativeA, nativeB }) => median(folio) - (median(nativeA) + median(nativeB)) / 2)

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<TinySamples> = {
  claim: "tiny planned loops cost at most 1 ns more a call, exports without a plan nothing",
  measure: async ({ quick }) => {
    const processes: Array<Record<string, TinyTimes>> = []
    for (let restart = 0; restart < (quick ? 3 : 9); restart++) {
      const { stdout } = await promisify(execFile)(process.execPath, [child, quick ? "7" : "15"])
      processes.push(JSON.parse(stdout) as Record<string, TinyTimes>)
    }
    return { processes, changed: changedExports() }
  },
  summarise: ({ changed, processes }) => {
    const of = (name: string): ReadonlyArray<TinyTimes> => processes.map((times) => times[name])
    const planned = TINY_CALLS.filter((call) => call.planned)
    const plain = TINY_CALLS.filter((call) => !call.planned)
    const most = Math.max(...planned.map(({ name }) => median(added(of(name)))))
    // What two native instances differ by, either way.
    const differences = plain.flatMap(({ name }) =>
      of(name).map(({ nativeA, nativeB }) => Math.abs(Math.log(median(nativeA) / median(nativeB))))
    )
    const band = Math.exp(percentile(differences, 95))
    const ratio = (name: string): number =>
      median(of(name).map(({ folio, nativeA, nativeB }) => 2 * median(folio) / (median(nativeA) + median(nativeB))))
    const worst = Math.max(...plain.map(({ name }) => ratio(name)))
    return {
      figure: most,
      unit: "ns more a call, at most",
      checks: [
        check("tiny planned loops, ns more a call", most, { atMost: 1 }),
        check("exports without a plan, Folio/native", worst, { atMost: Math.max(band, 1.02) }),
        check("exports without a plan whose code differs", changed.length, { atMost: 0 })
      ],
      rows: {
        "native A/native B, 95th percentile": band,
        ...Object.fromEntries(TINY_CALLS.map(({ name, planned }) => [
          `${name}${planned ? "" : ", no plan"}`,
          `native ${significant(median(of(name).map(({ nativeA }) => median(nativeA))), 3)} ns, ${
            significant(median(added(of(name))), 2)
          } ns more`
        ]))
      }
    }
  }
}
