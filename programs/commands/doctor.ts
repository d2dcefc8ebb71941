/**
 * `folio doctor`: what this machine allows, and what is off and why.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { cpus } from "node:os"
import { layerAdmission } from "../../layers/core/CoreAdmission.ts"
import { aliasMapping } from "../../layers/node/alias.ts"
import { cacheDirectory } from "../../layers/node/cache.ts"
import { readCalibration } from "../../layers/node/calibration.ts"
import { cpuBudget } from "../../layers/node/cpu.ts"
import { probeNative } from "../../layers/node/ffi.ts"
import * as NodeThread from "../../layers/node/NodeThread.ts"
import * as NodeTransport from "../../layers/node/NodeTransport.ts"
import { probeReset } from "../../layers/node/reset-instance.ts"
import { Transport } from "../../services/Transport.ts"
import type { LanesReport } from "../../src/lane/lanes.ts"
import { measureCeiling } from "./ceiling.ts"
import { help } from "./help.ts"
import { printJson } from "./outcome.ts"
import { type Row, table } from "./table.ts"
import { packageVersion } from "./version.ts"

/** One thing that was looked at. */
interface Finding {
  readonly what: string
  readonly state: "ok" | "off" | "info"
  readonly detail: string
}

const versions = (): ReadonlyArray<Finding> => [
  {
    what: "versions",
    state: "info",
    detail: `folio ${packageVersion}, Node.js ${process.versions.node}, V8 ${process.versions["v8"]}, ` +
      `${process.platform} ${process.arch}`
  }
]

const processors = (): ReadonlyArray<Finding> => {
  const { allowed, bound, quota, width } = cpuBudget()
  const model = cpus()[0]?.model.trim() ?? "unknown processor"
  const share = quota === undefined ? "no CPU quota" : `a quota of ${quota} CPUs`
  return [{
    what: "cores",
    state: width > 1 ? "ok" : "off",
    detail: `${width} can be used (${bound}); ${cpus().length} x ${model}, ` +
      `${allowed === undefined ? "" : `${allowed.length} allowed, `}${share}`
  }]
}

/** Whether lanes can see the pages of a memory that the guest owns, tried on a small one. */
const memoryRung = (): Finding => {
  const calls = probeNative()
  const fallbackRungs = "only a shared memory that a guest is given can be used (library option `sharedGiven`)"
  if (typeof calls === "string") return { what: "memory", state: "off", detail: `alias: ${calls}; ${fallbackRungs}` }
  const mapping = aliasMapping(new WebAssembly.Memory({ initial: 1 }), calls)
  const mapped = mapping.ensure()
  const reason = mapping.reason
  mapping.release()
  return mapped
    ? { what: "memory", state: "ok", detail: "alias: lanes see the pages of an owned, growable memory" }
    : { what: "memory", state: "off", detail: `alias: ${reason}; ${fallbackRungs}` }
}

const resetDetail = {
  "tracked-kernel": "pages written since, which the operating system tells",
  "tracked-map": "pages that the module's own stores mark",
  checkpoint: "pages that differ, found by comparing all of them",
  pages: "pages learned from the first run",
  whole: "the whole memory"
} as const

/** How a private context is put back here, and why not faster. */
const resetRung = (): Finding => {
  const { rung, without } = probeReset()
  const reasons = without.map(({ reason, rung }) => `${rung}: ${reason}`)
  return {
    what: "reset",
    state: without.length === 0 ? "ok" : "info",
    detail: [`${rung}: ${resetDetail[rung]}`, ...reasons].join("; ")
  }
}

const laneFindings = (
  report: LanesReport,
  started: Either.Either<number, { readonly message: string }>
): ReadonlyArray<Finding> => [
  Either.isRight(started) && started.right > 0
    ? { what: "lanes", state: "ok", detail: `${started.right} up besides this thread` }
    : {
      what: "lanes",
      state: "off",
      detail: Either.isLeft(started) ? started.left.message : report.reasons[0] ?? "none to be had"
    },
  report.placed
    ? { what: "affinity", state: "ok", detail: "each lane is bound to a CPU of its own" }
    : { what: "affinity", state: "off", detail: report.reasons.at(-1) ?? "no lane to bind" }
]

/** What handing out was measured to cost here. */
const calibrationFinding = (width: number): Finding => {
  const measured = readCalibration(cacheDirectory(process.env["FOLIO_CACHE"] || undefined, process.env), width)
  const us = (ns: number): string => `${(ns / 1000).toFixed(1)} µs`
  return {
    what: "calibration",
    state: measured === undefined ? "info" : "ok",
    detail: measured === undefined
      ? "none measured on this machine: the defaults hold"
      : `handing out costs ${us(measured.hotNs)}, ${us(measured.coldNs)} with lanes that sleep; it pays from ${
        us(measured.breakEvenNs)
      } of work`
  }
}

const ceilingFinding = (ceiling: number | undefined): Finding =>
  ceiling === undefined
    ? { what: "ceiling", state: "off", detail: "no lane to measure with" }
    : {
      what: "ceiling",
      state: ceiling >= 1.5 ? "ok" : "info",
      detail: `two threads do ${ceiling.toFixed(2)}x the arithmetic of one` +
        (ceiling >= 1.5 ? "" : ": the second CPU is busy or no core of its own")
    }

const examine: Effect.Effect<ReadonlyArray<Finding>, never, Transport> = Effect.gen(function*() {
  const { awaitLanes, lanes } = yield* Transport
  const started = yield* Effect.either(awaitLanes)
  const ceiling = yield* measureCeiling(lanes)
  return [
    ...versions(),
    ...processors(),
    ...laneFindings(lanes.report(), started),
    memoryRung(),
    resetRung(),
    calibrationFinding(lanes.count + 1),
    ceilingFinding(ceiling)
  ]
})

const threads = NodeTransport.layer(5_000).pipe(
  Layer.provide(NodeThread.layer({})),
  Layer.provide(layerAdmission())
)

const MARK = { ok: "green", off: "red", info: "yellow" } as const

const print = (findings: ReadonlyArray<Finding>): string =>
  table(
    findings.map((
      { detail, state, what }
    ): Row => [{ text: what }, { text: state, colour: MARK[state] }, { text: detail }])
  )

/**
 * The command.
 *
 * @category commands
 * @since 0.1.0
 */
export const doctor = Command.make(
  "doctor",
  { json: Options.boolean("json").pipe(Options.withDescription("print one JSON document")) },
  ({ json }) =>
    Effect.flatMap(
      Effect.provide(examine, threads),
      (findings) => json ? printJson({ findings }) : Console.log(print(findings))
    )
).pipe(
  Command.withDescription(help(
    "Show what this machine allows: versions, cores, lanes, memory, and how much two threads can gain.",
    [["folio doctor", "a line for each"], ["folio doctor --json", "for programs"]],
    "Whatever is off, programs run natively and give the same results. Exit code 0."
  ))
)
