/**
 * Programs that the tests of lanes run as child processes. The first argument says which.
 *
 *     <ending>-<lanes>   e.g. natural-parked: ends in a way while a lane is in a state
 *     stopped            is stopped and continued from outside while a lane runs a chunk
 *     report             prints what a group says of itself
 *     quiet              prints whether starting lanes made anything of the program's own
 */
import * as Fs from "node:fs"
import { endless, instantiate, mixing } from "../../bench/fixtures/lanes/chunks.ts"
import { aliasMapping } from "../../layers/node/alias.ts"
import { NodeLanes } from "../../layers/node/lanes.ts"
import { compileOptimised } from "../../layers/node/optimised.ts"
import { FRAME_BYTE } from "../../src/lane/control.ts"
import { nativeCalls } from "./lanes-support.ts"

const mode = process.argv[2]!

/** Written at once and not through `process.stdout`, which would defer it. */
const say = (line: string): void => void Fs.writeSync(1, `${line}\n`)

/** Held until the end, so that no collector ends a group before. */
const groups: Array<NodeLanes> = []

const make = (spinMicroseconds: number): NodeLanes => {
  const group = new NodeLanes({ lanes: 1, oversubscribe: true, spinMicroseconds })
  groups.push(group)
  return group
}

const startOne = (spinMicroseconds: number): NodeLanes => {
  const group = make(spinMicroseconds)
  group.start()
  if (group.waitUntilReady(10_000) !== 1) throw new Error(JSON.stringify(group.report()))
  return group
}

const filled = (pages: number): WebAssembly.Memory => {
  const memory = new WebAssembly.Memory({ initial: pages })
  new Int32Array(memory.buffer).forEach((_, index, words) => words[index] = index)
  return memory
}

const bring = (lanes: string): void => {
  if (lanes === "starting") return make(0).start()
  // Spinning for half an hour is spinning for ever here.
  const group = startOne(lanes === "spinning" ? 2_000_000_000 : 0)
  if (lanes === "spinning") { while (group.hot() === 0); }
  if (lanes !== "busy") return
  const memory = filled(1)
  const mapping = aliasMapping(memory, nativeCalls())
  const kernel = { slot: 0, module: compileOptimised(endless()) }
  if (!mapping.ensure() || !group.load(kernel, mapping)) throw new Error(JSON.stringify(group.report()))
  group.fork(0, 0, 0, 1, FRAME_BYTE)
}

const end = (ending: string): void => {
  process.on("exit", () => say(`bye ${groups.length}`))
  if (ending === "exit") process.exit(3)
  if (ending === "throw") throw new Error("on purpose")
}

const stopped = (): void => {
  const group = startOne(50)
  const memory = filled(16)
  const reference = filled(16)
  const mapping = aliasMapping(memory, nativeCalls())
  const mixes = 4_000
  const kernel = { slot: 0, module: compileOptimised(mixing(mixes)) }
  if (!mapping.ensure() || !group.load(kernel, mapping)) throw new Error(JSON.stringify(group.report()))
  const words = new Int32Array(memory.buffer)
  group.fork(0, kernel.slot, 0, words.length, FRAME_BYTE)
  say("running")
  const result = group.join(0)
  instantiate(kernel.module, reference, group.control)(0, words.length, FRAME_BYTE)
  const equal = Buffer.compare(new Uint8Array(memory.buffer), new Uint8Array(reference.buffer)) === 0
  say(JSON.stringify({ result, equal, ready: group.ready() }))
}

const quiet = (): void => {
  const touched: Array<string> = []
  for (const name of ["stdin", "stdout", "stderr"] as const) {
    const original = Object.getOwnPropertyDescriptor(process, name)!
    Object.defineProperty(process, name, {
      ...original,
      get: () => {
        touched.push(name)
        return original.get!.call(process)
      }
    })
  }
  const group = startOne(50)
  say(JSON.stringify({ touched, ready: group.ready() }))
}

if (mode === "stopped") stopped()
else if (mode === "quiet") quiet()
else if (mode === "report") {
  const group = new NodeLanes({ lanes: 3 })
  group.start()
  group.waitUntilReady(10_000)
  say(JSON.stringify(group.report()))
} else {
  const [ending, lanes] = mode.split("-")
  bring(lanes!)
  end(ending!)
}
