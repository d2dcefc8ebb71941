/**
 * Keeping apart: the tests that no two iterations meet, and that private bytes stay private.
 *
 * @since 0.1.0
 */
import type { AccessGroup } from "../analysis/footprint.ts"
import type { Cell } from "../analysis/privacy.ts"
import { PAGE_BYTES } from "../plan/frame.ts"
import type { Evaluator } from "./evaluate.ts"

/**
 * Where a group's accesses lie, as locals (i64) of the guard.
 *
 * @category models
 * @since 0.1.0
 */
export interface Interval {
  /** Over all iterations. */
  readonly low: number
  readonly high: number
  /** In iteration 0. */
  readonly firstLow: number
  readonly firstHigh: number
  /** Signed step. */
  readonly stride: number
  /** Whether the accesses are reached (a local), `undefined` for always. */
  readonly runs: number | undefined
  /** Where the address polynomial without iterations and spreads stands. */
  readonly base: number
  /** Factor of the only spread, when there is exactly one and it is an inner iteration. */
  readonly row: number | undefined
  readonly group: AccessGroup
}

/**
 * Emits the tests on intervals. Each leaves the guard, through the given function, when the accesses are reached and
 * the test fails.
 *
 * @category transforms
 * @since 0.1.0
 */
export class Separation {
  readonly evaluator: Evaluator
  readonly #last: number
  readonly #refuseWhere: (...runs: ReadonlyArray<number | undefined>) => void

  /** `last`: local with the number of the last tested iteration. */
  constructor(
    evaluator: Evaluator,
    last: number,
    refuseWhere: (...runs: ReadonlyArray<number | undefined>) => void
  ) {
    this.evaluator = evaluator
    this.#last = last
    this.#refuseWhere = refuseWhere
  }

  /**
   * Refuses a pair that meets in different iterations: unless the intervals are apart, or both advance alike and what
   * one iteration touches fits into one step, or they are columns of rows, or the local `exempt` is 1.
   */
  keepApart(a: Interval, b: Interval, distinct: boolean, moving: boolean, exempt: number | undefined): void {
    const { evaluator } = this
    const { code } = evaluator
    code.i32(0)
    if (moving) {
      // window = max(firstHigh) − min(firstLow) ≤ |stride|, strides equal
      const window = evaluator.local("i64")
      code.get(a.firstHigh).get(b.firstHigh).get(a.firstHigh).get(b.firstHigh).op(0x55).op(0x1b)
      code.get(a.firstLow).get(b.firstLow).get(a.firstLow).get(b.firstLow).op(0x53).op(0x1b)
      code.op(0x7d).set(window)
      code.get(a.stride).get(b.stride).op(0x51)
      code.get(window).get(a.stride).i64(0).get(a.stride).op(0x7d).get(a.stride).i64(0).op(0x55).op(0x1b)
      code.op(0x57).op(0x71).op(0x72)
      this.interleaved(a, b)
    }
    if (distinct) {
      code.get(a.high).get(b.low).op(0x57).op(0x72)
      code.get(b.high).get(a.low).op(0x57).op(0x72)
    }
    if (exempt !== undefined) code.get(exempt).op(0x72)
    code.op(0x45)
    this.#refuseWhere(a.runs, b.runs)
  }

  /**
   * Adds, by `or`, the third way to stay apart: columns. Rows lie E = |factor| apart, all iterations fit into one row,
   * and what one iteration touches there fits into one step. Then the remainders modulo E of different iterations
   * differ, whatever the row.
   *
   *     |stride| · M + width ≤ E,  width ≤ |stride|,  width = that of both accesses in one row
   */
  interleaved(a: Interval, b: Interval): void {
    const { evaluator } = this
    const { code } = evaluator
    const row = a.row ?? b.row
    if (row === undefined) return
    if ([a, b].some((one) => one.row === undefined && one.group.spreads.length > 0)) return
    const size = evaluator.local("i64")
    const step = evaluator.local("i64")
    const offset = evaluator.local("i64")
    const width = evaluator.local("i64")
    const magnitude = (local: number): void => {
      code.i64(0).get(local).op(0x7d).get(local).get(local).i64(0).op(0x53).op(0x1b)
    }
    magnitude(row)
    code.set(size)
    // A row of size 0 would be no row: 1 makes the test fail.
    code.get(size).i64(1).get(size).i64(0).op(0x55).op(0x1b).set(size)
    magnitude(a.stride)
    code.set(step)
    // offset of b's access behind a's, brought to [0, E), then to (−E/2, E/2]
    code.get(b.base).i64(b.group.low).op(0x7c).get(a.base).i64(a.group.low).op(0x7c).op(0x7d)
    code.get(size).op(0x81).get(size).op(0x7c).get(size).op(0x81).set(offset)
    code.get(offset).get(size).op(0x7d).get(offset).get(offset).i64(1).op(0x86).get(size).op(0x55).op(0x1b).set(offset)
    const widthA = a.group.high - a.group.low
    const widthB = b.group.high - b.group.low
    // width = max(widthA, offset + widthB) − min(0, offset)
    code.i64(widthA).get(offset).i64(widthB).op(0x7c).i64(widthA).get(offset).i64(widthB).op(0x7c).op(0x55).op(0x1b)
    code.i64(0).get(offset).i64(0).get(offset).op(0x53).op(0x1b).op(0x7d).set(width)
    code.get(a.stride).get(b.stride).op(0x51)
    code.get(width).get(step).op(0x57).op(0x71)
    code.get(step).get(this.#last).op(0x7e).get(width).op(0x7c).get(size).op(0x57).op(0x71)
    for (const one of [a, b]) {
      if (one.row === undefined || one.row === row) continue
      magnitude(one.row)
      code.get(size).op(0x51).op(0x71)
    }
    code.op(0x72)
  }

  /** Refuses a store into a page that holds private bytes. */
  keepFromPages(window: Interval, store: Interval): void {
    const { code } = this.evaluator
    code.get(window.low).i64(-PAGE_BYTES).op(0x83).get(store.high).op(0x59) // page start >= store end
    code.get(window.high).i64(PAGE_BYTES - 1).op(0x7c).i64(-PAGE_BYTES).op(0x83).get(store.low).op(0x57)
    code.op(0x72).op(0x45)
    this.#refuseWhere(window.runs, store.runs)
  }

  /** A local (i32): 1 when a row is stored; one whose loop leaves before it stores needs an iteration that goes on. */
  isStored({ group }: Cell, reached: number | undefined): number | undefined {
    const { code, facts } = this.evaluator
    const [{ short, symbol }] = group.spreads
    if (!short) return reached
    const stored = this.evaluator.local("i32")
    code.get(this.evaluator.tripCount(facts.induction.trip(Number(symbol.slice(1)))!)).i64(0).op(0x52)
    if (reached !== undefined) code.get(reached).op(0x71)
    code.set(stored)
    return stored
  }

  /**
   * A local (i32): 1 when a load stays inside what its iteration has written. From its low end on, cells that begin
   * where those before have got to carry on, in as many rounds as there are cells.
   */
  isInside(intervals: ReadonlyArray<Interval>, load: AccessGroup, cells: ReadonlyArray<Cell>): number {
    const { evaluator } = this
    const { code } = evaluator
    const of = (group: AccessGroup): Interval => intervals.find((one) => one.group === group)!
    const { high, low } = of(load)
    const reached = evaluator.local("i64")
    const spans = cells.map((cell) => {
      const { firstHigh, firstLow } = of(cell.group)
      const written = evaluator.executed(cell.conditions)
      if (cell.row) return { from: firstLow, to: firstHigh, written: this.isStored(cell, written) }
      const from = evaluator.local("i64")
      const to = evaluator.local("i64")
      code.get(firstLow).i64(cell.low - cell.group.low).op(0x7c).tee(from).i64(cell.high - cell.low).op(0x7c).set(to)
      return { from, to, written }
    })
    code.get(low).set(reached)
    for (let round = 0; round < spans.length; round++) {
      for (const { from, to, written } of spans) {
        code.get(to).get(reached)
        code.get(from).get(reached).op(0x57).get(to).get(reached).op(0x55).op(0x71)
        if (written !== undefined) code.get(written).op(0x71)
        code.op(0x1b).set(reached)
      }
    }
    const inside = evaluator.local("i32")
    code.get(reached).get(high).op(0x59).set(inside)
    return inside
  }
}
