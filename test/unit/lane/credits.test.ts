import { Worker } from "node:worker_threads"
import { assert, describe, it } from "vitest"
import { acquireCredits, MAXIMUM_OWNERS, processCredits } from "../../../layers/node/credits.ts"

const account = (): Int32Array<SharedArrayBuffer> => new Int32Array(new SharedArrayBuffer(processCredits().byteLength))

describe("credits", () => {
  it("never exceed the limit over all owners, and come back", () => {
    const shared = account()
    const first = acquireCredits(2, 3, shared)
    const second = acquireCredits(2, 3, shared)
    const third = acquireCredits(2, 3, shared)
    assert.deepStrictEqual([first.lanes, second.lanes, third.lanes], [2, 1, 0])
    first.release(1)
    assert.strictEqual(acquireCredits(5, 3, shared).lanes, 1)
    first.release(5)
    first.release(5)
    second.release(1)
    assert.strictEqual(acquireCredits(9, 3, shared).lanes, 2)
  })

  it("need one slot an owner, and run out of slots before they run over", () => {
    const shared = account()
    const all = Array.from({ length: MAXIMUM_OWNERS }, () => acquireCredits(1, 1_000, shared))
    assert.isTrue(all.every(({ lanes }) => lanes === 1))
    assert.strictEqual(acquireCredits(1, 1_000, shared).lanes, 0)
    all[17]!.release(1)
    assert.strictEqual(acquireCredits(1, 1_000, shared).lanes, 1)
  })

  it("are one account for threads made afterwards, and an owner that is ended gives back", async () => {
    assert.strictEqual(processCredits().buffer, processCredits().buffer)
    const limit = 7
    const mine = acquireCredits(3, limit)
    const worker = new Worker(new URL("owner.ts", import.meta.url), { workerData: { asked: 9, limit } })
    const theirs = await new Promise<number>((resolve, reject) => {
      worker.once("message", resolve)
      worker.once("error", reject)
    })
    assert.deepStrictEqual([mine.lanes, theirs], [3, 4])
    assert.strictEqual(acquireCredits(1, limit).lanes, 0)
    await worker.terminate()
    const again = acquireCredits(9, limit)
    assert.strictEqual(again.lanes, 4)
    again.release(4)
    mine.release(3)
  })
})
