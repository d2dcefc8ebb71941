/**
 * What the operating system tells of written pages, exactly.
 */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { kernelTracker, kernelTrackingRefusal } from "../../../layers/node/reset-kernel.ts"

const PAGE = 4_096

/** Kilobytes of anonymous memory that this process has in use. */
const anonymous = (): number =>
  Number(/^Anonymous:\s+(\d+)/m.exec(readFileSync("/proc/self/smaps_rollup", "utf8"))?.[1])

describe.skipIf(kernelTrackingRefusal() !== undefined)("pages that the system tells of", () => {
  for (const [name, filled] of [["a full memory", true], ["an untouched memory", false]] as const) {
    it(`are those that were written, in ${name}`, () => {
      const memory = new WebAssembly.Memory({ initial: 160 })
      const bytes = new Uint8Array(memory.buffer)
      if (filled) bytes.fill(7)
      const tracker = kernelTracker(memory)
      const pages = (): ReadonlyArray<number> => {
        const found: Array<number> = []
        const count = tracker.written((at, length) => {
          for (let page = at; page < at + length; page += PAGE) found.push(page / PAGE)
        })
        assert.strictEqual(count, found.length)
        return found
      }
      try {
        for (let round = 0; round < 4; round++) {
          tracker.arm()
          assert.deepStrictEqual(pages(), [])
          const written = [0, 1, 511, 512, 513, 700 + round, 1_023, 2_000, 2_559]
          for (const page of written) bytes[page * PAGE + (page * 37) % PAGE] ^= 1
          assert.deepStrictEqual(pages(), written)
          assert.deepStrictEqual(pages(), written)
        }
        // More ranges than one scan takes.
        tracker.arm()
        for (let page = 0; page < 2_560; page += 2) bytes[page * PAGE]++
        assert.deepStrictEqual(pages(), Array.from({ length: 1_280 }, (_, index) => 2 * index))
      } finally {
        tracker.release()
      }
    })
  }

  it("cost an untouched memory no pages", () => {
    const memory = new WebAssembly.Memory({ initial: 1_600 })
    const before = anonymous()
    // Reading maps the page of zeros.
    assert.isTrue(new Uint8Array(memory.buffer).every((byte) => byte === 0))
    const tracker = kernelTracker(memory)
    tracker.arm()
    assert.isBelow(anonymous() - before, 50_000)
    tracker.release()
  })

  it("are not told of a memory that has grown", () => {
    const memory = new WebAssembly.Memory({ initial: 1 })
    const tracker = kernelTracker(memory)
    tracker.arm()
    memory.grow(1)
    assert.throws(() => tracker.arm(), /has grown or moved/)
    assert.throws(() => tracker.written(() => {}), /has grown or moved/)
    tracker.release()
  })
})
