/**
 * Drop-in: `node --import folio-wasm/register app.mjs`.
 *
 * Every module that the program compiles goes through Folio; loops with a plan run on several threads, everything else
 * is the original code. `layers/node/settings.ts` lists the environment variables. What happens here is little, because
 * it happens in every process and thread: settings, a look at the host, replacing six functions. All else is loaded
 * when the first module is compiled.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import { isMainThread } from "node:worker_threads"
import type * as Cpu from "../layers/node/cpu.ts"
import type * as DropIn from "../layers/node/dropin.ts"
import type * as Engine from "../layers/node/engine.ts"
import { judgeHost } from "../layers/node/host.ts"
import { intercept, isIntercepted } from "../layers/node/intercept.ts"
import type * as Report from "../layers/node/report.ts"
import { requireModule } from "../layers/node/require.ts"
import { readSettings } from "../layers/node/settings.ts"
import { isOwnThread } from "../layers/node/thread.ts"
import type * as Prepare from "../src/plan/prepare.ts"

const register = (): void => {
  const { problems, settings } = readSettings(process.env)
  if (isMainThread) { for (const line of problems) Fs.writeSync(2, `${line}\n`) }
  const host = settings.off
    ? { _tag: "unable", reason: problems[0] ?? "FOLIO_OFF=1" } as const
    : judgeHost(settings)

  let dropIn: DropIn.DropIn | undefined
  if (host._tag === "able") {
    const loaded = (): DropIn.DropIn =>
      dropIn ??= new (requireModule<typeof DropIn>("./dropin").DropIn)({
        settings,
        rung: host.rung,
        environment: process.env,
        compiler: () => requireModule<typeof Prepare>("../../src/plan/prepare").prepare,
        engine: () => {
          const workers = settings.workers ?? requireModule<typeof Cpu>("./cpu").cpuBudget().width
          return new (requireModule<typeof Engine>("./engine").NodeEngine)({ workers })
        }
      })
    intercept({
      substitute: (bytes, from) => loaded().substitute(bytes, from),
      adopt: (clone) => loaded().adopt(clone),
      bind: (instance, identity) => loaded().bind(instance, identity)
    })
  }

  const { report } = settings
  if (report !== undefined) {
    process.on("exit", () => {
      const { writeReport } = requireModule<typeof Report>("./report")
      writeReport(report, dropIn?.report(), host._tag === "unable" ? host.reason : undefined)
    })
  }
}

if (!isOwnThread() && !isIntercepted()) register()
