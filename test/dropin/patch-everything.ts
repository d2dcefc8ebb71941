/**
 * Preloaded instead of `register` where every module shall be patched, whatever is in it: a compiler that plans no loop
 * but adds what a plan adds (a table, a threshold, the memory, all under hidden names), and a runtime that only takes
 * the hidden names away again. Interception, numbering, cloning and caching are the real ones.
 */
import { DropIn } from "../../layers/node/dropin.ts"
import { intercept, isIntercepted } from "../../layers/node/intercept.ts"
import { visibleExports } from "../../layers/node/marker.ts"
import { engineExports } from "../../layers/node/original.ts"
import { readSettings } from "../../layers/node/settings.ts"
import { isOwnThread } from "../../layers/node/thread.ts"
import { emitModule } from "../../src/binary/emit.ts"
import { decodeModule } from "../../src/binary/module.ts"
import { memoryName, sectionName, tableName, thresholdName } from "../../src/plan/hidden.ts"
import type { Prepared } from "../../src/plan/prepare.ts"

/** Adds to a module what a plan of one loop would export. */
export const prepareEverything = (bytes: Uint8Array): Prepared => {
  const module = decodeModule(bytes)
  const guest = emitModule(module, {
    tables: [{ min: 1, max: 1, type: "funcref" }],
    globals: [{ valueType: "i32", mutable: true, init: 0x7fffffff }],
    exports: [
      { name: tableName, kind: "table", index: module.tables.length },
      ...(module.memories.length === 0 ? [] : [{ name: memoryName, kind: "memory", index: 0 } as const]),
      { name: thresholdName(0), kind: "global", index: module.globals.length }
    ],
    customs: [{ name: sectionName, data: new Uint8Array([1]) }]
  })
  const plan = {
    version: 1,
    inputBytes: bytes.length,
    functions: module.functions.length,
    loops: [],
    refusal: undefined,
    complete: true,
    memory: undefined
  }
  return { plan, guest, guard: new Uint8Array(8), chunks: [new Uint8Array(3)] }
}

if (!isOwnThread() && !isIntercepted()) {
  const dropIn = new DropIn({
    settings: readSettings(process.env).settings,
    rung: "none",
    environment: process.env,
    compiler: () => prepareEverything,
    engine: () => ({
      bind: (instance) => ({ exports: visibleExports(engineExports(instance)) }),
      report: () => undefined
    })
  })
  intercept(dropIn)
  process.on("exit", () => {
    const patched = dropIn.report().modules.filter(({ state }) => state === "patched")
    // Read by the tests: that there was something to hide.
    if (process.env["PATCHED_FD"] !== undefined) process.stderr.write(`patched ${patched.length}\n`)
  })
}
