/**
 * `npm run demo`: two packages from npm, as they are, natively and under drop-in, in alternating rounds.
 *
 * The first one has loops with independent iterations and runs on several threads. The second one is a hash, in which
 * every step needs the one before; it stays native and must not cost anything. Exits with 1 when an output, a memory
 * or a global differs from native, when a package is slower than native, or when nothing ran on lanes where that is
 * claimed.
 *
 * @since 0.1.0
 */
import { existsSync, readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { remedyFor } from "../layers/core/remedies.ts"
import type { ReasonCode } from "../src/plan/types.ts"
import { type Ceiling, ceiling } from "./demo/machine.ts"
import { duration, labelled, paint, WIDTH } from "./demo/paint.ts"
import { timeline } from "./demo/timeline.ts"
import { type Trial, tryPackage } from "./demo/trial.ts"

interface Package {
  readonly harness: string
  readonly name: string
  readonly does: string
  /** Loops of it must run on lanes where the machine has any. */
  readonly parallel: boolean
}

const packages: ReadonlyArray<Package> = [
  { harness: "unsharp", name: "multimath", does: "sharpens an image of 2048 × 1536 pixels", parallel: true },
  { harness: "xxhash", name: "xxhash-wasm", does: "hashes 32 MiB", parallel: false }
]

const directory = fileURLToPath(new URL("../test/consumers", import.meta.url))

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>
}

const versionOf = (name: string): string => {
  const { packages } = JSON.parse(readFileSync(`${directory}/package-lock.json`, "utf8")) as Lock
  return packages[`node_modules/${name}`]?.version ?? ""
}

const print = (line = ""): void => console.log(line)

/** What is being done, on one line of a terminal that the next text overwrites. */
const progress = (step: string): void => {
  if (process.stdout.isTTY) process.stdout.write(`\r\u001b[K  ${paint("dim", step.slice(0, WIDTH - 4))}`)
}
const endProgress = (): void => {
  if (process.stdout.isTTY) process.stdout.write("\r\u001b[K")
}

const times = (value: number): string => `${value.toFixed(2)}×`

const heading = ({ does, name }: Package): void => {
  print(`${paint("bold", name)} ${versionOf(name)}  ${paint("dim", does)}`)
  print()
}

const speed = ({ callMs, firstCall, ratio }: Trial, top: Ceiling): void => {
  const longest = Math.max(callMs.native, callMs.folio)
  print(duration("native", callMs.native, callMs.native / longest, "cyan"))
  print(duration("with Folio", callMs.folio, callMs.folio / longest, "green"))
  const share = top._tag === "measured"
    ? `: ${Math.round(100 * ratio / top.ratio)} % of the ${times(top.ratio)} that two threads give here`
    : ""
  print(labelled("ratio", `${times(ratio)}${share}`))
  print(labelled(
    "first call",
    `${firstCall.native.toFixed(0)} ms, with Folio ${
      firstCall.folio.toFixed(0)
    } ms; the figures above are the steady state`
  ))
}

const equality = ({ calls, digest, equal, notes }: Trial): void => {
  print(labelled(
    "bytes",
    equal
      ? `${calls} of ${calls} outputs equal to native's (sha256 ${digest?.slice(0, 12)}…), and every byte of memory`
      : `NOT equal: ${notes.join("; ")}`
  ))
}

const lanes = ({ call, dispatched, dispatches, plan }: Trial): void => {
  const { planned, refused } = plan
  print(labelled("lanes", `${planned} of ${planned + refused} loops planned, ${dispatches} executions of them shared`))
  print()
  print(`  ${paint("dim", "one call: who works on a shared loop")}`)
  for (const line of timeline(call, dispatched)) print(line)
}

const stayedNative = ({ cpuRatio, plan, ratio, serial }: Trial): void => {
  const reasons = Object.entries(plan.reasons).sort(([, left], [, right]) => right - left)
  const loops = plan.planned + plan.refused
  print(
    labelled(
      "stayed native",
      `${plan.refused} of ${loops} loops: ${reasons.map(([code, count]) => `${count} ${code}`).join(", ")}`
    )
  )
  if (reasons.length > 0) print(labelled("a way out", remedyFor(reasons[0]![0] as ReasonCode)))
  else if (serial !== undefined) print(labelled("", serial))
  print(
    labelled(
      "cost",
      `${times(1 / ratio)} of the time and ${times(cpuRatio)} of the processor time of native; no lane was started`
    )
  )
}

/** What is wrong with a trial; nothing when it holds what is claimed. */
const faults = ({ parallel }: Package, trial: Trial, top: Ceiling): ReadonlyArray<string> => [
  ...(trial.equal ? [] : ["outputs or memory differ from native"]),
  ...(trial.ratio >= Math.min(0.98, trial.aaLow) ? [] : [`${times(trial.ratio)} of native's speed`]),
  ...(parallel && top._tag === "measured" && trial.dispatches === 0 ? ["nothing ran on lanes"] : [])
]

const show = async (subject: Package, top: Ceiling): Promise<ReadonlyArray<string>> => {
  heading(subject)
  progress("starting")
  const trial = await tryPackage(subject.harness, progress)
  endProgress()
  speed(trial, subject.parallel ? top : { _tag: "none", reason: "" })
  equality(trial)
  if (trial.dispatches > 0) lanes(trial)
  else stayedNative(trial)
  print()
  return faults(subject, trial, top).map((fault) => `${subject.name}: ${fault}`)
}

const main = async (): Promise<void> => {
  print(`${paint("bold", "Folio")}: unmodified npm packages, native and on several cores`)
  print(
    paint(
      "dim",
      `Node.js ${process.versions.node}, ${availableParallelism()} CPUs; rounds of native, native again and Folio, in turn`
    )
  )
  print()
  if (!existsSync(`${directory}/node_modules`)) {
    print(`Installing ${packages.map(({ name }) => name).join(" and ")} from npm, as locked.\n`)
  }
  const top = await ceiling()
  if (top._tag === "none") print(`Everything runs natively here: ${top.reason}\n`)
  const found: Array<string> = []
  for (const subject of packages) found.push(...await show(subject, top))
  if (found.length === 0) print(paint("green", "All of it holds."))
  for (const fault of found) print(paint("red", `FAILED  ${fault}`))
  if (found.length > 0) process.exitCode = 1
}

try {
  await main()
} catch (error) {
  endProgress()
  print(paint("red", `FAILED  ${error instanceof Error ? error.message : String(error)}`))
  process.exitCode = 1
}
