/**
 * Compares one module of `test/differential/regressions.ts`; as a program, the one that its argument names.
 */
import { prepare } from "../../src/plan/prepare.ts"
import { type Regression, regressionImage, REGRESSIONS } from "../differential/regressions.ts"
import { Apart, compareCall, describeMismatch, Guest, type Split } from "./differential.ts"
import { assemble } from "./wat.ts"

const SPLITS: ReadonlyArray<Split> = [
  { order: "forward", width: 2 },
  { order: "reverse", width: 4 },
  { order: 1, width: 7 },
  { order: "reverse", width: 32 }
]

/** What differs; nothing when the module is not planned. */
export const compareRegression = async (regression: Regression): Promise<ReadonlyArray<string>> => {
  const bytes = await assemble(regression.wat)
  const prepared = prepare(bytes)
  if (prepared.guest === undefined) return []
  const original = new Guest(new WebAssembly.Module(bytes))
  const apart = new Apart(prepared)
  const image = regressionImage(regression)
  return regression.calls.flatMap((args) => {
    const { mismatch } = compareCall(original, apart, image, { name: "run", args }, SPLITS)
    return mismatch === undefined ? [] : [describeMismatch(mismatch)]
  })
}

if (import.meta.main) {
  const found = REGRESSIONS.find(({ name }) => name === process.argv[2])
  if (found === undefined) throw new Error(`no module ${process.argv[2]}`)
  console.log(JSON.stringify(await compareRegression(found)))
}
