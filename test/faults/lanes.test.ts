/**
 * What can happen to a lane. One test a row: what goes wrong, what the owner is told, what is left behind, and what
 * bounds the wait (the watchdog of the child process, or the owner's own patience).
 */
import { channel } from "node:diagnostics_channel"
import * as Fs from "node:fs"
import { Worker } from "node:worker_threads"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import {
  counting,
  doubling,
  endless,
  instantiate,
  mixing,
  sleeping,
  trapping
} from "../../bench/fixtures/lanes/chunks.ts"
import { type AliasMapping, aliasMapping } from "../../layers/node/alias.ts"
import { laneSource } from "../../layers/node/lane-host.ts"
import { NodeLanes, type NodeLanesOptions } from "../../layers/node/lanes.ts"
import { compileOptimised } from "../../layers/node/optimised.ts"
import { FRAME_BYTE } from "../../src/lane/control.ts"
import type { Kernel } from "../../src/lane/lanes.ts"
import { census, nativeCalls, nothingLeft, settle, startChild } from "./lanes-support.ts"

const calls = nativeCalls()
const groups: Array<NodeLanes> = []
let workers: Array<Worker> = []
const created = (message: unknown): void => void workers.push((message as { worker: Worker }).worker)

beforeEach(() => {
  workers = []
  channel("worker_threads").subscribe(created)
})

afterEach(async () => {
  channel("worker_threads").unsubscribe(created)
  for (const group of groups.splice(0)) await group.close()
  assert.deepStrictEqual(await settle(nothingLeft), nothingLeft)
})

const begin = (options: Partial<NodeLanesOptions> = {}): NodeLanes => {
  const group = new NodeLanes({ lanes: 1, oversubscribe: true, ...options })
  groups.push(group)
  group.start()
  return group
}

interface Stage {
  readonly group: NodeLanes
  readonly memory: WebAssembly.Memory
  readonly words: Int32Array
  readonly mapping: AliasMapping
  readonly kernel: Kernel
}

const stage = (chunk: Uint8Array<ArrayBuffer>, options: Partial<NodeLanesOptions> = {}): Stage => {
  const group = begin(options)
  assert.strictEqual(group.waitUntilReady(10_000), options.lanes ?? 1)
  const memory = new WebAssembly.Memory({ initial: 4 })
  const words = new Int32Array(memory.buffer)
  words.forEach((_, index) => words[index] = index + 1)
  const mapping = aliasMapping(memory, calls)
  const kernel = { slot: 0, module: compileOptimised(chunk) }
  assert.isTrue(mapping.ensure() && group.load(kernel, mapping))
  return { group, memory, words, mapping, kernel }
}

/** Runs the whole memory in the lane and compares with the same chunk on one thread. */
const worksExactly = ({ group, kernel, mapping, memory }: Stage): void => {
  const alone = new WebAssembly.Memory({ initial: memory.buffer.byteLength / 65536 })
  new Uint8Array(alone.buffer).set(new Uint8Array(memory.buffer))
  assert.isTrue(group.ready() > 0 && mapping.ensure() && group.load(kernel, mapping))
  const count = memory.buffer.byteLength / 4
  group.fork(0, kernel.slot, 0, count, FRAME_BYTE)
  assert.strictEqual(group.join(0), "done")
  instantiate(kernel.module, alone, group.control)(0, count, FRAME_BYTE)
  assert.strictEqual(Buffer.compare(new Uint8Array(memory.buffer), new Uint8Array(alone.buffer)), 0)
}

const until = (condition: () => boolean): void => {
  const never = new Int32Array(new SharedArrayBuffer(4))
  for (let round = 0; !condition(); round++) {
    if (round === 10_000) throw new Error("waited in vain")
    Atomics.wait(never, 0, 0, 1)
  }
}

describe("a lane that does not start", () => {
  for (
    const [name, options, reason] of [
      ["whose program is broken", { source: "this is no program" }, /Unexpected identifier/],
      ["whose program throws", { source: "throw new Error('not today')" }, /not today/],
      ["that speaks another version", {
        source: laneSource().replace(/"CONTROL_VERSION":\d+/, `"CONTROL_VERSION":99`)
      }, /version 1 where 99/],
      ["that runs out of memory", {
        source:
          "const all = []; const more = () => { all.push(new Array(50_000).fill(all.length)); setImmediate(more) }; more()",
        resourceLimits: { maxOldGenerationSizeMb: 8 }
      }, /memory/]
    ] as const
  ) {
    it(`${name} is data: refused, no lanes, nothing thrown`, async () => {
      const group = begin(options)
      // Its end is told to the event loop.
      for (let round = 0; group.count > 0 && round < 1_000; round++) {
        await new Promise((resolve) => setTimeout(resolve, 10))
        group.ready()
      }
      assert.strictEqual(group.ready(), 0)
      assert.strictEqual(group.count, 0)
      const [lane] = group.report().lanes
      assert.strictEqual(lane!.state, "refused")
      assert.match(lane!.reason!, reason)
      until(() => census().threads === 0)
    })
  }

  it("that comes up too late is refused after the time allowed, also while the event loop stands", () => {
    const group = begin({
      source: "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
      startMilliseconds: 200
    })
    assert.strictEqual(group.waitUntilReady(10_000), 0)
    assert.deepStrictEqual(group.report().lanes.map(({ reason, state }) => ({ reason, state })), [
      { state: "refused", reason: "the thread did not come up in time" }
    ])
    assert.strictEqual(group.count, 0)
  })

  it("leaves the others at work", () => {
    const { group, kernel, mapping, memory, words } = stage(doubling(0), { lanes: 2 })
    void workers[0]!.terminate()
    until(() => census().threads === 1)
    group.fork(0, kernel.slot, 0, words.length, FRAME_BYTE)
    assert.strictEqual(group.join(0), "lost")
    assert.strictEqual(group.ready(), 1)
    worksExactly({ group, kernel, mapping, memory, words })
  })
})

describe("a lane that dies", () => {
  it("inside a chunk of a[i] *= 2 is lost; the owner's memory lives on with part of the work", async () => {
    const { group, kernel, mapping, memory, words } = stage(doubling(20_000))
    group.fork(0, kernel.slot, 0, words.length, FRAME_BYTE)
    until(() => words[8] === 18)
    void workers[0]!.terminate()
    assert.strictEqual(group.join(0), "lost")
    // The thread has ended, so nothing is written behind the owner's back from here on.
    assert.strictEqual(census().threads, 0)
    const doubled = words.findIndex((word, index) => word !== 2 * (index + 1))
    assert.isTrue(doubled > 8 && doubled < words.length)
    assert.isTrue(words.subarray(doubled).every((word, index) => word === doubled + index + 1))
    assert.strictEqual(group.ready(), 0)
    assert.strictEqual(group.count, 0)
    assert.isFalse(group.load(kernel, mapping), "nobody is left to load it")
    assert.match(group.report().lanes[0]!.reason!, /gone/)

    memory.grow(1)
    new Int32Array(memory.buffer)[words.length + 70_000] = 6
    const again = begin()
    assert.strictEqual(again.waitUntilReady(10_000), 1)
    worksExactly({ group: again, kernel: { slot: 0, module: compileOptimised(doubling(0)) }, mapping, memory, words })
    assert.strictEqual(census().descriptors, 1)
  })

  it("between two chunks is lost at the next one, with nothing written", () => {
    const { group, kernel, words } = stage(doubling(0))
    void workers[0]!.terminate()
    until(() => census().threads === 0)
    group.fork(0, kernel.slot, 0, words.length, FRAME_BYTE)
    assert.strictEqual(group.join(0), "lost")
    assert.isTrue(words.every((word, index) => word === index + 1))
  })

  it("is noticed by the event loop when nobody waits for it", async () => {
    const { group } = stage(doubling(0))
    await workers[0]!.terminate()
    assert.strictEqual(group.ready(), 0)
    assert.match(group.report().lanes[0]!.reason!, /ended with code/)
  })

  it("before a kernel is handed over makes the hand-over fail", () => {
    const { group, mapping } = stage(doubling(0))
    void workers[0]!.terminate()
    until(() => census().threads === 0)
    assert.isFalse(group.load({ slot: 1, module: compileOptimised(mixing(2)) }, mapping))
    assert.strictEqual(group.ready(), 0)
  })
})

describe("an owner that is ended from outside", () => {
  it("takes its lanes, mappings and descriptors with it", async () => {
    const owner = new Worker(new URL("lanes-owner.ts", import.meta.url))
    const ready = await new Promise<number>((resolve, reject) => {
      owner.once("message", resolve)
      owner.once("error", reject)
    })
    assert.strictEqual(ready, 2)
    assert.deepStrictEqual(census(), { threads: 2, mappings: 3, descriptors: 1 })
    await owner.terminate()
    assert.deepStrictEqual(census(), nothingLeft)
  })
})

describe("a lane that gets stuck", () => {
  it("asleep inside a chunk stands still: it is ended, then lost", () => {
    const { group, kernel, words } = stage(sleeping())
    group.fork(0, kernel.slot, 0, 4, FRAME_BYTE)
    assert.strictEqual(group.join(0), "lost")
    assert.strictEqual(census().threads, 0)
    assert.match(group.report().lanes[0]!.reason!, /stands still/)
    assert.isTrue(words.every((word, index) => word === index + 1))
  })

  it("in an endless chunk does not hold up the end of the group", async () => {
    const { group, kernel } = stage(endless())
    group.fork(0, kernel.slot, 0, 4, FRAME_BYTE)
    until(() => group.hot() === 0)
    await group.close()
    assert.strictEqual(census().threads, 0)
    assert.deepStrictEqual(group.report().lanes.map(({ state }) => state), ["stopped"])
  })

  it("because the whole process is stopped for 3 s is not lost, and every byte is right", async () => {
    const child = startChild("stopped")
    await child.line("running")
    child.process.kill("SIGSTOP")
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    assert.match(Fs.readFileSync(`/proc/${child.process.pid}/stat`, "utf8"), /\) T /)
    child.process.kill("SIGCONT")
    const { code, stderr, stdout } = await child.ended
    assert.strictEqual(stderr, "")
    assert.strictEqual(code, 0)
    assert.deepStrictEqual(JSON.parse(stdout.split("\n")[1]!), { result: "done", equal: true, ready: 1 })
  })
})

describe("a chunk that traps", () => {
  it("is told as a trap, and the lane goes on", () => {
    const scene = stage(trapping())
    scene.group.fork(0, 0, 0, 4, FRAME_BYTE)
    assert.strictEqual(scene.group.join(0), "trap")
    worksExactly({ ...scene, kernel: { slot: 1, module: compileOptimised(doubling(0)) } })
  })

  it("because it reaches beyond the memory, traps in the lane as it would at the owner", () => {
    const { group, kernel, words } = stage(doubling(0))
    group.fork(0, kernel.slot, words.length - 2, 3, FRAME_BYTE)
    assert.strictEqual(group.join(0), "trap")
    assert.deepStrictEqual([...words.subarray(-3)], [words.length - 2, 2 * (words.length - 1), 2 * words.length])
  })
})

describe("a kernel that a lane cannot take", () => {
  it("is refused with the lane's own words; other kernels work", () => {
    const scene = stage(doubling(0))
    const empty = new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))
    assert.isFalse(scene.group.load({ slot: 5, module: empty }, scene.mapping))
    assert.deepStrictEqual(scene.group.report().reasons, ["the chunk module exports no function run"])
    assert.isFalse(scene.group.load({ slot: 5, module: compileOptimised(counting(1)) }, scene.mapping))
    assert.match(scene.group.report().reasons[1]!, /Import #0 "folio" "memory"/)
    worksExactly(scene)
  })

  it("because its file is gone is refused, and taken when there is one again", () => {
    const scene = stage(doubling(0))
    const memory = new WebAssembly.Memory({ initial: 1 })
    const mapping = aliasMapping(memory, calls)
    assert.isTrue(mapping.ensure())
    const kernel = { slot: 9, module: scene.kernel.module }
    const broken: AliasMapping = Object.create(mapping, {
      descriptor: { value: () => ({ rung: "alias", fd: 999_999, bytes: mapping.mappedBytes }) },
      id: { value: mapping.id },
      mappedBytes: { value: mapping.mappedBytes },
      release: { value: () => mapping.release() }
    })
    assert.isFalse(scene.group.load(kernel, broken))
    assert.deepStrictEqual(scene.group.report().reasons, ["mmap failed"])
    worksExactly({ ...scene, kernel, mapping, memory })
    worksExactly(scene)
  })
})

describe("the CPUs", () => {
  it("being only one, there are no lanes and the report says why", async () => {
    const child = startChild("report", { command: ["taskset", "-c", "0"] })
    const { code, stderr, stdout } = await child.ended
    assert.strictEqual(stderr, "")
    assert.strictEqual(code, 0)
    assert.deepStrictEqual(JSON.parse(stdout), {
      asked: 3,
      count: 0,
      ready: 0,
      spins: false,
      placed: false,
      reasons: ["CPUs allowed to this thread: 1"],
      lanes: []
    })
  })

  it("being fewer than lanes and owner, nobody spins", () => {
    const { group } = stage(doubling(0), { lanes: 8 })
    until(() => group.hot() === 0)
    const { placed, spins } = group.report()
    assert.deepStrictEqual({ placed, spins }, { placed: false, spins: false })
  })
})

describe("a group", () => {
  it("that is forgotten ends its threads", async () => {
    const forget = (): void => {
      const group = new NodeLanes({ lanes: 2, oversubscribe: true })
      group.start()
      assert.strictEqual(group.waitUntilReady(10_000), 2)
    }
    forget()
    assert.deepStrictEqual(await settle(nothingLeft), nothingLeft)
  })

  it("can be closed at any time, twice, and before it was started", async () => {
    const group = begin({ lanes: 2 })
    await Promise.all([group.close(), group.close()])
    assert.strictEqual(group.ready(), 0)
    assert.strictEqual(census().threads, 0)
    const unused = new NodeLanes({ lanes: 2, oversubscribe: true })
    await unused.close()
    unused.start()
    assert.strictEqual(unused.ready(), 0)
  })
})
