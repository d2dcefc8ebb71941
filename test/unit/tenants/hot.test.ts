import { assert, describe, it } from "vitest"
import { RESET_PAGE } from "../../../src/reset/layout.ts"
import { HotPages } from "../../../src/tenants/hot.ts"

const page = (index: number, pages = 1) => ({ at: index * RESET_PAGE, bytes: pages * RESET_PAGE })

/** Learns until all is learned: what the `n`th request writes. */
const learned = (written: (request: number) => ReadonlyArray<ReturnType<typeof page>>): HotPages => {
  const hot = new HotPages()
  for (let request = 0; hot.learning; request++) {
    assert.deepStrictEqual(hot.ranges, [])
    hot.learn(written(request))
  }
  return hot
}

describe("hot pages", () => {
  it("are those that at least half of the requests write, near ones as one range", () => {
    const hot = learned((request) => [
      page(3),
      ...request % 2 === 0 ? [page(5, 2)] : [page(40)],
      ...request % 3 === 0 ? [page(20)] : [],
      page(100, 3)
    ])
    assert.deepStrictEqual(hot.ranges, [page(3, 4), page(40), page(100, 3)])
  })

  it("stay what they are", () => {
    const hot = learned(() => [page(1)])
    const { ranges } = hot
    for (let request = 0; request < 200; request++) hot.learn([page(9)])
    assert.strictEqual(hot.ranges, ranges)
  })

  it("are bounded", () => {
    const hot = learned(() => [page(0, 4_000)])
    assert.isAtMost(hot.ranges.reduce((sum, { bytes }) => sum + bytes, 0), 2 * 1024 * 1024)
  })
})
