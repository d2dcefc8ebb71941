/**
 * Drop-in: `node --import folio-wasm/register app.mjs`.
 *
 * Every module that the program compiles goes through Folio; loops with a plan run on several threads, everything else
 * is the original code. `layers/node/settings.ts` lists the environment variables. What happens here is little, because
 * it happens in every process and thread: settings, a look at the host, replacing six functions. All else is loaded
 * when the program first compiles a module.
 *
 * @since 0.1.0
 */
import type * as Engine from "../layers/node/dropin-engine.ts"
import { type DropIn, makeDropIn } from "../layers/node/dropin.ts"
import { judgeHost } from "../layers/node/host.ts"
import { type Decisions, intercept, undecided } from "../layers/node/intercept.ts"
import { isIntercepted } from "../layers/node/original.ts"
import type * as Report from "../layers/node/report.ts"
import { requireModule } from "../layers/node/require.ts"
import { readSettings, type Settings } from "../layers/node/settings.ts"
import type * as Prepare from "../src/plan/prepare.ts"

let dropIn: DropIn | undefined

/** Makes what the program's first module needs. */
const start = (settings: Settings, rung: string): Decisions => {
  const made = makeDropIn({
    settings,
    rung,
    environment: process.env,
    compiler: () => requireModule<typeof Prepare>("../../src/plan/prepare").prepare,
    engine: () => requireModule<typeof Engine>("./dropin-engine").makeEngine(settings.workers, settings.cache)
  })
  dropIn = made.dropIn
  return made.decisions
}

const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

const register = (): void => {
  const { problems, settings } = readSettings(process.env)
  const host = settings.off
    ? { _tag: "unable", reason: problems[0] ?? "FOLIO_OFF=1" } as const
    : judgeHost(settings)
  let reason = host._tag === "unable" ? host.reason : undefined

  let decisions: Decisions | undefined
  const decide = (rung: string): Decisions => {
    if (decisions !== undefined) return decisions
    // What is compiled while Folio is being loaded is not the program's.
    decisions = undecided
    try {
      decisions = start(settings, rung)
    } catch (error) {
      reason = `Folio cannot be loaded: ${messageOf(error)}`
    }
    return decisions
  }
  try {
    if (host._tag === "able") intercept(() => decide(host.rung))
  } catch (error) {
    reason = `WebAssembly cannot be intercepted: ${messageOf(error)}`
  }

  const { report } = settings
  if (report === undefined && problems.length === 0) return
  const loaded = (module: typeof Report): void => {
    module.writeProblems(problems)
    if (report !== undefined) module.whenItEnds(() => module.writeReport(report, dropIn?.report(), reason))
  }
  // At once where Node.js can, so that it is there even when the program ends before its first turn is over.
  if (process.features.require_module) loaded(requireModule<typeof Report>("./report"))
  else void import("../layers/node/report.ts").then(loaded)
}

if (!isIntercepted()) register()
