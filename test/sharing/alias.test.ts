/**
 * The alias rung: an owned memory and the memories of lanes are the same bytes, and each side outlives the other.
 */
import { Worker } from "node:worker_threads"
import { afterEach, assert, describe, it } from "vitest"
import { doubling, instantiate } from "../../bench/fixtures/lanes/chunks.ts"
import { aliasMapping } from "../../layers/node/alias.ts"
import { NodeLanes } from "../../layers/node/lanes.ts"
import { compileOptimised } from "../../layers/node/optimised.ts"
import { FRAME_BYTE } from "../../src/lane/control.ts"
import { census, nativeCalls, nothingLeft, settle } from "../faults/lanes-support.ts"

const calls = nativeCalls()
const pageWords = 16384
const groups: Array<NodeLanes> = []

const open = (lanes = 1): NodeLanes => {
  const group = new NodeLanes({ lanes, oversubscribe: true })
  groups.push(group)
  group.start()
  assert.strictEqual(group.waitUntilReady(10_000), lanes)
  return group
}

afterEach(async () => {
  for (const group of groups.splice(0)) await group.close()
  assert.deepStrictEqual(await settle(nothingLeft), nothingLeft)
})

const counted = (pages: number, maximum?: number): WebAssembly.Memory => {
  const memory = new WebAssembly.Memory(maximum === undefined ? { initial: pages } : { initial: pages, maximum })
  new Int32Array(memory.buffer).forEach((_, index, words) => words[index] = index)
  return memory
}

describe("an aliased memory", () => {
  it("is the same bytes for owner and lane, in both directions", () => {
    const group = open()
    const memory = counted(4)
    const words = new Int32Array(memory.buffer)
    const mapping = aliasMapping(memory, calls)
    const kernel = { slot: 7, module: compileOptimised(doubling(0)) }
    assert.isTrue(mapping.ensure())
    assert.isTrue(group.load(kernel, mapping))

    group.fork(0, kernel.slot, 0, words.length / 2, FRAME_BYTE)
    assert.strictEqual(group.join(0), "done")
    assert.isTrue(words.every((word, index) => word === (index < words.length / 2 ? 2 * index : index)))

    // What the owner writes afterwards, from JavaScript and from its own instance, the lane sees.
    words[3] = 1000
    instantiate(kernel.module, memory, group.control)(4, 1, FRAME_BYTE)
    group.fork(0, kernel.slot, 3, 2, FRAME_BYTE)
    assert.strictEqual(group.join(0), "done")
    assert.deepStrictEqual([...words.subarray(2, 6)], [4, 2000, 32, 10])
  })

  it("stays what it was for the program: buffer object, kind, growth, detachment", () => {
    const memory = counted(2, 8)
    const buffer = memory.buffer
    assert.isTrue(aliasMapping(memory, calls).ensure())
    assert.strictEqual(memory.buffer, buffer)
    assert.instanceOf(memory.buffer, ArrayBuffer)
    assert.strictEqual(memory.grow(3), 2)
    assert.isTrue(buffer.detached)
    assert.strictEqual(memory.buffer.byteLength, 5 * 65536)
    assert.throws(() => memory.grow(4), RangeError)
    assert.isTrue(new Int32Array(memory.buffer).every((word, index) => word === (index < 2 * pageWords ? index : 0)))
  })

  it("grows for the lane too: zero-filled, with what the owner wrote meanwhile, at the lane's old kernels", () => {
    const group = open()
    const memory = counted(1)
    const mapping = aliasMapping(memory, calls)
    const kernel = { slot: 1, module: compileOptimised(doubling(0)) }
    const identity = mapping.id
    for (let round = 0; round < 4; round++) {
      assert.isTrue(mapping.ensure() && group.load(kernel, mapping))
      const words = new Int32Array(memory.buffer).fill(5)
      const before = words.length
      group.fork(0, kernel.slot, 0, before, FRAME_BYTE)
      assert.strictEqual(group.join(0), "done")
      assert.isTrue(words.every((word) => word === 10))
      memory.grow(1 + round)
      // Before the tail is mapped the owner may have written to it.
      new Int32Array(memory.buffer)[before + 1] = 21
      assert.isTrue(mapping.ensure() && group.load(kernel, mapping))
      const grown = new Int32Array(memory.buffer)
      group.fork(0, kernel.slot, before, grown.length - before, FRAME_BYTE)
      assert.strictEqual(group.join(0), "done")
      const expected = (index: number): number => index < before ? 10 : index === before + 1 ? 42 : 0
      assert.isTrue(grown.every((word, index) => word === expected(index)))
    }
    assert.strictEqual(mapping.id, identity + 1, "one adoption, whatever the growth")
    assert.deepStrictEqual(census(), { threads: 1, mappings: 2, descriptors: 1 })
    assert.isTrue(mapping.ensure())
  })

  it("is one mapping for all instances that use the memory, and none for an empty or shared one", () => {
    const memory = counted(1)
    assert.strictEqual(aliasMapping(memory, calls), aliasMapping(memory, calls))
    const empty = aliasMapping(new WebAssembly.Memory({ initial: 0 }), calls)
    assert.isFalse(empty.ensure())
    assert.strictEqual(empty.reason, "the memory is empty")
    const shared = aliasMapping(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }), calls)
    assert.isFalse(shared.ensure())
    assert.strictEqual(shared.reason, "the memory is shared")
  })

  it("keeps holes: an untouched memory costs no pages of the file", () => {
    const memory = new WebAssembly.Memory({ initial: 4096 })
    const touched = new Uint8Array(memory.buffer)
    touched[100 * 65536 + 9] = 1
    touched[touched.length - 1] = 2
    const transferred: Array<number> = []
    const mapping = aliasMapping(memory, {
      ...calls,
      pwrite: (fd, address, bytes, offset) => {
        transferred.push(offset, bytes)
        return calls.pwrite(fd, address, bytes, offset)
      }
    })
    assert.isTrue(mapping.ensure())
    assert.deepStrictEqual(transferred, [100 * 65536, 65536, 4095 * 65536, 65536])
    const bytes = new Uint8Array(memory.buffer)
    assert.deepStrictEqual([bytes[100 * 65536 + 9], bytes[bytes.length - 1], bytes[5]], [1, 2, 0])
  })

  it("can be let go and adopted again, and lanes follow", () => {
    const group = open()
    const memory = counted(1)
    const mapping = aliasMapping(memory, calls)
    const kernel = { slot: 1, module: compileOptimised(doubling(0)) }
    for (let round = 1; round <= 3; round++) {
      assert.isTrue(mapping.ensure() && group.load(kernel, mapping))
      group.fork(0, kernel.slot, 0, 8, FRAME_BYTE)
      assert.strictEqual(group.join(0), "done")
      assert.strictEqual(new Int32Array(memory.buffer)[7], 7 << round)
      mapping.release()
      assert.strictEqual(census().descriptors, 0)
    }
  })

  it("stays the program's own when the group closes: no descriptor, same bytes, growth", async () => {
    const group = open()
    const memory = counted(1)
    const mapping = aliasMapping(memory, calls)
    const kernel = { slot: 1, module: compileOptimised(doubling(0)) }
    assert.isTrue(mapping.ensure() && group.load(kernel, mapping))
    await group.close()
    assert.deepStrictEqual(census(), { threads: 0, mappings: 1, descriptors: 0 })
    memory.grow(1)
    assert.isTrue(
      new Int32Array(memory.buffer).every((word, index) => word === (index < pageWords ? index : 0))
    )
  })

  it("outlives the thread that made it, for those who attached", async () => {
    const creator = new Worker(new URL("creator.ts", import.meta.url), { workerData: "alias" })
    const { descriptor, ask } = await speakTo(creator)
    // Another thread maps the same file by its number, here with the calls themselves.
    const memory = new WebAssembly.Memory({ initial: descriptor.bytes / 65536 })
    const address = calls.address(memory.buffer)
    assert.strictEqual(calls.mmap(address, descriptor.bytes, 3, 0x11, descriptor.fd, 0), address)
    const words = new Int32Array(memory.buffer)
    assert.strictEqual(words[9], 81)
    words[10] = 4711
    assert.strictEqual(await ask(10), 4711)
    await creator.terminate()
    assert.strictEqual(census().descriptors, 0, "the creator's descriptor ended with it")
    assert.strictEqual(words[9], 81)
    words[9]++
    assert.strictEqual(words[9], 82)
    // Unmapped here, before the memory is collected, so that the census is exact.
    assert.strictEqual(calls.mmap(address, descriptor.bytes, 3, 0x32, -1, 0), address)
  })

  it("leaves nothing behind after 120 adoptions with growth and three lanes", async () => {
    const group = open(3)
    const kernel = { slot: 1, module: compileOptimised(doubling(0)) }
    const cycle = (round: number): void => {
      const memory = counted(16, 64)
      const mapping = aliasMapping(memory, calls)
      const run = (): void => {
        assert.isTrue(mapping.ensure() && group.load(kernel, mapping))
        const words = new Int32Array(memory.buffer)
        const share = words.length / 4
        for (let lane = 0; lane < 3; lane++) group.fork(lane, kernel.slot, lane * share, share, FRAME_BYTE)
        instantiate(kernel.module, memory, group.control)(3 * share, share, FRAME_BYTE)
        for (let lane = 0; lane < 3; lane++) assert.strictEqual(group.join(lane), "done")
      }
      run()
      if (round % 3 === 0) {
        memory.grow(4)
        run()
      }
      const words = new Int32Array(memory.buffer)
      const factor = round % 3 === 0 ? 4 : 2
      assert.isTrue(words.every((word, index) => word === (index < 16 * pageWords ? factor * index : 0)))
    }
    for (let round = 0; round < 120; round++) {
      cycle(round)
      // The event loop turns: memories are collected, and lanes told to forget them.
      if (round % 10 === 0) await settle({ threads: 3, mappings: 0, descriptors: 0 })
    }
    const left = { threads: 3, mappings: 0, descriptors: 0 }
    assert.deepStrictEqual(await settle(left), left)
  })
})

/** A creator posts what it has to share, and answers with the word at an index. */
const speakTo = async (
  worker: Worker
): Promise<{ descriptor: { fd: number; bytes: number }; ask: (index: number) => Promise<number> }> => {
  const next = (): Promise<never> =>
    new Promise((resolve, reject) => {
      worker.once("message", resolve)
      worker.once("error", reject)
    })
  const descriptor: { fd: number; bytes: number } = await next()
  return {
    descriptor,
    ask: (index) => {
      const answer = next()
      worker.postMessage(index)
      return answer
    }
  }
}
