import { assert, describe, it } from "vitest"
import { type Holding, Ledger } from "../../../src/tenants/ledger.ts"

const filled = (limit: number, sizes: ReadonlyArray<number>) => {
  const ledger = new Ledger(limit)
  const dropped: Array<number> = []
  const holdings = sizes.map((bytes, index): Holding => ({ bytes, pins: 0, drop: () => void dropped.push(index) }))
  for (const holding of holdings) ledger.add(holding)
  return { ledger, dropped, holdings }
}

describe("a ledger", () => {
  it("gives up what was used least recently, and no more than it takes", () => {
    const { dropped, holdings, ledger } = filled(100, [40, 30, 20])
    ledger.touch(holdings[0])
    assert.isTrue(ledger.makeRoom(10))
    assert.deepStrictEqual(dropped, [])
    assert.isTrue(ledger.makeRoom(50))
    assert.deepStrictEqual(dropped, [1, 2])
    assert.strictEqual(ledger.held, 40)
  })

  it("keeps what is in use, and gives up nothing where that is not enough", () => {
    const { dropped, holdings, ledger } = filled(100, [40, 30, 20])
    holdings[0].pins = 1
    assert.strictEqual(ledger.available, 60)
    assert.isFalse(ledger.makeRoom(61))
    assert.deepStrictEqual(dropped, [])
    assert.isTrue(ledger.makeRoom(60))
    assert.deepStrictEqual(dropped, [1, 2])
  })

  it("says when something that was given up has left too much behind", () => {
    const ledger = new Ledger(100)
    const rest: Holding = { bytes: 30, pins: 1, drop: () => {} }
    ledger.add({ bytes: 60, pins: 0, drop: () => ledger.add(rest) })
    assert.isFalse(ledger.makeRoom(80))
    assert.strictEqual(ledger.held, 30)
    ledger.remove(rest)
    ledger.remove(rest)
    assert.strictEqual(ledger.held, 0)
  })

  it("keeps to its limit again when something has grown", () => {
    const { dropped, holdings, ledger } = filled(100, [40, 30, 20])
    ledger.resize(holdings[2], 60)
    assert.strictEqual(ledger.held, 130)
    ledger.trim()
    assert.deepStrictEqual(dropped, [0])
    assert.strictEqual(ledger.held, 90)
  })
})
