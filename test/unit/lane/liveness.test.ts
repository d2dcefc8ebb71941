import * as Fs from "node:fs"
import { Worker } from "node:worker_threads"
import { assert, describe, it } from "vitest"
import { canSeeThreads, currentThread, threadStatus, ThreadWatch } from "../../../layers/node/liveness.ts"

/** A thread that tells its id and then does one thing. */
const thread = async (then: string): Promise<{ id: number; end: () => Promise<unknown> }> => {
  const worker = new Worker(
    `const { parentPort } = require("node:worker_threads")
     parentPort.postMessage(Number(require("node:fs").readlinkSync("/proc/thread-self").split("/").at(-1)))
     ${then}`,
    { eval: true, name: "a (b) R c" }
  )
  const id = await new Promise<number>((resolve) => worker.once("message", resolve))
  return { id, end: () => worker.terminate() }
}

const pollFor = async (watch: ThreadWatch, polls: number): Promise<Array<string>> => {
  const verdicts: Array<string> = []
  for (let poll = 0; poll < polls; poll++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    verdicts.push(watch.poll())
  }
  return verdicts
}

describe("a watched thread", () => {
  it("is alive while it runs, however often one looks", async () => {
    const { end, id } = await thread("for (;;);")
    const watch = new ThreadWatch(id, threadStatus(id)!.startedAt, 3)
    assert.deepStrictEqual(new Set(await pollFor(watch, 20)), new Set(["alive"]))
    await end()
    assert.strictEqual(watch.poll(), "gone")
  })

  it("stands still when it has slept for so many looks, and not before", async () => {
    const { end, id } = await thread("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)")
    while (threadStatus(id)!.runnable) await new Promise((resolve) => setTimeout(resolve, 50))
    const watch = new ThreadWatch(id, threadStatus(id)!.startedAt, 5)
    // The first look only learns how much CPU time it has used.
    assert.deepStrictEqual(await pollFor(watch, 6), ["alive", "alive", "alive", "alive", "alive", "still"])
    watch.reset()
    assert.deepStrictEqual(await pollFor(watch, 1), ["alive"])
    await end()
  })

  it("is gone when another one has its number", () => {
    const id = currentThread()!
    const watch = new ThreadWatch(id, threadStatus(id)!.startedAt - 1, 5)
    assert.strictEqual(watch.poll(), "gone")
  })
})

describe("the status of a thread", () => {
  it("is that of /proc, whatever the thread's name", () => {
    assert.isTrue(canSeeThreads())
    const id = currentThread()!
    assert.isTrue(Fs.readdirSync("/proc/self/task").includes(String(id)))
    const { runnable, startedAt } = threadStatus(id)!
    assert.isTrue(runnable)
    assert.isAbove(startedAt, 0)
    assert.isUndefined(threadStatus(2 ** 30))
  })
})
