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

/** A module that declares two memories: a counting copy has one more than its original. */
const twoMemories = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 5, 2, 0, 0, 0, 0])

if (globalThis.WebAssembly === undefined || isIntercepted()) {
  // Nothing to count with, or the program runs with the drop-in.
} else if (!WebAssembly.validate(twoMemories)) {
  process.stderr.write(
    `folio: no profile is taken: Node.js ${process.version} takes one memory a module, 22 takes more\n`
  )
} else {
  const profiling = new Profiling(process.env["FOLIO_PROFILE"] || "folio-profiles")
  const decisions = makeDecisions(profiling)
  intercept(() => decisions)
  whenItEnds(() => profiling.write())
}
