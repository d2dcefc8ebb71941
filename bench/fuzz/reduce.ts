/**
 * Makes a failing seed small: leaves out statements of the generated function as long as it still differs, and prints
 * what is left.
 *
 *     node test/runtime/node26.mjs bench/fuzz/reduce.ts SEED FUNCTION CALL
 */
import wabt from "wabt"
import { prepare } from "../../src/plan/prepare.ts"
import { describeLoop } from "../../test/support/differential-table.ts"
import { Apart, compareCall, describeMismatch, Guest, type Tally } from "../../test/support/differential.ts"
import { FUNCTIONS, generatedCall } from "./campaign.ts"
import { FIRST_FUNCTION, type GeneratedModule, generateModule } from "./modules.ts"

interface Attempt {
  readonly module: GeneratedModule
  readonly mismatch: Exclude<Tally["mismatch"], undefined>
}

/** The module without some statements, when it still differs. */
const attempt = (
  seed: number,
  place: readonly [f: number, call: number],
  without: ReadonlySet<string>
): Attempt | undefined => {
  const module = generateModule(seed, FUNCTIONS, without)
  const generated = generatedCall(module, ...place)
  if (generated === undefined) return undefined
  try {
    const prepared = prepare(module.bytes)
    if (prepared.guest === undefined) return undefined
    const original = new Guest(new WebAssembly.Module(module.bytes))
    const splits = [...generated.splits, { order: "reverse", width: 2 }, { order: "reverse", width: 32 }] as const
    const { mismatch } = compareCall(original, new Apart(prepared), generated.image, generated.call, splits)
    return mismatch === undefined ? undefined : { module, mismatch }
  } catch {
    return undefined
  }
}

/** Text of one function of a module. */
const textOf = async (bytes: Uint8Array, functionIndex: number): Promise<string> => {
  const { readWasm } = await wabt()
  const module = readWasm(bytes, { readDebugNames: true, simd: true, bulk_memory: true, threads: true } as object)
  try {
    const text = module.toText({ foldExprs: true, inlineExport: false })
    return text.split(/\n(?=  \(func )/).find((part) => part.startsWith(`  (func (;${functionIndex};)`)) ?? text
  } finally {
    module.destroy()
  }
}

const [seed, f, call] = process.argv.slice(2).map(Number)
const without = new Set<string>()
let best = attempt(seed, [f, call], without)
if (best === undefined) console.log("nothing differs")
else {
  for (let smaller = true; smaller;) {
    smaller = false
    for (const name of best.module.statements.toReversed()) {
      const next: Attempt | undefined = attempt(seed, [f, call], new Set([...without, name]))
      if (next === undefined) continue
      without.add(name)
      best = next
      smaller = true
      break
    }
  }
  console.log(await textOf(best.module.bytes, FIRST_FUNCTION + f))
  const own = prepare(best.module.bytes).plan.loops.filter(({ functionIndex }) => functionIndex === FIRST_FUNCTION + f)
  for (const loop of own) console.log(`loop at ${loop.offset}: ${describeLoop(loop)}`)
  console.log(describeMismatch(best.mismatch))
}
