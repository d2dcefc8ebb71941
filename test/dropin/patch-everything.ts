/**
 * Preloaded instead of `register` where every module shall be patched, whatever is in it: a compiler that plans no loop
 * but adds what a plan adds: a table, a threshold, the memory, all under hidden names. All else is the real thing.
 */
import { makeDropIn } from "../../layers/node/dropin.ts"
import { NodeEngine } from "../../layers/node/engine.ts"
import { intercept } from "../../layers/node/intercept.ts"
import { isIntercepted } from "../../layers/node/original.ts"
import { readSettings } from "../../layers/node/settings.ts"
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

if (!isIntercepted()) {
  const { decisions, dropIn } = makeDropIn({
    settings: readSettings(process.env).settings,
    rung: "none",
    environment: process.env,
    compiler: () => prepareEverything,
    engine: () => new NodeEngine({ workers: 2 })
  })
  intercept(() => decisions)
  process.on("exit", () => {
    const patched = dropIn.report().modules.filter(({ state }) => state === "patched")
    // Read by the tests: that there was something to hide.
    if (process.env["PATCHED_FD"] !== undefined) process.stderr.write(`patched ${patched.length}\n`)
  })
}
