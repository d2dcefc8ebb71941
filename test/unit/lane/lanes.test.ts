import { afterEach, assert, describe, it } from "vitest"
import { empty } from "../../../bench/fixtures/lanes/chunks.ts"
import { cpuBudget } from "../../../layers/node/cpu.ts"
import { NodeLanes, type NodeLanesOptions } from "../../../layers/node/lanes.ts"
import { sharedMapping } from "../../../layers/node/shared.ts"
import { FRAME_BYTE, laneWord, Word } from "../../../src/lane/control.ts"
import { census, nativeCalls, nothingLeft } from "../../faults/lanes-support.ts"

const { allowed, width } = cpuBudget()
const groups: Array<NodeLanes> = []

const make = (options: NodeLanesOptions): NodeLanes => {
  const group = new NodeLanes(options)
  groups.push(group)
  group.start()
  return group
}

afterEach(async () => {
  for (const group of groups.splice(0)) await group.close()
  assert.deepStrictEqual(census(), nothingLeft)
})

const word = (group: NodeLanes, lane: number, index: number): number =>
  Atomics.load(new Int32Array(group.control.buffer), laneWord(lane, index))

const until = (condition: () => boolean): void => {
  const never = new Int32Array(new SharedArrayBuffer(4))
  for (let round = 0; !condition(); round++) {
    if (round === 10_000) throw new Error("waited in vain")
    Atomics.wait(never, 0, 0, 1)
  }
}

describe("lanes", () => {
  it("are counted from the start, and ready when they have come up", () => {
    const group = new NodeLanes({ lanes: 2, oversubscribe: true })
    groups.push(group)
    assert.deepStrictEqual([group.count, group.ready()], [2, 0])
    group.start()
    group.start()
    assert.strictEqual(group.waitUntilReady(10_000), 2)
    assert.strictEqual(census().threads, 2)
    assert.isAbove(word(group, 0, Word.TID), 0)
    assert.notStrictEqual(word(group, 0, Word.TID), word(group, 1, Word.TID))
  })

  it("are at most as many as the control words have room for, and may be none", () => {
    assert.strictEqual(new NodeLanes({ lanes: 1_000, oversubscribe: true }).count, 32)
    const none = make({ lanes: 0 })
    assert.deepStrictEqual([none.count, none.waitUntilReady(10), none.report().reasons], [0, 0, []])
  })

  it("hear commands asleep and awake alike", () => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
    const mapping = sharedMapping(memory, "shared-fixed")
    const kernel = { slot: 3, module: new WebAssembly.Module(empty({ pages: 1 })) }
    const asleep = make({ lanes: 1, oversubscribe: true, spinMicroseconds: 0 })
    asleep.waitUntilReady(10_000)
    for (let round = 0; round < 200; round++) {
      assert.isTrue(asleep.load(kernel, mapping))
      asleep.fork(0, kernel.slot, 0, 0, FRAME_BYTE)
      assert.strictEqual(asleep.join(0), "done")
      assert.strictEqual(asleep.hot(), 0)
    }
    asleep.unload([kernel.slot], [mapping.id])
    asleep.fork(0, kernel.slot, 0, 0, FRAME_BYTE)
    assert.strictEqual(asleep.join(0), "trap", "an unloaded kernel is not run")
  })

  it.skipIf(width < 2)("poll while they wait, and are bound to a CPU of their own while the owner is not", () => {
    const calls = nativeCalls()
    const group = make({ lanes: 1, spinMicroseconds: 2 ** 40 })
    assert.strictEqual(group.waitUntilReady(10_000), 1)
    until(() => group.hot() === 1)
    const { placed, reasons, spins } = group.report()
    assert.deepStrictEqual({ placed, reasons, spins }, { placed: true, reasons: [], spins: true })
    const thread = word(group, 0, Word.TID)
    for (let round = 0; round < 5; round++) {
      const [cpu, ...others] = calls.getAffinity(thread)!
      assert.deepStrictEqual(others, [])
      assert.isTrue(allowed!.includes(cpu!))
      assert.deepStrictEqual(calls.getAffinity(0), [...allowed!])
      assert.isTrue(group.replace(0))
    }
  })

  it.skipIf(width < 2)("follow when the owner comes to their CPU", () => {
    const calls = nativeCalls()
    const group = make({ lanes: 1 })
    group.waitUntilReady(10_000)
    const thread = word(group, 0, Word.TID)
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
    const kernel = { slot: 0, module: new WebAssembly.Module(empty({ pages: 1 })) }
    assert.isTrue(group.load(kernel, sharedMapping(memory, "shared-fixed")))
    try {
      for (const cpu of [allowed![0]!, allowed![1]!, allowed![0]!]) {
        assert.isTrue(calls.setAffinity(0, [cpu]))
        group.fork(0, kernel.slot, 0, 0, FRAME_BYTE)
        assert.strictEqual(group.join(0), "done")
        assert.notStrictEqual(calls.getAffinity(thread)![0], cpu)
        until(() => word(group, 0, Word.CPU) === calls.getAffinity(thread)![0])
        group.fork(0, kernel.slot, 0, 0, FRAME_BYTE)
        assert.strictEqual(group.join(0), "done")
      }
    } finally {
      calls.setAffinity(0, allowed!)
    }
  })

  it.skipIf(width < 2)("are shared out between owners of one process, and come back", async () => {
    const first = make({ lanes: width })
    assert.strictEqual(first.count, width - 1)
    assert.match(first.report().reasons[0]!, /: \d+$/)
    const second = make({ lanes: 1 })
    assert.strictEqual(second.count, 0)
    assert.deepStrictEqual(second.report().reasons, ["other owners of this process hold the lanes"])
    await first.close()
    assert.strictEqual(make({ lanes: 1 }).count, 1)
  })
})
