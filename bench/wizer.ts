/**
 * Baking against Wizer, which does the same before anything is deployed: real and made modules that both take, by the
 * size of what comes out and the time that it takes; and which constructs each of them refuses.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { distribution, median, ratios } from "../programs/measure/statistics.ts"
import { emitModule } from "../src/binary/emit.ts"
import { decodeModule } from "../src/binary/module.ts"
import { ByteWriter } from "../src/binary/writer.ts"
import { sieve } from "./lib/bake-modules.ts"
import { check, type Instrument } from "./lib/instrument.ts"
import { bakeFile } from "./lib/wizer-bake.ts"
import { constructs, imports } from "./lib/wizer-constructs.ts"

/**
 * One module, baked by both in turn.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModuleSamples {
  readonly bytes: { readonly module: number; readonly wizer: number; readonly folio: number }
  /** Wizer's process. */
  readonly wizerMs: Array<number>
  /** Folio's work, from file to file, in a process that has loaded its code and run none of it. */
  readonly folioMs: Array<number>
  /** Folio's process, with the start of Node.js and the loading of the sources. */
  readonly processMs: Array<number>
}

/**
 * Raw samples.
 *
 * @category models
 * @since 0.1.0
 */
export interface WizerSamples {
  readonly modules: Readonly<Record<string, ModuleSamples>>
  /** What becomes of each construct: `kept`, or why not. */
  readonly constructs: Readonly<Record<string, { readonly wizer: string; readonly folio: string }>>
}

const root = join(import.meta.dirname, "..")

const NAME = `@bytecodealliance/wizer-${process.platform}-${process.arch}`
const peers = join(root, "bench/wizer")
/** The binary itself: a package's own command would start a Node.js in front of it. */
const binary = join(peers, "node_modules", NAME, "wizer")

const install = (): void => {
  if (existsSync(binary)) return
  const npm = spawnSync("npm", ["ci", "--prefer-offline"], { cwd: peers, encoding: "utf8", shell: true })
  if (npm.status !== 0) throw new Error(`Wizer cannot be installed: ${npm.stderr}`)
  if (!existsSync(binary)) throw new Error(`bench/wizer has no ${NAME}: Wizer is measured on linux-x64 only`)
}

/** The module with an export `init` that calls another one and drops what it returns, which Wizer cannot. */
const withInit = (file: string, entry: string): Uint8Array<ArrayBuffer> => {
  const m = decodeModule(new Uint8Array(readFileSync(file)))
  const target = m.exports.find(({ name }) => name === entry)!
  const body = new ByteWriter().u32(0).u8(0x10).u32(target.index).u8(0x1a).u8(0x0b).finish()
  return emitModule(m, {
    types: [{ params: [], results: [] }],
    functions: [{ typeIndex: m.types.length, body }],
    exports: [{ name: "init", kind: "function", index: m.functions.length }]
  })
}

const modules = async (): Promise<Readonly<Record<string, readonly [bytes: Uint8Array, init: string]>>> => {
  const require = createRequire(join(root, "package.json"))
  const plugin = (name: string) => join(require.resolve(`${name}/package.json`), "..", "plugin.wasm")
  return {
    "sieve and square roots, 11 MB of state": [await sieve(), "init"],
    "@dprint/typescript, 4.2 MB of code": [withInit(plugin("@dprint/typescript"), "get_plugin_info"), "init"],
    "@dprint/json, 0.6 MB of code": [withInit(plugin("@dprint/json"), "get_plugin_info"), "init"]
  }
}

const timed = (work: () => void): number => {
  const begin = performance.now()
  work()
  return performance.now() - begin
}

const CHILD = join(root, "bench/lib/wizer-child.ts")

const measureModule = (folder: string, bytes: Uint8Array, init: string, rounds: number): ModuleSamples => {
  const [input, theirs, ours] = ["input", "wizer", "folio"].map((name) => join(folder, `${name}.wasm`)) as [
    string,
    string,
    string
  ]
  writeFileSync(input, bytes)
  const [wizerMs, folioMs, processMs]: [Array<number>, Array<number>, Array<number>] = [[], [], []]
  const run = (command: string, args: ReadonlyArray<string>): string => {
    const { status, stderr, stdout } = spawnSync(command, args, { encoding: "utf8" })
    if (status !== 0) throw new Error(stderr)
    return stdout
  }
  const wizer = () => wizerMs.push(timed(() => run(binary, ["-f", init, input, "-o", theirs])))
  const folio = () =>
    processMs.push(timed(() => folioMs.push(Number(run(process.execPath, [CHILD, input, init, ours])))))
  for (let round = 0; round < rounds; round++) {
    for (const arm of round % 2 === 0 ? [wizer, folio] : [folio, wizer]) arm()
  }
  const size = (file: string): number => statSync(file).size
  return { bytes: { module: bytes.length, wizer: size(theirs), folio: size(ours) }, wizerMs, folioMs, processMs }
}

const stateOf = (bytes: BufferSource): number => {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports())
  return (exports["state"] as () => number)()
}

const measureConstructs = async (folder: string): Promise<WizerSamples["constructs"]> => {
  const [input, output] = [join(folder, "input.wasm"), join(folder, "output.wasm")]
  const found: Record<string, { wizer: string; folio: string }> = {}
  for (const [name, bytes] of await constructs()) {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports())
    ;(exports["init"] as () => void)()
    const wanted = (exports["state"] as () => number)()
    const judge = (bake: () => BufferSource): string => {
      try {
        const state = stateOf(bake())
        return state === wanted ? "kept" : `lost: ${state} and not ${wanted}`
      } catch (error) {
        return String(error instanceof Error ? error.message : error).split("\n")[0]!
      }
    }
    writeFileSync(input, bytes)
    found[name] = {
      wizer: judge(() => {
        const { status, stderr } = spawnSync(binary, ["-f", "init", input, "-o", output], { encoding: "utf8" })
        // The reason stands in its first lines, a trace of the stack behind it.
        const reason = stderr.split(/\n\s*(?:Stack backtrace|Caused by|\d+: )/)[0]!.trim()
        if (status !== 0) throw new Error(reason.slice(0, 160))
        return readFileSync(output)
      }),
      folio: judge(() => bakeFile(bytes, "init", imports()))
    }
  }
  return found
}

/**
 * @category instruments
 * @since 0.1.0
 */
export const instrument: Instrument<WizerSamples> = {
  claim: "what Wizer takes is baked at most 1.01 times as large and in at most 1.5 times its time",
  measure: async ({ quick }) => {
    install()
    const folder = mkdtempSync(join(tmpdir(), "folio-bench-wizer-"))
    try {
      const found = Object.entries(await modules()).map(([name, [bytes, init]]) =>
        [name, measureModule(folder, bytes, init, quick ? 6 : 20)] as const
      )
      return { modules: Object.fromEntries(found), constructs: await measureConstructs(folder) }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
  summarise: ({ constructs, modules }) => {
    const all = Object.values(modules)
    const time = ({ folioMs, wizerMs }: ModuleSamples): number => median(ratios(folioMs, wizerMs))
    const worst = Math.max(...all.map(time))
    const taken = (by: "wizer" | "folio"): ReadonlyArray<string> =>
      Object.entries(constructs).filter(([, one]) => one[by] === "kept").map(([name]) => name)
    const [theirs, ours] = [taken("wizer"), taken("folio")]
    return {
      figure: worst,
      unit: "x the time of Wizer, the worst of the modules",
      checks: [
        check("size against Wizer's, the worst", Math.max(...all.map(({ bytes }) => bytes.folio / bytes.wizer)), {
          atMost: 1.01
        }),
        check("time against Wizer's, the worst", worst, { atMost: 1.5 })
      ],
      rows: {
        ...Object.fromEntries(
          Object.entries(modules).flatMap(([name, one]) => [
            [`${name}: bytes`, one.bytes],
            [`${name}: time against Wizer's`, time(one)],
            [`${name}: Wizer, ms`, distribution(one.wizerMs)],
            [`${name}: Folio, ms`, distribution(one.folioMs)],
            [`${name}: Folio with the start of its process, ms`, distribution(one.processMs)]
          ])
        ),
        "kept by Folio and not by Wizer": ours.filter((name) => !theirs.includes(name)),
        "kept by Wizer and not by Folio": theirs.filter((name) => !ours.includes(name)),
        "kept by both": ours.filter((name) => theirs.includes(name)),
        constructs
      }
    }
  }
}
