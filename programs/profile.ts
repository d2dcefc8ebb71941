/**
 * Profile of a program: `FOLIO_PROFILE=profiles node --import folio-wasm/profile app.mjs`.
 *
 * In place of the drop-in. Every module that the program compiles counts what it executes, natively and some times slower;
 * when the program ends, a file for each is written into the folder that `FOLIO_PROFILE` names (`folio-profiles` where it
 * is unset). `folio prepare` and `folio inspect` take file or folder as `--profile`.
 *
 * @since 0.1.0
 */
import { makeDecisions } from "../layers/node/decisions.ts"
import { intercept } from "../layers/node/intercept.ts"
import { isIntercepted } from "../layers/node/original.ts"
import { Profiling } from "../layers/node/profiling.ts"
import { whenItEnds } from "../layers/node/report.ts"

if (globalThis.WebAssembly !== undefined && !isIntercepted()) {
  const profiling = new Profiling(process.env["FOLIO_PROFILE"] || "folio-profiles")
  const decisions = makeDecisions(profiling)
  intercept(() => decisions)
  whenItEnds(() => profiling.write())
}
