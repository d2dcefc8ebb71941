/**
 * The shared rungs: one `WebAssembly.Memory` in several threads.
 */
import { Worker } from "node:worker_threads"
import { afterEach, assert, describe, it } from "vitest"
import { counting, doubling, instantiate } from "../../bench/fixtures/lanes/chunks.ts"
import { NodeLanes } from "../../layers/node/lanes.ts"
import { compileOptimised } from "../../layers/node/optimised.ts"
import { sharedMapping } from "../../layers/node/shared.ts"
import { FRAME_BYTE } from "../../src/lane/control.ts"
import { census, nothingLeft } from "../faults/lanes-support.ts"

const groups: Array<NodeLanes> = []

const open = (lanes: number): NodeLanes => {
  const group = new NodeLanes({ lanes, oversubscribe: true })
  groups.push(group)
  group.start()
  assert.strictEqual(group.waitUntilReady(10_000), lanes)
  return group
}

afterEach(async () => {
  for (const group of groups.splice(0)) await group.close()
  assert.deepStrictEqual(census(), nothingLeft)
})

describe("a shared memory", () => {
  it("counts 40,000 atomic additions exactly beside plain stores", () => {
    const pages = 4
    const group = open(3)
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
    const mapping = sharedMapping(memory, "shared-fixed")
    const kernel = { slot: 0, module: compileOptimised(counting(pages)) }
    assert.isTrue(mapping.ensure() && group.load(kernel, mapping))
    const own = instantiate(kernel.module, memory, group.control)
    const share = 10_000
    for (let lane = 0; lane < 3; lane++) group.fork(lane, kernel.slot, lane * share, share, FRAME_BYTE)
    own(3 * share, share, FRAME_BYTE)
    for (let lane = 0; lane < 3; lane++) assert.strictEqual(group.join(lane), "done")
    const words = new Int32Array(memory.buffer)
    assert.strictEqual(words[0], 40_000)
    assert.isTrue(words.subarray(16, 16 + 40_000).every((word, index) => word === index + 1))
    assert.isTrue(words.subarray(16 + 40_000).every((word) => word === 0))
  })

  it("grows for everybody at once, zero-filled, whoever grows it", () => {
    const group = open(1)
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 3, shared: true })
    const mapping = sharedMapping(memory, "shared-given")
    const kernel = { slot: 0, module: compileOptimised(doubling(0, { pages: 3 })) }
    assert.isTrue(mapping.ensure() && group.load(kernel, mapping))
    new Int32Array(memory.buffer).fill(1)
    const before = memory.buffer
    memory.grow(2)
    assert.strictEqual(mapping.mappedBytes, 3 * 65536)
    const words = new Int32Array(memory.buffer)
    words[words.length - 1] = 4
    assert.isTrue(mapping.ensure() && group.load(kernel, mapping))
    group.fork(0, kernel.slot, 0, words.length, FRAME_BYTE)
    assert.strictEqual(group.join(0), "done")
    assert.strictEqual(before.byteLength, 65536, "an old view keeps its length")
    assert.isTrue(
      words.every((word, index) => word === (index < 16384 ? 2 : index === words.length - 1 ? 8 : 0))
    )
  })

  it("outlives the thread that made it", async () => {
    const creator = new Worker(new URL("creator.ts", import.meta.url), { workerData: "shared" })
    const memory = await new Promise<WebAssembly.Memory>((resolve, reject) => {
      creator.once("message", resolve)
      creator.once("error", reject)
    })
    await creator.terminate()
    const group = open(1)
    const mapping = sharedMapping(memory, "shared-given")
    const kernel = { slot: 0, module: compileOptimised(doubling(0, { pages: 4 })) }
    assert.isTrue(mapping.ensure() && group.load(kernel, mapping))
    group.fork(0, kernel.slot, 9, 1, FRAME_BYTE)
    assert.strictEqual(group.join(0), "done")
    assert.deepStrictEqual([...new Int32Array(memory.buffer, 32, 3)], [64, 162, 100])
  })

  it("is refused where the memory is not shared", () => {
    const mapping = sharedMapping(new WebAssembly.Memory({ initial: 1 }), "shared-fixed")
    assert.isFalse(mapping.ensure())
    assert.strictEqual(mapping.reason, "the memory is not shared")
  })
})
